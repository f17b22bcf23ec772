// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16, by integer and float arithmetic of the host, which rounds to nearest.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "simulation/cuda/ptx/lanes.h"

namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA {

inline constexpr std::uint16_t kHalfNan = 0x7fff;  // bf16 has the same

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  // Exponents move by 112; subnormals become normal by the multiplication.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
  const std::uint32_t special = 0x7f800000u | magnitude << 13;
  return std::bit_cast<float>(sign | (magnitude >= 0x7c00u ? special : finite));
}

inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
  // The addition rounds to multiples of 2^-24, the unit of subnormals.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above
  result |= sign;
  return static_cast<std::uint16_t>(magnitude > 0x7f800000u ? kHalfNan : result);
}

inline float bfloat_to_float(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

inline std::uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? kHalfNan : rounded);
}

// Converts to float such that rounding the result again to fewer bits rounds `value` correctly: if
// the result is not exact, its last bit is 1.
inline float double_to_odd_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// a * b + c of numbers with at most 24 bits, rounded to odd.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b;  // exact
  const double sum = product + c;
  if (!(std::fabs(sum) < HUGE_VAL)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  if (error == 0) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((error < 0) != (sum < 0)) --bits;
  return std::bit_cast<double>(bits | 1);
}

// The differences between f16 and bf16.
struct HalfFormat {
  static constexpr std::uint16_t kSmallestNormal = 0x0400;
  static float to_float(std::uint16_t bits) { return half_to_float(bits); }
  static std::uint16_t from_float(float value) { return float_to_half(value); }
};
struct BfloatFormat {
  static constexpr std::uint16_t kSmallestNormal = 0x0080;
  static float to_float(std::uint16_t bits) { return bfloat_to_float(bits); }
  static std::uint16_t from_float(float value) { return float_to_bfloat(value); }
};

}  // namespace halyard::inline v0::sim::ptx::HALYARD_PTX_ISA
