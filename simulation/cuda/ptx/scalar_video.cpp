// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar video instructions: vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset and vmad without
// negated operands. Source: PTX ISA, "Scalar Video Instructions".
#include <algorithm>
#include <array>
#include <optional>

#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/machine.h"

namespace halyard::inline v0::sim::ptx {
namespace {

enum class Operation : std::uint8_t {
  kAdd,
  kSubtract,
  kDifference,
  kMinimum,
  kMaximum,
  kShiftLeft,
  kShiftRight,
  kMultiplyAdd,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
};
constexpr std::array<std::string_view, 6> kComparisons = {"eq", "ne", "lt", "le", "gt", "ge"};

// The second operation, which combines the first result with c.
enum class Second : std::uint8_t { kNone, kMerge, kAdd, kMinimum, kMaximum };

// A part of a register: all of it, or the byte or half that a selector names.
struct Part {
  std::uint8_t shift = 0, bits = 32;
  bool is_signed = false;

  std::uint32_t mask() const { return bits == 32 ? UINT32_MAX : (1u << bits) - 1; }
  std::int64_t of(std::uint32_t word) const {
    const std::uint32_t value = word >> shift & mask();
    if (!is_signed) return value;
    return static_cast<std::int32_t>(value << (32 - bits)) >> (32 - bits);
  }
};

// Packed in Ins::imm.
struct Form {
  Operation operation{};
  Second second{};
  std::uint8_t scale = 0;  // of vmad
  bool saturates = false, wraps = false, adds_one = false;
};

Part part_of(std::uint32_t bits) {
  return {static_cast<std::uint8_t>(bits & 31), static_cast<std::uint8_t>(bits >> 5 & 63),
          (bits >> 11 & 1) != 0};
}
std::uint32_t bits_of(const Part& part) {
  return part.shift | std::uint32_t{part.bits} << 5 | std::uint32_t{part.is_signed} << 11;
}

std::int64_t compute(const Form& form, std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto shift = static_cast<std::uint32_t>(b);
  switch (form.operation) {
    case Operation::kAdd:
      return a + b;
    case Operation::kSubtract:
      return a - b;
    case Operation::kDifference:
      return a < b ? b - a : a - b;
    case Operation::kMinimum:
      return std::min(a, b);
    case Operation::kMaximum:
      return std::max(a, b);
    case Operation::kShiftLeft:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a)
                                       << (form.wraps ? shift & 31 : std::min(shift, 32u)));
    case Operation::kShiftRight:
      return a >> (form.wraps ? shift & 31 : std::min(shift, 32u));
    case Operation::kMultiplyAdd:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a * b) +
                                       static_cast<std::uint64_t>(c) + (form.adds_one ? 1 : 0)) >>
             form.scale;
    case Operation::kEq:
      return a == b;
    case Operation::kNe:
      return a != b;
    case Operation::kLt:
      return a < b;
    case Operation::kLe:
      return a <= b;
    case Operation::kGt:
      return a > b;
    case Operation::kGe:
      return a >= b;
  }
  return 0;
}

std::uint32_t combine(Second second, const Part& d, std::uint32_t value, std::uint32_t c) {
  switch (second) {
    case Second::kNone:
      return value;
    case Second::kMerge:
      return (c & ~(d.mask() << d.shift)) | (value & d.mask()) << d.shift;
    case Second::kAdd:
      return value + c;
    case Second::kMinimum:
    case Second::kMaximum: {
      const bool is_less =
          d.is_signed ? static_cast<std::int32_t>(value) < static_cast<std::int32_t>(c) : value < c;
      return is_less == (second == Second::kMinimum) ? value : c;
    }
  }
  return value;
}

// ins.extra: slots that hold the parts of d, a and b, and then the form.
void scalar_video(Warp& warp, const Ins& ins) {
  const Slot* const packed = &warp.program->slots[ins.extra];
  const Part to = part_of(packed[0]), from_a = part_of(packed[1]), from_b = part_of(packed[2]);
  const Form form{static_cast<Operation>(packed[3] & 0xff),
                  static_cast<Second>(packed[3] >> 8 & 0xff),
                  static_cast<std::uint8_t>(packed[3] >> 16 & 0xff),
                  (ins.flags & 1) != 0,
                  (ins.flags & 2) != 0,
                  (ins.flags & 4) != 0};
  const std::int64_t low = to.is_signed ? -(std::int64_t{1} << (to.bits - 1)) : 0;
  const std::int64_t high =
      (std::int64_t{1} << (to.is_signed ? to.bits - 1 : static_cast<int>(to.bits))) - 1;
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  each_lane(warp, warp.at<std::uint32_t>(ins.d), [&](unsigned lane) {
    const std::int64_t addend =
        to.is_signed ? static_cast<std::int32_t>(c[lane]) : std::int64_t{c[lane]};
    std::int64_t value = compute(form, from_a.of(a[lane]), from_b.of(b[lane]), addend);
    if (form.saturates) value = std::clamp(value, low, high);
    return combine(form.second, to, static_cast<std::uint32_t>(value), c[lane]);
  });
}

std::optional<Operation> operation_of(Lowering& lowering) {
  constexpr std::array<std::string_view, 8> kNames = {"vadd", "vsub", "vabsdiff", "vmin",
                                                      "vmax", "vshl", "vshr",     "vmad"};
  const auto found = std::ranges::find(kNames, lowering.opcode());
  if (found != kNames.end()) return static_cast<Operation>(found - kNames.begin());
  if (lowering.opcode() != "vset") return std::nullopt;
  for (std::size_t i = 0; i < kComparisons.size(); ++i) {
    if (lowering.take(kComparisons[i])) {
      return static_cast<Operation>(static_cast<std::size_t>(Operation::kEq) + i);
    }
  }
  lowering.fail_modifier();
}

// Takes the selector from the operand, as in "%r1.b2".
Part take_part(Lowering& lowering, Operand& operand, Type type) {
  Part part;
  part.is_signed = type.is_signed();
  const std::string_view selector = operand.component;
  if (selector.size() != 2 || (selector[0] != 'b' && selector[0] != 'h')) return part;
  part.bits = selector[0] == 'b' ? 8 : 16;
  const int index = selector[1] - '0';
  if (index < 0 || index >= 32 / part.bits) lowering.fail_modifier();
  part.shift = static_cast<std::uint8_t>(index * part.bits);
  operand.component = {};
  return part;
}

Type take_word(Lowering& lowering) {
  const Type type = lowering.take_type();
  if (!type.is_integer() || type.bytes != 4) lowering.fail_modifier();
  return type;
}

}  // namespace

bool lower_scalar_video(Lowering& lowering) {
  const std::optional<Operation> operation = operation_of(lowering);
  if (!operation) return false;
  const bool is_mad = *operation == Operation::kMultiplyAdd;
  const bool is_shift = *operation == Operation::kShiftLeft || *operation == Operation::kShiftRight;
  const Type d_type = *operation >= Operation::kEq ? kU32 : take_word(lowering);
  const Type a_type = take_word(lowering), b_type = take_word(lowering);
  Ins ins;
  ins.run = scalar_video;
  if (lowering.take("sat")) ins.flags |= 1;
  if (is_shift) {
    if (lowering.take("wrap")) {
      ins.flags |= 2;
    } else if (!lowering.take("clamp")) {
      lowering.fail_modifier();
    }
  }
  std::uint32_t scale = 0;
  if (is_mad) {
    if (lowering.take("po")) ins.flags |= 4;
    if (lowering.take("shr7")) scale = 7;
    if (lowering.take("shr15")) scale = 15;
  }
  Second second = Second::kNone;
  if (!is_mad && lowering.take("add")) second = Second::kAdd;
  if (!is_mad && lowering.take("min")) second = Second::kMinimum;
  if (!is_mad && lowering.take("max")) second = Second::kMaximum;
  Operand d = lowering.operand(0), a = lowering.operand(1), b = lowering.operand(2);
  const Part to = take_part(lowering, d, d_type);
  if (to.bits != 32) {
    if (second != Second::kNone || is_mad) lowering.fail_modifier();
    second = Second::kMerge;
  }
  const bool has_c = is_mad || second != Second::kNone;
  lowering.expect_operands(has_c ? 4 : 3, has_c ? 4 : 3);
  const std::array<Slot, 4> packed = {bits_of(to), bits_of(take_part(lowering, a, a_type)),
                                      bits_of(take_part(lowering, b, b_type)),
                                      static_cast<std::uint32_t>(*operation) |
                                          static_cast<std::uint32_t>(second) << 8 | scale << 16};
  ins.extra = lowering.append_slots(packed);
  ins.d = lowering.target(d, kU32);
  ins.a = lowering.source(a, kU32);
  ins.b = lowering.source(b, kU32);
  ins.c = has_c ? lowering.source(lowering.operand(3), kU32) : lowering.number(0, 4);
  lowering.emit(ins);
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
