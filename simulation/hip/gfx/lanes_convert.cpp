// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions. To integers they saturate, and a NaN becomes 0.
#include <algorithm>
#include <limits>

#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;

// Saturates a value and truncates its fraction, if any.
template <class T>
T saturated(double value) {
  constexpr double kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  const double bounded = value < kLeast ? kLeast : value > kMost ? kMost : value;
  return static_cast<T>(value == value ? bounded : 0);
}

// v_cvt_norm_*, v_cvt_pk_norm_*: -1 to 1, or 0 to 1, as a fraction of the largest integer.
i16 signed_normalized(float value) {
  const double bounded = value == value ? std::clamp(static_cast<double>(value), -1.0, 1.0) : 0;
  return static_cast<i16>(std::nearbyint(bounded * 32767));
}
u16 unsigned_normalized(float value) {
  const double bounded = value == value ? std::clamp(static_cast<double>(value), 0.0, 1.0) : 0;
  return static_cast<u16>(std::nearbyint(bounded * 65535));
}
u32 pair(i16 low, i16 high) { return static_cast<u16>(low) | u32{static_cast<u16>(high)} << 16; }
u32 pair(u16 low, u16 high) { return low | u32{high} << 16; }

void add_numbers(LaneOperations& o) {
  o[Opcode::v_cvt_i32_f32] = lanes([](float a) { return saturated<i32>(a); });
  o[Opcode::v_cvt_u32_f32] = lanes([](float a) { return saturated<u32>(a); });
  o[Opcode::v_cvt_i32_f64] = lanes([](double a) { return saturated<i32>(a); });
  o[Opcode::v_cvt_u32_f64] = lanes([](double a) { return saturated<u32>(a); });
  o[Opcode::v_cvt_nearest_i32_f32] =
      lanes([](float a) { return saturated<i32>(std::floor(a + 0.5f)); });
  o[Opcode::v_cvt_floor_i32_f32] = lanes([](float a) { return saturated<i32>(std::floor(a)); });
  o[Opcode::v_cvt_f32_i32] = lanes([](i32 a) { return static_cast<float>(a); });
  o[Opcode::v_cvt_f32_u32] = lanes([](u32 a) { return static_cast<float>(a); });
  o[Opcode::v_cvt_f64_i32] = lanes([](i32 a) { return static_cast<double>(a); });
  o[Opcode::v_cvt_f64_u32] = lanes([](u32 a) { return static_cast<double>(a); });
  o[Opcode::v_cvt_f32_f64] = lanes([](double a) { return static_cast<float>(a); });
  o[Opcode::v_cvt_f64_f32] = lanes([](float a) { return static_cast<double>(a); });
  o[Opcode::v_cvt_f32_ubyte0] = lanes([](u32 a) { return static_cast<float>(a & 0xff); });
  o[Opcode::v_cvt_f32_ubyte1] = lanes([](u32 a) { return static_cast<float>(a >> 8 & 0xff); });
  o[Opcode::v_cvt_f32_ubyte2] = lanes([](u32 a) { return static_cast<float>(a >> 16 & 0xff); });
  o[Opcode::v_cvt_f32_ubyte3] = lanes([](u32 a) { return static_cast<float>(a >> 24); });
  o[Opcode::v_cvt_off_f32_i4] =
      lanes([](u32 a) { return static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0.0625f; });
}

void add_halves(LaneOperations& o) {
  o[Opcode::v_cvt_f16_f32] = lanes([](float a) { return to_half(a); });
  o[Opcode::v_cvt_f32_f16] = lanes([](F16 a) {
    const float value = to_float(a);
    return value != value ? value + value : value;  // quiet
  });
  o[Opcode::v_cvt_f16_u16] = lanes([](u16 a) { return to_half(static_cast<float>(a)); });
  o[Opcode::v_cvt_f16_i16] = lanes([](i16 a) { return to_half(static_cast<float>(a)); });
  o[Opcode::v_cvt_u16_f16] = lanes([](F16 a) { return saturated<u16>(to_float(a)); });
  o[Opcode::v_cvt_i16_f16] = lanes([](F16 a) { return saturated<i16>(to_float(a)); });
  o[Opcode::v_cvt_norm_i16_f16] = lanes([](F16 a) { return signed_normalized(to_float(a)); });
  o[Opcode::v_cvt_norm_u16_f16] = lanes([](F16 a) { return unsigned_normalized(to_float(a)); });
}

void add_pairs(LaneOperations& o) {
  o[Opcode::v_cvt_pk_rtz_f16_f32] = lanes([](float a, float b) {
    return pair(float_to_half_toward_zero(a), float_to_half_toward_zero(b));
  });
  o[Opcode::v_cvt_pk_i16_f32] =
      lanes([](float a, float b) { return pair(saturated<i16>(a), saturated<i16>(b)); });
  o[Opcode::v_cvt_pk_u16_f32] =
      lanes([](float a, float b) { return pair(saturated<u16>(a), saturated<u16>(b)); });
  o[Opcode::v_cvt_pk_norm_i16_f32] =
      lanes([](float a, float b) { return pair(signed_normalized(a), signed_normalized(b)); });
  o[Opcode::v_cvt_pk_norm_u16_f32] =
      lanes([](float a, float b) { return pair(unsigned_normalized(a), unsigned_normalized(b)); });
  o[Opcode::v_cvt_pk_norm_i16_f16] = lanes([](F16 a, F16 b) {
    return pair(signed_normalized(to_float(a)), signed_normalized(to_float(b)));
  });
  o[Opcode::v_cvt_pk_norm_u16_f16] = lanes([](F16 a, F16 b) {
    return pair(unsigned_normalized(to_float(a)), unsigned_normalized(to_float(b)));
  });
  o[Opcode::v_cvt_pk_u16_u32] = lanes([](u32 a, u32 b) {
    return pair(static_cast<u16>(std::min(a, 65535u)), static_cast<u16>(std::min(b, 65535u)));
  });
  o[Opcode::v_cvt_pk_i16_i32] = lanes([](i32 a, i32 b) {
    return pair(static_cast<i16>(std::clamp(a, -32768, 32767)),
                static_cast<i16>(std::clamp(b, -32768, 32767)));
  });
  o[Opcode::v_cvt_pk_u8_f32] = lanes([](float a, u32 b, u32 c) {
    const u32 shift = 8 * (b & 3);
    return (c & ~(0xffu << shift)) | u32{saturated<std::uint8_t>(a)} << shift;
  });
}

}  // namespace

void add_convert(LaneOperations& operations) {
  add_numbers(operations);
  add_halves(operations);
  add_pairs(operations);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
