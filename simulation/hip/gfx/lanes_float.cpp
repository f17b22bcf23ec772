// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of f32, and division of f32 and f64.
#include <limits>

#include "simulation/hip/gfx/float_bits.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

// Division: two v_div_scale scale numerator and denominator into the range in which Newton-Raphson
// iterations are accurate enough, v_div_fmas scales the quotient back, and v_div_fixup handles
// special cases. This follows the manual (16.9), with the behaviour that tinygrad's "test/amd/hw"
// found on hardware: the mask is also 1 where the result is a NaN, and the scale of v_div_fmas
// depends on the exponent.
template <class T>
struct Division;
template <>
struct Division<float> {
  static constexpr int kLarge = 96, kBias = 127, kDenormal = -126, kTiny = 23, kUnderflow = -150;
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f, kSmallest = 0x1p-149f;
};
template <>
struct Division<double> {
  static constexpr int kLarge = 768, kBias = 1023, kDenormal = -1022, kTiny = 53,
                       kUnderflow = -1075;
  static constexpr double kUp = 0x1p128, kDown = 0x1p-128, kSmallest = 0x1p-1074;
};

// `a` is the numerator `c` or the denominator `b`.
template <class T>
WithMask<T> div_scale(T a, T b, T c) {
  using D = Division<T>;
  const int numerator = biased_exponent(c), denominator = biased_exponent(b);
  if (b == 0 || c == 0) return {std::numeric_limits<T>::quiet_NaN(), true};
  const bool is_denominator = std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b);
  const bool is_numerator = std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(c);
  // Only exponents are compared, so numbers slightly above the denormals count as denormal.
  const bool quotient_is_denormal = numerator - denominator <= D::kDenormal;
  const bool reciprocal_is_denormal = D::kBias - denominator <= D::kDenormal;
  if (numerator - denominator >= D::kLarge) return {is_denominator ? a * D::kUp : a, true};
  if (denominator == 0) return {a * D::kUp, false};
  if (reciprocal_is_denormal && quotient_is_denormal) {
    // The manual scales up, which would overflow.
    return {is_denominator ? a * D::kDown : a, true};
  }
  if (reciprocal_is_denormal) return {a * D::kDown, false};
  if (quotient_is_denormal) return {is_numerator ? a * D::kUp : a, true};
  if (numerator <= D::kTiny) return {a * D::kUp, false};
  return {a, false};
}

template <class T>
T div_fixup(T a, T b, T c) {
  using D = Division<T>;
  using Bits = BitsOf<T>;
  const Bits sign = (std::bit_cast<Bits>(b) ^ std::bit_cast<Bits>(c)) & kSignBit<T>;
  const auto with_sign = [sign](Bits magnitude) { return std::bit_cast<T>(sign | magnitude); };
  const T denominator = std::fabs(b), numerator = std::fabs(c);
  const T infinity = std::numeric_limits<T>::infinity();
  if (c != c) return quieted(c);
  if (b != b) return quieted(b);
  if ((denominator == 0 && numerator == 0) || (denominator == infinity && numerator == infinity)) {
    return std::bit_cast<T>(kSignBit<T> | kInfinityBits<T> | kQuietBit<T>);
  }
  if (denominator == 0 || numerator == infinity) return with_sign(kInfinityBits<T>);
  if (denominator == infinity || numerator == 0) return with_sign(0);
  if (biased_exponent(c) - biased_exponent(b) < D::kUnderflow) return with_sign(0);
  if (a != a) return with_sign(kInfinityBits<T>);
  return with_sign(std::bit_cast<Bits>(a) & ~kSignBit<T>);
}

float fused(float a, float b, float c) { return std::fma(a, b, c); }

// The result must be rounded only once; otherwise divisions with denormal results would not be
// rounded correctly.
template <class T>
T div_fmas(T a, T b, T c, bool is_scaled) {
  using D = Division<T>;
  const T sum = std::fma(a, b, c);
  if (!is_scaled) return sum;
  if (biased_exponent(c) > D::kBias) return sum * D::kUp;
  const T result = sum * D::kDown;
  // If the sum lies halfway between two results, the rounding error of the sum decides.
  const T distance = sum - result * D::kUp;
  const T rounded_by = std::fma(a, b, c - sum);
  const bool is_between = std::fabs(distance) == D::kSmallest * D::kUp / 2;
  const bool is_beyond = rounded_by != 0 && (rounded_by < 0) == (distance < 0);
  if (!is_between || !is_beyond) return result;
  return distance < 0 ? result - D::kSmallest : result + D::kSmallest;
}

template <class T>
void add_division(LaneOperations& o, Opcode scale, Opcode fmas, Opcode fixup) {
  o[scale] = lanes([](T a, T b, T c) { return div_scale(a, b, c); });
  o[fmas] = lanes([](T a, T b, T c, bool m) { return div_fmas(a, b, c, m); });
  o[fixup] = lanes([](T a, T b, T c) { return div_fixup(a, b, c); });
}

void add_sums(LaneOperations& o) {
  o[Opcode::v_add_f32] = lanes([](float a, float b) { return a + b; });
  o[Opcode::v_sub_f32] = lanes([](float a, float b) { return a - b; });
  o[Opcode::v_subrev_f32] = lanes([](float a, float b) { return b - a; });
  o[Opcode::v_mul_f32] = lanes([](float a, float b) { return a * b; });
  o[Opcode::v_mul_dx9_zero_f32] =
      lanes([](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; });
  constexpr auto kFma = [](float a, float b, float c) { return fused(a, b, c); };
  for (const Opcode opcode :
       {Opcode::v_fma_f32, Opcode::v_fmac_f32, Opcode::v_fmamk_f32, Opcode::v_fmaak_f32}) {
    o[opcode] = lanes(kFma);
  }
  constexpr auto kFmaOfZero = [](float a, float b, float c) {
    return a == 0 || b == 0 ? c : fused(a, b, c);
  };
  o[Opcode::v_fma_dx9_zero_f32] = lanes(kFmaOfZero);
  o[Opcode::v_fmac_dx9_zero_f32] = lanes(kFmaOfZero);
  o[Opcode::v_mullit_f32] = lanes([](float a, float b, float c) {
    constexpr float kMost = std::numeric_limits<float>::max();
    return b > -kMost && c > 0 ? a * b : -kMost;
  });
}

void add_order(LaneOperations& o) {
  o[Opcode::v_min_f32] = lanes([](float a, float b) { return minimum(a, b); });
  o[Opcode::v_max_f32] = lanes([](float a, float b) { return maximum(a, b); });
  o[Opcode::v_min3_f32] =
      lanes([](float a, float b, float c) { return minimum(minimum(a, b), c); });
  o[Opcode::v_max3_f32] =
      lanes([](float a, float b, float c) { return maximum(maximum(a, b), c); });
  o[Opcode::v_med3_f32] = lanes([](float a, float b, float c) { return median(a, b, c); });
  o[Opcode::v_maxmin_f32] =
      lanes([](float a, float b, float c) { return minimum(maximum(a, b), c); });
  o[Opcode::v_minmax_f32] =
      lanes([](float a, float b, float c) { return maximum(minimum(a, b), c); });
}

// Faces of a cube: 0 to 5 for +x, -x, +y, -y, +z, -z, by the largest coordinate; if equal, z takes
// precedence over y, and y over x.
bool is_z_face(float x, float y, float z) {
  return std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y);
}
bool is_y_face(float x, float y) { return std::fabs(y) >= std::fabs(x); }

void add_cubes(LaneOperations& o) {
  o[Opcode::v_cubeid_f32] = lanes([](float x, float y, float z) {
    if (is_z_face(x, y, z)) return z < 0 ? 5.0f : 4.0f;
    if (is_y_face(x, y)) return y < 0 ? 3.0f : 2.0f;
    return x < 0 ? 1.0f : 0.0f;
  });
  o[Opcode::v_cubesc_f32] = lanes([](float x, float y, float z) {
    if (is_z_face(x, y, z)) return z < 0 ? -x : x;
    if (is_y_face(x, y)) return x;
    return x < 0 ? z : -z;
  });
  o[Opcode::v_cubetc_f32] = lanes([](float x, float y, float z) {
    if (is_z_face(x, y, z)) return -y;
    if (is_y_face(x, y)) return y < 0 ? -z : z;
    return -y;
  });
  o[Opcode::v_cubema_f32] = lanes([](float x, float y, float z) {
    if (is_z_face(x, y, z)) return z * 2;
    return is_y_face(x, y) ? y * 2 : x * 2;
  });
}

void add_parts(LaneOperations& o) {
  o[Opcode::v_trunc_f32] = lanes([](float a) { return std::trunc(a); });
  o[Opcode::v_ceil_f32] = lanes([](float a) { return std::ceil(a); });
  o[Opcode::v_floor_f32] = lanes([](float a) { return std::floor(a); });
  o[Opcode::v_rndne_f32] = lanes([](float a) { return std::nearbyint(a); });
  // Less than 1, even if the difference would round to 1 (LLVM, llvm.amdgcn.fract).
  o[Opcode::v_fract_f32] = lanes([](float a) {
    const float part = a - std::floor(a);
    return part >= 1 ? 0x1.fffffep-1f : part;
  });
  o[Opcode::v_frexp_exp_i32_f32] = lanes([](float a) {
    int exponent = 0;
    std::frexp(a, &exponent);
    return std::isfinite(a) ? exponent : 0;
  });
  o[Opcode::v_frexp_mant_f32] = lanes([](float a) {
    int exponent = 0;
    return std::isfinite(a) ? std::frexp(a, &exponent) : a;
  });
  o[Opcode::v_ldexp_f32] = lanes([](float a, std::int32_t b) { return std::ldexp(a, b); });
}

}  // namespace

void add_float(LaneOperations& operations) {
  add_sums(operations);
  add_order(operations);
  add_cubes(operations);
  add_parts(operations);
  add_division<float>(operations, Opcode::v_div_scale_f32, Opcode::v_div_fmas_f32,
                      Opcode::v_div_fixup_f32);
  add_division<double>(operations, Opcode::v_div_scale_f64, Opcode::v_div_fmas_f64,
                       Opcode::v_div_fixup_f64);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
