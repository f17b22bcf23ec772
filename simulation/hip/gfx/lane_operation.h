// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calling convention of an operation on lanes: it gets the values of its sources, with all
// modifiers applied, and computes all 32 lanes, even those that do not execute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simulation/hip/gfx/instruction.h"

namespace halyard::inline v0::sim::gfx {

inline constexpr unsigned kLanes = 32;
inline constexpr std::uint32_t kAllLanes = ~0u;

enum class ValueKind : std::uint8_t { kNone, kU16, kI16, kF16, kU32, kI32, kF32, kU64, kI64, kF64 };

// Registers per value.
constexpr unsigned dwords_of(ValueKind kind) {
  return kind == ValueKind::kNone ? 0 : kind >= ValueKind::kU64 ? 2 : 1;
}
constexpr bool is_16_bit(ValueKind kind) {
  return kind >= ValueKind::kU16 && kind <= ValueKind::kF16;
}
constexpr bool is_float(ValueKind kind) {
  return kind == ValueKind::kF16 || kind == ValueKind::kF32 || kind == ValueKind::kF64;
}

// A row is 32 values, one for each lane; the high halves of 64-bit values are in the next row. The
// result must not overlap a source.
struct LaneArguments {
  std::uint32_t* d = nullptr;
  std::array<const std::uint32_t*, 3> sources{};
  std::uint32_t mask_in = 0;   // VCC, or the mask that the instruction names
  std::uint32_t mask_out = 0;  // result of comparisons, carry
};

using LaneFunction = void (*)(LaneArguments&);

struct LaneOperation {
  LaneFunction run = nullptr;
  LaneFunction run_clamped = nullptr;  // with the clamp modifier, for integers
  std::uint8_t sources = 0;
  std::array<ValueKind, 3> kinds{};
  ValueKind result = ValueKind::kNone;
  std::uint8_t result_dwords = 0;  // 0: as the kind says
  bool reads_mask = false;
  bool writes_mask = false;
  bool is_packed = false;  // halves of 32 bits, each selected and negated by itself
  bool flushes = false;    // f32 denormals, whatever the mode

  constexpr LaneOperation clamped(const LaneOperation& other) const {
    LaneOperation result_of = *this;
    result_of.run_clamped = other.run;
    return result_of;
  }
};

class LaneOperations {
 public:
  LaneOperation& operator[](Opcode opcode) { return all_[static_cast<std::size_t>(opcode)]; }
  const LaneOperation& operator[](Opcode opcode) const {
    return all_[static_cast<std::size_t>(opcode)];
  }

 private:
  std::array<LaneOperation, kOpcodes> all_{};
};
// The operations for the host's best instruction set.
const LaneOperations& lane_operations();

}  // namespace halyard::inline v0::sim::gfx
