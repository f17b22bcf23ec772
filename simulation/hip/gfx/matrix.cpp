// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of 16 x 16 matrices, WMMA (manual, 7.9): D = A B + C. Lane i of 0 to 15 holds row i of A
// and column i of B, its 16 elements in order in 8, 4 or 2 registers; lanes 16 to 31 hold the same.
// Register r of C and D is row 2 r in lanes 0 to 15, and row 2 r + 1 in lanes 16 to 31; 16 bits are
// in the half that op_sel chooses. EXEC does not matter.
//
// The hardware's order of additions is not documented. Here the exact products are added in double
// and the sum is rounded once.
#include <algorithm>
#include <limits>

#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/vector.h"

namespace halyard::inline v0::sim::gfx {
namespace {

constexpr unsigned kSize = 16;

template <class T>
struct Matrix {
  T at[kSize][kSize];  // A: [row][k], B: [column][k]
};

float element(std::uint16_t bits, bool is_bfloat) {
  return is_bfloat ? isa_base::bfloat_to_float(bits) : isa_base::half_to_float(bits);
}

void read_floats(Wave& wave, const Operand& operand, bool is_bfloat, Matrix<float>& matrix) {
  for (unsigned i = 0; i < kSize; ++i) {
    for (unsigned k = 0; k < kSize; ++k) {
      const std::uint32_t pair = wave.row(operand.index + k / 2)[i];
      const bool is_high = k % 2 != 0;
      const float value =
          element(static_cast<std::uint16_t>(is_high ? pair >> 16 : pair), is_bfloat);
      matrix.at[i][k] = (is_high ? operand.negate_high : operand.negate) ? -value : value;
    }
  }
}

template <unsigned kBits>
void read_integers(Wave& wave, const Operand& operand, Matrix<std::int32_t>& matrix) {
  constexpr unsigned kEach = 32 / kBits;
  for (unsigned i = 0; i < kSize; ++i) {
    for (unsigned k = 0; k < kSize; ++k) {
      const std::uint32_t top = wave.row(operand.index + k / kEach)[i] >> (k % kEach * kBits)
                                                                              << (32 - kBits);
      matrix.at[i][k] = operand.negate ? static_cast<std::int32_t>(top) >> (32 - kBits)
                                       : static_cast<std::int32_t>(top >> (32 - kBits));
    }
  }
}

// C's element of register r and a lane, as bits.
std::uint32_t accumulator_bits(Wave& wave, const Operand& operand, unsigned r, unsigned lane) {
  if (operand.kind == OperandKind::kVector) return wave.row(operand.index + r)[lane];
  return wave.read32(operand);  // a constant
}

template <bool kBfloat, bool kWide>
void run_floats(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  const Operand& c = from.sources[2];
  Matrix<float> a, b;
  read_floats(wave, from.sources[0], kBfloat, a);
  read_floats(wave, from.sources[1], kBfloat, b);
  RowBuffer result;
  const unsigned shift = c.high ? 16 : 0;
  for (unsigned r = 0; r < 8; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = 2 * r + lane / kSize, column = lane % kSize;
      const std::uint32_t bits = accumulator_bits(wave, c, r, lane);
      float start = kWide ? std::bit_cast<float>(bits)
                          : element(static_cast<std::uint16_t>(bits >> shift), kBfloat);
      if (c.absolute) start = std::fabs(start);
      if (c.negate) start = -start;
      double sum = start;
      for (unsigned k = 0; k < kSize; ++k) {
        sum += static_cast<double>(a.at[row][k]) * b.at[column][k];
      }
      std::uint32_t& d = result.rows[r * kLanes + lane];
      if (kWide) {
        d = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
      } else {
        const float odd = isa_base::to_odd_float(sum);
        const std::uint32_t half =
            kBfloat ? isa_base::float_to_bfloat(odd) : isa_base::float_to_half(odd);
        d = (wave.row(from.destination.index + r)[lane] & ~(0xffffu << shift)) | half << shift;
      }
    }
  }
  write_rows(wave, from.destination.index, result.rows, 8, kAllLanes);
}

template <unsigned kBits>
void run_integers(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  Matrix<std::int32_t> a, b;
  read_integers<kBits>(wave, from.sources[0], a);
  read_integers<kBits>(wave, from.sources[1], b);
  RowBuffer result;
  for (unsigned r = 0; r < 8; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::int64_t sum =
          static_cast<std::int32_t>(accumulator_bits(wave, from.sources[2], r, lane));
      for (unsigned k = 0; k < kSize; ++k) {
        sum += a.at[2 * r + lane / kSize][k] * b.at[lane % kSize][k];
      }
      if (from.clamp) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
      result.rows[r * kLanes + lane] = static_cast<std::uint32_t>(sum);
    }
  }
  write_rows(wave, from.destination.index, result.rows, 8, kAllLanes);
}

}  // namespace

Handler matrix_handler(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::v_wmma_f32_16x16x16_f16:
      return run_floats<false, true>;
    case Opcode::v_wmma_f32_16x16x16_bf16:
      return run_floats<true, true>;
    case Opcode::v_wmma_f16_16x16x16_f16:
      return run_floats<false, false>;
    case Opcode::v_wmma_bf16_16x16x16_bf16:
      return run_floats<true, false>;
    case Opcode::v_wmma_i32_16x16x16_iu8:
      return run_integers<8>;
    case Opcode::v_wmma_i32_16x16x16_iu4:
      return run_integers<4>;
    default:
      return nullptr;
  }
}

}  // namespace halyard::inline v0::sim::gfx
