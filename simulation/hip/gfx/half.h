// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16, by integer and float arithmetic of the host. Conversions to them round to nearest
// even. Except for fma, an operation in float whose result is rounded again equals the operation
// rounded once, because float has more than twice the bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  // The exponent moves by 112; denormals become normal by the multiplication.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t special = 0x7f800000u | magnitude << 13;
  return std::bit_cast<float>(
      sign | (magnitude >= 0x7c00u ? special : std::bit_cast<std::uint32_t>(scaled)));
}

// NaNs keep the upper bits of their payload and become quiet.
inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
  // The addition rounds to multiples of 2^-24, the unit of denormals.
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = magnitude < 0x38800000u ? denormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above
  result = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x1ffu) : result;
  return static_cast<std::uint16_t>(result | sign);
}

// Rounded toward zero (v_cvt_pk_rtz_f16_f32): finite values stay finite.
inline std::uint16_t float_to_half_toward_zero(float value) {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
  const std::uint16_t nearest = float_to_half(value);
  if (magnitude >= 0x7f800000u) return nearest;
  const float back = half_to_float(static_cast<std::uint16_t>(nearest & 0x7fffu));
  return back > std::bit_cast<float>(magnitude) ? static_cast<std::uint16_t>(nearest - 1) : nearest;
}

inline float bfloat_to_float(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}
inline std::uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40u : rounded);
}

inline float to_float(F16 a) { return half_to_float(a.bits); }
inline F16 to_half(float a) { return F16{float_to_half(a)}; }

// Converts a double to a float that rounds to the same f16 as the double: if the conversion is not
// exact, the float's last bit is 1.
inline float to_odd_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// a * b + c rounded once. The product is exact in double, and so is the sum, unless its parts
// differ too much in magnitude; then the sign of the error tells on which side of the sum the exact
// value lies.
inline float fused_to_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  if (!(std::fabs(sum) < HUGE_VAL)) return static_cast<float>(sum);
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0) {
    if ((error < 0) != (sum < 0)) --bits;
    bits |= 1;
  }
  return to_odd_float(std::bit_cast<double>(bits));
}
inline F16 fused(F16 a, F16 b, F16 c) {
  return to_half(fused_to_odd(to_float(a), to_float(b), to_float(c)));
}

inline bool is_nan(F16 a) { return (a.bits & 0x7fffu) > 0x7c00u; }
inline bool is_signaling(F16 a) { return is_nan(a) && (a.bits & 0x200u) == 0; }

// The rules of extreme() in float_bits.h.
template <bool kIsMaximum>
F16 half_extreme(F16 a, F16 b) {
  const auto order = [](F16 value) {
    const auto s = static_cast<std::int16_t>(value.bits);
    return static_cast<std::int16_t>(s ^ ((s >> 15) & 0x7fff));
  };
  const auto quiet = [](F16 value) { return F16{static_cast<std::uint16_t>(value.bits | 0x200u)}; };
  F16 result = (order(a) < order(b)) != kIsMaximum ? a : b;
  if (is_nan(a)) result = b;
  if (is_nan(b)) result = a;
  if (is_signaling(b)) result = quiet(b);
  if (is_signaling(a)) result = quiet(a);
  return result;
}
inline F16 minimum(F16 a, F16 b) { return half_extreme<false>(a, b); }
inline F16 maximum(F16 a, F16 b) { return half_extreme<true>(a, b); }

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
