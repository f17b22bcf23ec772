// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of f64.
#include <array>

#include "simulation/hip/gfx/float_bits.h"
#include "simulation/hip/gfx/lanes.h"

namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA {
namespace {

// 2 / pi = 0.b1200 b1199 ... b0 in binary, the first bits first. Public source: the value of
// fdlibm's two_over_pi, in words of 32 bits.
constexpr std::array<std::uint32_t, 38> kTwoOverPi = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

// 53 bits of 2 / pi, after the first `shift` bits.
double trig_preop(double a, std::uint32_t segment) {
  const int exponent = biased_exponent(a);
  unsigned shift = (segment & 31) * 53;
  if (exponent > 1077) shift += static_cast<unsigned>(exponent - 1077);
  std::uint64_t bits = 0;
  for (unsigned i = shift; i < shift + 53; ++i) {
    const bool bit = i < 1201 && (kTwoOverPi[i / 32] >> (31 - i % 32) & 1) != 0;
    bits = bits << 1 | std::uint64_t{bit};
  }
  int scale = -53 - static_cast<int>(shift);
  if (exponent >= 1968) scale += 128;
  return std::ldexp(static_cast<double>(bits), scale);
}

}  // namespace

void add_double(LaneOperations& o) {
  o[Opcode::v_add_f64] = lanes([](double a, double b) { return a + b; });
  o[Opcode::v_mul_f64] = lanes([](double a, double b) { return a * b; });
  o[Opcode::v_fma_f64] = lanes([](double a, double b, double c) { return std::fma(a, b, c); });
  o[Opcode::v_min_f64] = lanes([](double a, double b) { return minimum(a, b); });
  o[Opcode::v_max_f64] = lanes([](double a, double b) { return maximum(a, b); });
  o[Opcode::v_trunc_f64] = lanes([](double a) { return std::trunc(a); });
  o[Opcode::v_ceil_f64] = lanes([](double a) { return std::ceil(a); });
  o[Opcode::v_floor_f64] = lanes([](double a) { return std::floor(a); });
  o[Opcode::v_rndne_f64] = lanes([](double a) { return std::nearbyint(a); });
  o[Opcode::v_fract_f64] = lanes([](double a) {
    const double part = a - std::floor(a);
    return part >= 1 ? 0x1.fffffffffffffp-1 : part;
  });
  o[Opcode::v_frexp_exp_i32_f64] = lanes([](double a) {
    int exponent = 0;
    std::frexp(a, &exponent);
    return std::isfinite(a) ? exponent : 0;
  });
  o[Opcode::v_frexp_mant_f64] = lanes([](double a) {
    int exponent = 0;
    return std::isfinite(a) ? std::frexp(a, &exponent) : a;
  });
  o[Opcode::v_ldexp_f64] = lanes([](double a, std::int32_t b) { return std::ldexp(a, b); });
  // The hardware returns approximations that programs refine; these results are correctly rounded.
  o[Opcode::v_rcp_f64] = lanes([](double a) { return 1 / a; });
  o[Opcode::v_sqrt_f64] = lanes([](double a) { return std::sqrt(a); });
  o[Opcode::v_rsq_f64] = lanes([](double a) { return 1 / std::sqrt(a); });
  o[Opcode::v_trig_preop_f64] = lanes([](double a, std::uint32_t b) { return trig_preop(a, b); });
}

}  // namespace halyard::inline v0::sim::gfx::HALYARD_GFX_ISA
