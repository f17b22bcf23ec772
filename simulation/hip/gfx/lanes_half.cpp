// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of f16.
#include "simulation/hip/gfx/half.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

F16 median(F16 a, F16 b, F16 c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum(minimum(a, b), c);
  const float largest = to_float(maximum(maximum(a, b), c));
  if (largest == to_float(a)) return maximum(b, c);
  return largest == to_float(b) ? maximum(a, c) : maximum(a, b);
}

F16 div_fixup(F16 a, F16 b, F16 c) {
  const unsigned sign = (b.bits ^ c.bits) & 0x8000u;
  const unsigned denominator = b.bits & 0x7fffu, numerator = c.bits & 0x7fffu;
  const auto with_sign = [sign](unsigned magnitude) {
    return F16{static_cast<std::uint16_t>(sign | magnitude)};
  };
  if (is_nan(c)) return F16{static_cast<std::uint16_t>(c.bits | 0x200u)};
  if (is_nan(b)) return F16{static_cast<std::uint16_t>(b.bits | 0x200u)};
  if (denominator == numerator && (denominator == 0 || denominator == 0x7c00u)) {
    return F16{0xfe00u};
  }
  if (denominator == 0 || numerator == 0x7c00u) return with_sign(0x7c00u);
  if (denominator == 0x7c00u || numerator == 0) return with_sign(0);
  return with_sign(a.bits & 0x7fffu);
}

void add_sums(LaneOperations& o) {
  o[Opcode::v_add_f16] = lanes([](F16 a, F16 b) { return to_half(to_float(a) + to_float(b)); });
  o[Opcode::v_sub_f16] = lanes([](F16 a, F16 b) { return to_half(to_float(a) - to_float(b)); });
  o[Opcode::v_subrev_f16] = lanes([](F16 a, F16 b) { return to_half(to_float(b) - to_float(a)); });
  o[Opcode::v_mul_f16] = lanes([](F16 a, F16 b) { return to_half(to_float(a) * to_float(b)); });
  for (const Opcode opcode :
       {Opcode::v_fma_f16, Opcode::v_fmac_f16, Opcode::v_fmamk_f16, Opcode::v_fmaak_f16}) {
    o[opcode] = lanes([](F16 a, F16 b, F16 c) { return fused(a, b, c); });
  }
  o[Opcode::v_div_fixup_f16] = lanes([](F16 a, F16 b, F16 c) { return div_fixup(a, b, c); });
}

void add_order(LaneOperations& o) {
  o[Opcode::v_min_f16] = lanes([](F16 a, F16 b) { return minimum(a, b); });
  o[Opcode::v_max_f16] = lanes([](F16 a, F16 b) { return maximum(a, b); });
  o[Opcode::v_min3_f16] = lanes([](F16 a, F16 b, F16 c) { return minimum(minimum(a, b), c); });
  o[Opcode::v_max3_f16] = lanes([](F16 a, F16 b, F16 c) { return maximum(maximum(a, b), c); });
  o[Opcode::v_med3_f16] = lanes([](F16 a, F16 b, F16 c) { return median(a, b, c); });
  o[Opcode::v_maxmin_f16] = lanes([](F16 a, F16 b, F16 c) { return minimum(maximum(a, b), c); });
  o[Opcode::v_minmax_f16] = lanes([](F16 a, F16 b, F16 c) { return maximum(minimum(a, b), c); });
}

void add_parts(LaneOperations& o) {
  o[Opcode::v_trunc_f16] = lanes([](F16 a) { return to_half(std::trunc(to_float(a))); });
  o[Opcode::v_ceil_f16] = lanes([](F16 a) { return to_half(std::ceil(to_float(a))); });
  o[Opcode::v_floor_f16] = lanes([](F16 a) { return to_half(std::floor(to_float(a))); });
  o[Opcode::v_rndne_f16] = lanes([](F16 a) { return to_half(std::nearbyint(to_float(a))); });
  o[Opcode::v_fract_f16] = lanes([](F16 a) {
    const F16 part = to_half(to_float(a) - std::floor(to_float(a)));
    return part.bits == 0x3c00u ? F16{0x3bffu} : part;  // less than 1
  });
  o[Opcode::v_frexp_exp_i16_f16] = lanes([](F16 a) {
    int exponent = 0;
    std::frexp(to_float(a), &exponent);
    return static_cast<std::int16_t>(std::isfinite(to_float(a)) ? exponent : 0);
  });
  o[Opcode::v_frexp_mant_f16] = lanes([](F16 a) {
    int exponent = 0;
    return std::isfinite(to_float(a)) ? to_half(std::frexp(to_float(a), &exponent)) : a;
  });
  o[Opcode::v_ldexp_f16] = lanes([](F16 a, std::int16_t b) {
    // Exact in double for every exponent that makes a difference.
    const int exponent = b < -64 ? -64 : b > 64 ? 64 : b;
    return to_half(to_odd_float(std::ldexp(static_cast<double>(to_float(a)), exponent)));
  });
}

}  // namespace

void add_half(LaneOperations& operations) {
  add_sums(operations);
  add_order(operations);
  add_parts(operations);
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
