// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wmma.load, wmma.mma, wmma.store. Which lane holds which element of a fragment is unspecified;
// here element i, in row-major order, is the (i / 32)th of lane i % 32.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "simulation/cuda/ptx/access.h"
#include "simulation/cuda/ptx/half.h"
#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/matrix.h"

namespace halyard::inline v0::sim::ptx {
namespace {

using namespace isa_base;

// What Program::slots holds from Ins::extra on, before the registers.
struct Header {
  std::uint32_t rows, columns;  // of a matrix in memory; of d for mma
  std::uint32_t depth;          // k, of mma
  std::uint32_t elements[4];    // Element of d, a, b, c; of a matrix in memory the first
  std::uint32_t counts[4];      // registers of each
  std::uint32_t flags;          // 1: column-major; 2: saturate
};
constexpr std::size_t kHeaderWords = sizeof(Header) / sizeof(Slot);
static_assert(sizeof(Header) % sizeof(Slot) == 0);

Header header_of(const Warp& warp, const Ins& ins) {
  Header header;
  std::memcpy(&header, &warp.program->slots[ins.extra], sizeof(header));
  return header;
}

// The host's bytes of element `i` of a fragment in registers.
std::byte* element_at(Warp& warp, const Slot* slots, unsigned bytes, unsigned i) {
  const unsigned lane = i % kLanes, at = i / kLanes;
  const unsigned word = std::max(bytes, 4u), per = word / bytes;
  return warp.at<std::byte>(slots[at / per]) + std::size_t{lane} * word +
         std::size_t{at % per} * bytes;
}

bool gather(Warp& warp, const Ins& ins) {
  if (!warp.gather(ins, kAllLanes)) return false;
  if (warp.exec == kAllLanes) return true;
  warp.fail(OutcomeKind::kIllegalInstruction, ins,
            static_cast<unsigned>(std::countr_zero(warp.exec)),
            "not all lanes of the warp execute a matrix instruction");
  return false;
}

template <bool Store>
void move(Warp& warp, const Ins& ins) {
  if (!gather(warp, ins)) return;
  const Header header = header_of(warp, ins);
  const Slot* const slots = &warp.program->slots[ins.extra + kHeaderWords];
  const unsigned bytes = bits_of(static_cast<Element>(header.elements[0])) / 8;
  const bool is_column_major = (header.flags & 1) != 0;
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  const std::uint32_t stride = ins.b != kNoSlot  ? warp.in<std::uint32_t>(ins.b)[0]
                               : is_column_major ? header.rows
                                                 : header.columns;
  for (unsigned i = 0; i < header.rows * header.columns; ++i) {
    const std::uint64_t row = i / header.columns, column = i % header.columns;
    const std::uint64_t offset =
        (is_column_major ? column * stride + row : row * stride + column) * bytes;
    std::byte* const at = warp.resolve(ins, ins.space, addresses.at[0] + offset, bytes,
                                       Store ? Warp::Access::kWrite : Warp::Access::kRead, 0);
    if (at == nullptr) return;
    std::byte* const element = element_at(warp, slots, bytes, i);
    if (Store) {
      std::memcpy(at, element, bytes);
    } else {
      std::memcpy(element, at, bytes);
    }
  }
}

double value_of(Element element, const std::byte* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, bits_of(element) / 8);
  switch (element) {
    case Element::kHalf:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case Element::kBfloat:
      return bfloat_to_float(static_cast<std::uint16_t>(bits));
    case Element::kTfloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & ~0x1fffu);
    case Element::kSingle:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Element::kDouble:
      return std::bit_cast<double>(bits);
    case Element::kInteger:
      return static_cast<std::int32_t>(bits);
    case Element::kS8:
      return static_cast<std::int8_t>(bits);
    default:
      return static_cast<std::uint8_t>(bits);
  }
}

// Sums of products of bytes are exact as doubles, so integers need no path of their own.
void multiply(Warp& warp, const Ins& ins) {
  if (!gather(warp, ins)) return;
  const Header header = header_of(warp, ins);
  const Slot* const slots_d = &warp.program->slots[ins.extra + kHeaderWords];
  const Slot* const slots_a = slots_d + header.counts[0];
  const Slot* const slots_b = slots_a + header.counts[1];
  const Slot* const slots_c = slots_b + header.counts[2];
  const auto read = [&](const Slot* slots, unsigned which, unsigned i) {
    const auto element = static_cast<Element>(header.elements[which]);
    return value_of(element, element_at(warp, slots, bits_of(element) / 8, i));
  };
  const unsigned m = header.rows, n = header.columns, k = header.depth;
  std::vector<double> a(std::size_t{m} * k), b(std::size_t{k} * n), sums(std::size_t{m} * n);
  for (unsigned i = 0; i < a.size(); ++i) a[i] = read(slots_a, 1, i);
  for (unsigned i = 0; i < b.size(); ++i) b[i] = read(slots_b, 2, i);
  for (unsigned i = 0; i < sums.size(); ++i) sums[i] = read(slots_c, 3, i);
  for (unsigned i = 0; i < m; ++i) {
    for (unsigned l = 0; l < k; ++l) {
      for (unsigned j = 0; j < n; ++j) sums[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  const auto element = static_cast<Element>(header.elements[0]);
  for (unsigned i = 0; i < sums.size(); ++i) {
    std::uint64_t bits = 0;
    if (element == Element::kHalf) {
      bits = float_to_half(double_to_odd_float(sums[i]));
    } else if (element == Element::kSingle) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(sums[i]));
    } else if (element == Element::kDouble) {
      bits = std::bit_cast<std::uint64_t>(sums[i]);
    } else {
      const double value =
          (header.flags & 2) != 0 ? std::clamp(sums[i], -2147483648.0, 2147483647.0) : sums[i];
      bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
    }
    const unsigned bytes = bits_of(element) / 8;
    std::memcpy(element_at(warp, slots_d, bytes, i), &bits, bytes);
  }
}

struct Sizes {
  std::uint32_t m = 0, n = 0, k = 0;
};

Sizes take_sizes(Lowering& lowering) {
  struct Named {
    std::string_view name;
    Sizes sizes;
  };
  constexpr Named kShapes[] = {{"m16n16k16", {16, 16, 16}},
                               {"m32n8k16", {32, 8, 16}},
                               {"m8n32k16", {8, 32, 16}},
                               {"m16n16k8", {16, 16, 8}},
                               {"m8n8k4", {8, 8, 4}}};
  for (const Named& each : kShapes) {
    if (lowering.take(each.name)) return each.sizes;
  }
  lowering.fail_modifier();
}

Element take_type(Lowering& lowering) {
  Element element{};
  if (!take_element(lowering, element) || bits_of(element) < 8) lowering.fail_modifier();
  return element;
}

// Appends the registers of a fragment with this many elements; returns how many registers.
std::uint32_t append(Lowering& lowering, const Operand& operand, Element element,
                     std::uint32_t elements, bool is_target, std::vector<Slot>& slots) {
  const std::span<const Operand> registers = operand.kind == Operand::Kind::kVector
                                                 ? std::span<const Operand>(operand.elements)
                                                 : std::span<const Operand>(&operand, 1);
  const std::uint32_t per = std::max(1u, 32 / bits_of(element));
  if (registers.size() * per * kLanes < elements) {
    lowering.fail("Arguments mismatch for instruction 'wmma'");
  }
  const Type type = element == Element::kDouble ? kF64 : kB32;
  for (const Operand& each : registers) {
    slots.push_back(is_target ? lowering.target(each, type) : lowering.source(each, type));
  }
  return static_cast<std::uint32_t>(registers.size());
}

void put_header(std::vector<Slot>& slots, const Header& header) {
  std::memcpy(slots.data(), &header, sizeof(header));
}

void lower_move(Lowering& lowering, bool is_store) {
  const bool is_a = !is_store && lowering.take("a");
  const bool is_b = !is_store && !is_a && lowering.take("b");
  if (!is_a && !is_b && !lowering.take(is_store ? "d" : "c")) lowering.fail_modifier();
  lowering.take("sync");
  lowering.take("aligned");
  Header header{};
  if (lowering.take("col")) {
    header.flags = 1;
  } else if (!lowering.take("row")) {
    lowering.fail_modifier();
  }
  const Sizes sizes = take_sizes(lowering);
  header.rows = is_b ? sizes.k : sizes.m;
  header.columns = is_a ? sizes.k : sizes.n;
  const auto space = take_space(lowering);
  const Element element = take_type(lowering);
  header.elements[0] = static_cast<std::uint32_t>(element);
  lowering.expect_operands(2, 3);
  Ins ins;
  ins.run = is_store ? move<true> : move<false>;
  std::vector<Slot> slots(kHeaderWords);
  header.counts[0] = append(lowering, lowering.operand(is_store ? 1 : 0), element,
                            header.rows * header.columns, !is_store, slots);
  put_header(slots, header);
  lowering.address(lowering.operand(is_store ? 0 : 1), ins, space);
  if (lowering.has_operand(2)) ins.b = lowering.source(lowering.operand(2), kU32);
  ins.extra = lowering.append_slots(slots);
  lowering.emit(ins);
}

void lower_multiply(Lowering& lowering) {
  lowering.take("sync");
  lowering.take("aligned");
  // The layouts of a and b in memory, which fragments here do not depend on.
  for (int i = 0; i < 2; ++i) {
    if (!lowering.take("row") && !lowering.take("col")) lowering.fail_modifier();
  }
  Header header{};
  const Sizes sizes = take_sizes(lowering);
  header.rows = sizes.m;
  header.columns = sizes.n;
  header.depth = sizes.k;
  lowering.take("rn");
  if (lowering.take("satfinite")) header.flags = 2;
  // f16 names only d and c.
  std::vector<Element> elements;
  Element next{};
  while (elements.size() < 4 && take_element(lowering, next)) elements.push_back(next);
  if (elements.size() == 2) {
    elements = {elements[0], Element::kHalf, Element::kHalf, elements[1]};
  }
  if (elements.size() != 4) lowering.fail_modifier();
  lowering.expect_operands(4, 4);
  std::vector<Slot> slots(kHeaderWords);
  const std::uint32_t counts[] = {sizes.m * sizes.n, sizes.m * sizes.k, sizes.k * sizes.n,
                                  sizes.m * sizes.n};
  for (unsigned i = 0; i < 4; ++i) {
    if (bits_of(elements[i]) < 8) lowering.fail_modifier();
    header.elements[i] = static_cast<std::uint32_t>(elements[i]);
    header.counts[i] = append(lowering, lowering.operand(i), elements[i], counts[i], i == 0, slots);
  }
  put_header(slots, header);
  lowering.emit(multiply).extra = lowering.append_slots(slots);
}

}  // namespace

bool lower_wmma(Lowering& lowering) {
  if (lowering.opcode() != "wmma") return false;
  if (lowering.take("load")) {
    lower_move(lowering, false);
  } else if (lowering.take("store")) {
    lower_move(lowering, true);
  } else if (lowering.take("mma")) {
    lower_multiply(lowering);
  } else {
    lowering.fail_modifier();
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
