// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync, ldmatrix, stmatrix, movmatrix. Sums of floats are computed in double and rounded once;
// NVIDIA's hardware specifies neither order nor rounding.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "simulation/cuda/ptx/access.h"
#include "simulation/cuda/ptx/half.h"
#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/matrix.h"

namespace halyard::inline v0::sim::ptx {
namespace {

using namespace isa_base;

// All lanes of a warp must execute these together.
bool check_full(Warp& warp, const Ins& ins) {
  if (!warp.gather(ins, kAllLanes)) return false;
  if (warp.exec == kAllLanes) return true;
  warp.fail(OutcomeKind::kIllegalInstruction, ins,
            static_cast<unsigned>(std::countr_zero(warp.exec)),
            "not all lanes of the warp execute a matrix instruction");
  return false;
}

double real_of(Element element, const std::byte* bytes, unsigned index) {
  const auto half = [&] {
    std::uint16_t value = 0;
    std::memcpy(&value, bytes + 2 * std::size_t{index}, 2);
    return value;
  };
  switch (element) {
    case Element::kHalf:
      return half_to_float(half());
    case Element::kBfloat:
      return bfloat_to_float(half());
    case Element::kTfloat: {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes + 4 * std::size_t{index}, 4);
      return std::bit_cast<float>(bits & ~0x1fffu);
    }
    case Element::kSingle: {
      float value = 0;
      std::memcpy(&value, bytes + 4 * std::size_t{index}, 4);
      return value;
    }
    default: {
      double value = 0;
      std::memcpy(&value, bytes + 8 * std::size_t{index}, 8);
      return value;
    }
  }
}

std::int32_t integer_of(Element element, std::uint32_t word, unsigned index) {
  const std::uint32_t byte = word >> (8 * index) & 0xff;
  const std::uint32_t nibble = word >> (4 * index) & 0xf;
  switch (element) {
    case Element::kS8:
      return static_cast<std::int8_t>(byte);
    case Element::kU8:
      return static_cast<std::int32_t>(byte);
    case Element::kS4:
      return static_cast<std::int32_t>(nibble ^ 8) - 8;
    case Element::kU4:
      return static_cast<std::int32_t>(nibble);
    case Element::kB1:
      return static_cast<std::int32_t>(word >> index & 1);
    default:
      return 0;
  }
}

// Slots of d, a, b, c in this order from ins.extra; imm indexes the shapes of the program.
void multiply(Warp& warp, const Ins& ins) {
  if (!check_full(warp, ins)) return;
  const Shape& shape = *shape_of(ins.imm);
  const Slot* slots = &warp.program->slots[ins.extra];
  const unsigned size_a = bits_of(shape.a), per_a = std::max(1u, 32 / size_a);
  const bool is_double = shape.a == Element::kDouble;
  const unsigned count_a = shape.m * shape.k / kLanes / per_a;
  const unsigned count_b = shape.n * shape.k / kLanes / per_a;
  const unsigned per_c = shape.c == Element::kHalf ? 2 : 1;
  const unsigned per_d = shape.d == Element::kHalf ? 2 : 1;
  const unsigned count_c = shape.m * shape.n / kLanes / per_c;
  const unsigned count_d = shape.m * shape.n / kLanes / per_d;
  const Slot* const slots_d = slots;
  const Slot* const slots_a = slots_d + count_d;
  const Slot* const slots_b = slots_a + count_a;
  const Slot* const slots_c = slots_b + count_b;
  const unsigned step = 4 * per_a;  // columns of a that the four lanes of a row hold in a register
  const bool is_tall = shape.m == 16;
  const bool is_integer = shape.d == Element::kInteger;

  std::unique_ptr<MatrixScratch>& matrices = warp.worker->matrices;
  if (matrices == nullptr) matrices = std::make_unique<MatrixScratch>();
  auto& [a, b, ia, ib] = *matrices;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned group = lane >> 2, thread = lane & 3;
    for (unsigned r = 0; r < count_a; ++r) {
      const std::byte* const bytes =
          warp.in<std::byte>(slots_a[r]) + std::size_t{lane} * (is_double ? 8 : 4);
      std::uint32_t word = 0;
      std::memcpy(&word, bytes, 4);
      for (unsigned e = 0; e < per_a; ++e) {
        const unsigned row = is_tall ? group + 8 * (r & 1) : group;
        const unsigned column = (is_tall ? r >> 1 : r) * step + thread * per_a + e;
        if (is_integer) {
          ia[row][column] = integer_of(shape.a, word, e);
        } else {
          a[row][column] = real_of(shape.a, bytes, e);
        }
      }
    }
    for (unsigned r = 0; r < count_b; ++r) {
      const std::byte* const bytes =
          warp.in<std::byte>(slots_b[r]) + std::size_t{lane} * (is_double ? 8 : 4);
      std::uint32_t word = 0;
      std::memcpy(&word, bytes, 4);
      for (unsigned e = 0; e < per_a; ++e) {
        const unsigned row = r * step + thread * per_a + e;
        if (is_integer) {
          ib[row][group] = integer_of(shape.b, word, e);
        } else {
          b[row][group] = real_of(shape.b, bytes, e);
        }
      }
    }
  }

  // Lane and register of an element of c or d.
  double sums[16][8];
  std::int64_t isums[16][8];
  const auto each_of = [&](unsigned count, unsigned per, auto f) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned group = lane >> 2, thread = lane & 3;
      for (unsigned r = 0; r < count; ++r) {
        for (unsigned e = 0; e < per; ++e) {
          const unsigned i = r * per + e;
          f(lane, r, e, group + 8 * (i >> 1), thread * 2 + (i & 1));
        }
      }
    }
  };
  each_of(count_c, per_c,
          [&](unsigned lane, unsigned r, unsigned e, unsigned row, unsigned column) {
            const std::byte* const bytes =
                warp.in<std::byte>(slots_c[r]) + std::size_t{lane} * (is_double ? 8 : 4);
            if (is_integer) {
              std::int32_t value = 0;
              std::memcpy(&value, bytes, 4);
              isums[row][column] = value;
            } else {
              sums[row][column] = real_of(shape.c, bytes, e);
            }
          });
  for (unsigned i = 0; i < shape.m; ++i) {
    for (unsigned k = 0; k < shape.k; ++k) {
      if (is_integer) {
        const std::int32_t x = ia[i][k];
        for (unsigned j = 0; j < 8; ++j) {
          isums[i][j] += shape.is_xor ? (x ^ ib[k][j]) : std::int64_t{x} * ib[k][j];
        }
      } else {
        const double x = a[i][k];
        for (unsigned j = 0; j < 8; ++j) sums[i][j] += x * b[k][j];
      }
    }
  }
  each_of(count_d, per_d,
          [&](unsigned lane, unsigned r, unsigned e, unsigned row, unsigned column) {
            std::byte* const bytes =
                warp.at<std::byte>(slots_d[r]) + std::size_t{lane} * (is_double ? 8 : 4);
            if (is_integer) {
              const std::int64_t sum = isums[row][column];
              const auto value = static_cast<std::int32_t>(
                  shape.saturates ? std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
              std::memcpy(bytes, &value, 4);
            } else if (shape.d == Element::kHalf) {
              const std::uint16_t value = float_to_half(double_to_odd_float(sums[row][column]));
              std::memcpy(bytes + 2 * std::size_t{e}, &value, 2);
            } else if (shape.d == Element::kSingle) {
              const auto value = static_cast<float>(sums[row][column]);
              std::memcpy(bytes, &value, 4);
            } else {
              std::memcpy(bytes, &sums[row][column], 8);
            }
          });
}

// Matrices of 8 x 8 elements of 16 bits, whose rows are at the addresses of 8 lanes each.
template <bool Store>
void move_matrices(Warp& warp, const Ins& ins) {
  if (!check_full(warp, ins)) return;
  Addresses addresses;
  compute_addresses(warp, ins, addresses);
  const bool is_transposed = ins.c != kNoSlot;
  for (unsigned i = 0; i < ins.count; ++i) {
    std::byte* rows[8];
    for (unsigned row = 0; row < 8; ++row) {
      const unsigned lane = 8 * i + row;
      rows[row] = warp.resolve(ins, ins.space, addresses.at[lane], 16,
                               Store ? Warp::Access::kWrite : Warp::Access::kRead, lane);
      if (rows[row] == nullptr) return;
    }
    auto* const d = warp.at<std::uint32_t>(warp.program->slots[ins.extra + i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned e = 0; e < 2; ++e) {
        const unsigned first = lane / 4, second = 2 * (lane % 4) + e;
        std::byte* const at = is_transposed ? rows[second] + std::size_t{2} * first
                                            : rows[first] + std::size_t{2} * second;
        std::byte* const half = reinterpret_cast<std::byte*>(&d[lane]) + 2 * std::size_t{e};
        if (Store) {
          std::memcpy(at, half, 2);
        } else {
          std::memcpy(half, at, 2);
        }
      }
    }
  }
}

void transpose(Warp& warp, const Ins& ins) {  // movmatrix
  if (!check_full(warp, ins)) return;
  std::uint16_t from[8][8];
  std::memcpy(from, warp.in<std::uint32_t>(ins.a), sizeof(from));
  auto* const d = warp.at<std::uint32_t>(ins.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned row = lane / 4, column = 2 * (lane % 4);
    d[lane] = from[column][row] | std::uint32_t{from[column + 1][row]} << 16;
  }
}

void append(Lowering& lowering, const Operand& operand, Type type, unsigned count, bool is_target,
            std::vector<Slot>& slots) {
  const std::span<const Operand> elements = operand.kind == Operand::Kind::kVector
                                                ? std::span<const Operand>(operand.elements)
                                                : std::span<const Operand>(&operand, 1);
  if (elements.size() != count) {
    lowering.fail("Arguments mismatch for instruction '" + std::string(lowering.opcode()) + "'");
  }
  for (const Operand& each : elements) {
    slots.push_back(is_target ? lowering.target(each, type) : lowering.source(each, type));
  }
}

void lower_multiply(Lowering& lowering) {
  lowering.take("sync");
  lowering.take("aligned");
  Shape shape;
  if (!take_shape(lowering, shape)) lowering.fail_modifier();
  if (!lowering.take("row") || !lowering.take("col")) lowering.fail_modifier();
  shape.saturates = lowering.take("satfinite");
  const bool is_xor = lowering.take("xor"), is_and = lowering.take("and");
  if (is_xor || is_and) lowering.take("popc");
  shape.is_xor = is_xor;
  Element* const elements[] = {&shape.d, &shape.a, &shape.b, &shape.c};
  for (Element* const each : elements) {
    if (!take_element(lowering, *each)) lowering.fail_modifier();
  }
  const auto index = find_shape(shape);
  if (!index) lowering.fail_modifier();
  lowering.expect_operands(4, 4);
  const unsigned per = std::max(1u, 32 / bits_of(shape.a));
  const Type type = shape.a == Element::kDouble ? kF64 : kB32;
  const auto registers = [&](Element element) {
    return shape.m * shape.n / kLanes / (element == Element::kHalf ? 2u : 1u);
  };
  std::vector<Slot> slots;
  append(lowering, lowering.operand(0), type, registers(shape.d), true, slots);
  append(lowering, lowering.operand(1), type, shape.m * shape.k / kLanes / per, false, slots);
  append(lowering, lowering.operand(2), type, shape.n * shape.k / kLanes / per, false, slots);
  append(lowering, lowering.operand(3), type, registers(shape.c), false, slots);
  Ins& ins = lowering.emit(multiply);
  ins.extra = lowering.append_slots(slots);
  ins.imm = static_cast<std::int64_t>(*index);
}

void lower_move(Lowering& lowering, bool is_load) {
  lowering.take("sync");
  lowering.take("aligned");
  if (!lowering.take("m8n8")) lowering.fail_modifier();
  const unsigned count = lowering.take("x4") ? 4 : lowering.take("x2") ? 2 : 1;
  lowering.take("x1");
  const bool is_transposed = lowering.take("trans");
  const auto space = take_space(lowering);
  if (!lowering.take("b16")) lowering.fail_modifier();
  lowering.expect_operands(2, 2);
  Ins ins;
  ins.run = is_load ? move_matrices<false> : move_matrices<true>;
  ins.count = static_cast<std::uint8_t>(count);
  ins.c = is_transposed ? 0 : kNoSlot;
  std::vector<Slot> slots;
  append(lowering, lowering.operand(is_load ? 0 : 1), kB32, count, is_load, slots);
  ins.extra = lowering.append_slots(slots);
  lowering.address(lowering.operand(is_load ? 1 : 0), ins, space);
  lowering.emit(ins);
}

}  // namespace

unsigned bits_of(Element element) {
  switch (element) {
    case Element::kHalf:
    case Element::kBfloat:
      return 16;
    case Element::kS8:
    case Element::kU8:
      return 8;
    case Element::kS4:
    case Element::kU4:
      return 4;
    case Element::kB1:
      return 1;
    case Element::kDouble:
      return 64;
    default:
      return 32;
  }
}

bool take_shape(Lowering& lowering, Shape& shape) {
  struct Named {
    std::string_view name;
    std::uint16_t m, n, k;
  };
  constexpr Named kShapes[] = {
      {"m16n8k4", 16, 8, 4},     {"m16n8k8", 16, 8, 8},   {"m16n8k16", 16, 8, 16},
      {"m16n8k32", 16, 8, 32},   {"m16n8k64", 16, 8, 64}, {"m16n8k128", 16, 8, 128},
      {"m16n8k256", 16, 8, 256}, {"m8n8k4", 8, 8, 4},     {"m8n8k16", 8, 8, 16},
      {"m8n8k32", 8, 8, 32},     {"m8n8k128", 8, 8, 128}};
  for (const Named& each : kShapes) {
    if (!lowering.take(each.name)) continue;
    shape.m = each.m;
    shape.n = each.n;
    shape.k = each.k;
    return true;
  }
  return false;
}

bool take_element(Lowering& lowering, Element& element) {
  constexpr std::array<std::string_view, 11> kNames = {"f16", "bf16", "tf32", "f32", "f64", "s32",
                                                       "s8",  "u8",   "s4",   "u4",  "b1"};
  const auto name = lowering.take_any(kNames);
  if (!name) return false;
  element = static_cast<Element>(std::ranges::find(kNames, *name) - kNames.begin());
  return true;
}

namespace {

// All combinations that instructions may name, so that handlers share a table.
const std::vector<Shape>& all_shapes() {
  // Never destroyed: streams may still run kernels when the process ends.
  static const auto* const shapes = new std::vector<Shape>([] {
    std::vector<Shape> result;
    const auto add = [&](unsigned m, unsigned k, Element a, Element b, Element c, Element d) {
      for (const bool saturates : {false, true}) {
        for (const bool is_xor : {false, true}) {
          Shape shape;
          shape.m = static_cast<std::uint16_t>(m);
          shape.n = 8;
          shape.k = static_cast<std::uint16_t>(k);
          shape.a = a;
          shape.b = b;
          shape.c = c;
          shape.d = d;
          shape.saturates = saturates;
          shape.is_xor = is_xor;
          if ((saturates && d != Element::kInteger) || (is_xor && a != Element::kB1)) continue;
          result.push_back(shape);
        }
      }
    };
    for (const unsigned k : {8u, 16u}) {
      for (const Element c : {Element::kHalf, Element::kSingle}) {
        for (const Element d : {Element::kHalf, Element::kSingle}) {
          add(16, k, Element::kHalf, Element::kHalf, c, d);
        }
      }
      add(16, k, Element::kBfloat, Element::kBfloat, Element::kSingle, Element::kSingle);
    }
    for (const unsigned k : {4u, 8u}) {
      add(16, k, Element::kTfloat, Element::kTfloat, Element::kSingle, Element::kSingle);
    }
    add(8, 4, Element::kDouble, Element::kDouble, Element::kDouble, Element::kDouble);
    for (const unsigned k : {4u, 8u, 16u}) {
      add(16, k, Element::kDouble, Element::kDouble, Element::kDouble, Element::kDouble);
    }
    const auto integers = [&](Element first, Element second, unsigned wide, unsigned narrow) {
      for (const Element a : {first, second}) {
        for (const Element b : {first, second}) {
          add(8, narrow, a, b, Element::kInteger, Element::kInteger);
          add(16, narrow, a, b, Element::kInteger, Element::kInteger);
          add(16, wide, a, b, Element::kInteger, Element::kInteger);
        }
      }
    };
    integers(Element::kS8, Element::kU8, 32, 16);
    integers(Element::kS4, Element::kU4, 64, 32);
    for (const unsigned m : {8u, 16u}) {
      add(m, 128, Element::kB1, Element::kB1, Element::kInteger, Element::kInteger);
    }
    add(16, 256, Element::kB1, Element::kB1, Element::kInteger, Element::kInteger);
    return result;
  }());
  return *shapes;
}

}  // namespace

std::optional<std::size_t> find_shape(const Shape& shape) {
  const auto& shapes = all_shapes();
  const auto found = std::ranges::find(shapes, shape);
  if (found == shapes.end()) return std::nullopt;
  return found - shapes.begin();
}
const Shape* shape_of(std::int64_t index) { return &all_shapes()[static_cast<std::size_t>(index)]; }

bool lower_matrix(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  if (opcode == "mma") {
    lower_multiply(lowering);
  } else if (opcode == "ldmatrix" || opcode == "stmatrix") {
    lower_move(lowering, opcode == "ldmatrix");
  } else if (opcode == "movmatrix") {
    for (const std::string_view word : {"sync", "aligned", "m8n8", "trans", "b16"}) {
      if (!lowering.take(word)) lowering.fail_modifier();
    }
    lowering.expect_operands(2, 2);
    lowering.emit(transpose, lowering.target(lowering.operand(0), kB32),
                  lowering.source(lowering.operand(1), kB32));
  } else {
    return lower_wmma(lowering);
  }
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
