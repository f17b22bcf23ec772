// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Video instructions on the halves or bytes of a register: vadd2, vadd4, ... without selectors and
// masks of bytes; and add, min and max of .u16x2 and .s16x2.
#include <algorithm>
#include <optional>

#include "simulation/cuda/ptx/lowering.h"
#include "simulation/cuda/ptx/machine.h"

namespace halyard::inline v0::sim::ptx {
namespace {

enum class Operation : std::uint8_t {
  kAdd,
  kSubtract,
  kAverage,
  kDifference,
  kMinimum,
  kMaximum,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
};

// Of Ins::flags.
constexpr std::uint8_t kSignedA = 1, kSignedB = 2, kSignedD = 4, kSaturates = 8, kAccumulates = 16;

std::int32_t compute(Operation operation, std::int32_t a, std::int32_t b) {
  switch (operation) {
    case Operation::kAdd:
      return a + b;
    case Operation::kSubtract:
      return a - b;
    case Operation::kAverage:
      // Rounds away from zero.
      return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case Operation::kDifference:
      return a < b ? b - a : a - b;
    case Operation::kMinimum:
      return std::min(a, b);
    case Operation::kMaximum:
      return std::max(a, b);
    case Operation::kEq:
      return a == b ? 1 : 0;
    case Operation::kNe:
      return a != b ? 1 : 0;
    case Operation::kLt:
      return a < b ? 1 : 0;
    case Operation::kLe:
      return a <= b ? 1 : 0;
    case Operation::kGt:
      return a > b ? 1 : 0;
    case Operation::kGe:
      return a >= b ? 1 : 0;
  }
  return 0;
}

// ins.extra: elements of a register; ins.count: an Operation.
void video(Warp& warp, const Ins& ins) {
  const auto* const a = warp.in<std::uint32_t>(ins.a);
  const auto* const b = warp.in<std::uint32_t>(ins.b);
  const auto* const c = warp.in<std::uint32_t>(ins.c);
  auto* const d = warp.at<std::uint32_t>(ins.d);
  const std::uint32_t bits = 32 / ins.extra, mask = (1u << bits) - 1;
  const auto element = [&](std::uint32_t word, std::uint32_t i, bool is_signed) {
    const std::uint32_t value = word >> (bits * i) & mask;
    return is_signed ? static_cast<std::int32_t>(value << (32 - bits)) >> (32 - bits)
                     : static_cast<std::int32_t>(value);
  };
  const bool is_signed = (ins.flags & kSignedD) != 0;
  const std::int32_t low = is_signed ? -(1 << (bits - 1)) : 0;
  const std::int32_t high = is_signed ? (1 << (bits - 1)) - 1 : static_cast<std::int32_t>(mask);
  each_active(warp.exec, [&](unsigned lane) {
    std::uint32_t packed = 0, sum = c[lane];
    for (std::uint32_t i = 0; i < ins.extra; ++i) {
      std::int32_t value = compute(static_cast<Operation>(ins.count),
                                   element(a[lane], i, (ins.flags & kSignedA) != 0),
                                   element(b[lane], i, (ins.flags & kSignedB) != 0));
      if ((ins.flags & kSaturates) != 0) value = std::clamp(value, low, high);
      packed |= (static_cast<std::uint32_t>(value) & mask) << (bits * i);
      sum += static_cast<std::uint32_t>(value);
    }
    d[lane] = (ins.flags & kAccumulates) != 0 ? sum : packed;
  });
}

std::optional<Operation> operation_of(Lowering& lowering, std::string_view name) {
  if (name == "vadd") return Operation::kAdd;
  if (name == "vsub") return Operation::kSubtract;
  if (name == "vavrg") return Operation::kAverage;
  if (name == "vabsdiff") return Operation::kDifference;
  if (name == "vmin") return Operation::kMinimum;
  if (name == "vmax") return Operation::kMaximum;
  if (name != "vset") return std::nullopt;
  constexpr std::string_view kNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (std::uint8_t i = 0; i < 6; ++i) {
    if (lowering.take(kNames[i])) {
      return static_cast<Operation>(static_cast<std::uint8_t>(Operation::kEq) + i);
    }
  }
  return std::nullopt;
}

}  // namespace

bool lower_video(Lowering& lowering) {
  const std::string_view opcode = lowering.opcode();
  const bool is_signed_pair = lowering.has_modifier("s16x2");
  if (is_signed_pair || lowering.has_modifier("u16x2")) {
    Ins ins;
    ins.run = video;
    ins.extra = 2;
    if (opcode == "add") {
      ins.count = static_cast<std::uint8_t>(Operation::kAdd);
    } else if (opcode == "min") {
      ins.count = static_cast<std::uint8_t>(Operation::kMinimum);
    } else if (opcode == "max") {
      ins.count = static_cast<std::uint8_t>(Operation::kMaximum);
    } else {
      return false;
    }
    lowering.take(is_signed_pair ? "s16x2" : "u16x2");
    if (is_signed_pair) ins.flags = kSignedA | kSignedB;
    lowering.expect_operands(3, 3);
    ins.d = lowering.target(lowering.operand(0), kU32);
    ins.a = lowering.source(lowering.operand(1), kU32);
    ins.b = lowering.source(lowering.operand(2), kU32);
    ins.c = lowering.number(0, 4);
    lowering.emit(ins);
    return true;
  }
  if (!opcode.starts_with('v') || (!opcode.ends_with('2') && !opcode.ends_with('4'))) return false;
  const bool is_set = opcode.starts_with("vset");
  // vset4 names the types of a and b, and then the comparison; others that of d first.
  const auto operation = operation_of(lowering, opcode.substr(0, opcode.size() - 1));
  if (!operation) return false;
  Ins ins;
  ins.run = video;
  ins.count = static_cast<std::uint8_t>(*operation);
  ins.extra = opcode.ends_with('4') ? 4 : 2;
  if (!is_set && lowering.take_type().is_signed()) ins.flags |= kSignedD;
  if (lowering.take_type().is_signed()) ins.flags |= kSignedA;
  if (lowering.take_type().is_signed()) ins.flags |= kSignedB;
  if (lowering.take("sat")) ins.flags |= kSaturates;
  if (lowering.take("add")) ins.flags |= kAccumulates;
  lowering.expect_operands(4, 4);
  ins.d = lowering.target(lowering.operand(0), kU32);
  ins.a = lowering.source(lowering.operand(1), kU32);
  ins.b = lowering.source(lowering.operand(2), kU32);
  ins.c = lowering.source(lowering.operand(3), kU32);
  lowering.emit(ins);
  return true;
}

}  // namespace halyard::inline v0::sim::ptx
