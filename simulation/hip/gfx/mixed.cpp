// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed operations whose modifiers choose types: v_fma_mix_* takes f16 or f32 from each source;
// dot products of bytes and of 4-bit numbers are signed or unsigned (manual, 16.12).
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/vector.h"

namespace halyard::inline v0::sim::gfx {
namespace {

void read_mixed(Wave& wave, const Operand& operand, float (&values)[kLanes]) {
  RowBuffer buffer;
  const std::uint32_t* const rows = operand_rows(wave, operand, 1, buffer);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t bits = rows[lane];
    float value = std::bit_cast<float>(bits);
    if (operand.high_for_high) {
      value = isa_base::half_to_float(static_cast<std::uint16_t>(operand.high ? bits >> 16 : bits));
    }
    if (operand.absolute) value = std::fabs(value);
    values[lane] = operand.negate ? -value : value;
  }
}

void run_fma_mix(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  float a[kLanes], b[kLanes], c[kLanes];
  read_mixed(wave, from.sources[0], a);
  read_mixed(wave, from.sources[1], b);
  read_mixed(wave, from.sources[2], c);
  const bool is_half = from.opcode != Opcode::v_fma_mix_f32;
  RowBuffer result;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float sum = std::fma(a[lane], b[lane], c[lane]);
    result.rows[lane] = is_half ? isa_base::float_to_half(sum) : std::bit_cast<std::uint32_t>(sum);
  }
  const ValueKind kind = is_half ? ValueKind::kF16 : ValueKind::kF32;
  modify_result(wave, from, kind, result.rows, false);
  if (!is_half) {
    write_rows(wave, from.destination.index, result.rows, 1, wave.exec());
    return;
  }
  const unsigned shift = from.opcode == Opcode::v_fma_mixhi_f16 ? 16 : 0;
  std::uint32_t* const d = wave.row(from.destination.index);
  each_active(wave.exec(), [&](unsigned lane) {
    d[lane] = (d[lane] & ~(0xffffu << shift)) | (result.rows[lane] & 0xffffu) << shift;
  });
}

// Numbers of kBits bits, signed if the operand's neg is set.
template <unsigned kBits>
void run_dot(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  RowBuffer buffers[3], result;
  const std::uint32_t* rows[3];
  for (unsigned i = 0; i < 3; ++i) {
    rows[i] = operand_rows(wave, from.sources[i], 1, buffers[i]);
  }
  const auto number = [](std::uint32_t bits, unsigned at, bool is_signed) {
    const std::uint32_t top = bits >> at << (32 - kBits);
    return is_signed ? static_cast<std::int32_t>(top) >> (32 - kBits)
                     : static_cast<std::int32_t>(top >> (32 - kBits));
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::int64_t sum = static_cast<std::int32_t>(rows[2][lane]);
    for (unsigned at = 0; at < 32; at += kBits) {
      sum += number(rows[0][lane], at, from.sources[0].negate) *
             number(rows[1][lane], at, from.sources[1].negate);
    }
    if (from.clamp) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
    result.rows[lane] = static_cast<std::uint32_t>(sum);
  }
  write_rows(wave, from.destination.index, result.rows, 1, wave.exec());
}

}  // namespace

Handler mixed_handler(const Instruction& instruction) {
  if (instruction.dpp.kind != Dpp::kNone) return nullptr;
  switch (instruction.opcode) {
    case Opcode::v_fma_mix_f32:
    case Opcode::v_fma_mixlo_f16:
    case Opcode::v_fma_mixhi_f16:
      return run_fma_mix;
    case Opcode::v_dot4_i32_iu8:
      return run_dot<8>;
    case Opcode::v_dot8_i32_iu4:
      return run_dot<4>;
    default:
      return nullptr;
  }
}

}  // namespace halyard::inline v0::sim::gfx
