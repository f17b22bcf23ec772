// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of f16 and bf16. Expectations are computed in double by the manual's formulas (16.8,
// 16.12) and rounded once, here by a search of the nearest f16.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

double half_value(u64 bits) {
  bits &= 0xffff;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 0x3ff);
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The nearest f16, ties to even.
u16 half_bits(double value) {
  if (value != value) return 0x7e00;
  const u16 sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  u16 low = 0, high = 0x7c00;  // low is not above the value
  while (high - low > 1) {
    const u16 middle = static_cast<u16>((low + high) / 2);
    (half_value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - half_value(low);
  const double next = high == 0x7c00 ? 65536 : half_value(high);
  const double above = next - magnitude;
  const bool takes_high = above < below || (above == below && (low & 1) != 0);
  return sign | (takes_high ? high : low);
}

GfxInputs half_inputs() {
  const u64 special[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x3c00, 0xbc00, 0x3c01,
                         0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x4000, 0x3800, 0x5640};
  GfxInputs inputs;
  std::mt19937_64 random(5);
  for (const u64 a : special) {
    for (const u64 b : special) {
      inputs.push_back(
          {a | special[random() % std::size(special)] << 16,
           b | special[random() % std::size(special)] << 16,
           special[random() % std::size(special)] << 16 | special[random() % std::size(special)]});
    }
  }
  for (int i = 0; i < 511; ++i) inputs.push_back({random(), random(), random()});
  return inputs;
}

GfxCase f16(std::string body, std::function<double(double, double, double)> f, unsigned ulps = 0) {
  return {std::move(body),
          [f](u64 a, u64 b, u64 c) {
            return u64{half_bits(f(half_value(a), half_value(b), half_value(c)))};
          },
          GfxCase::kHalf, ulps};
}

TEST(GfxHalf, Arithmetic) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          f16("v_add_f16 v10, v0, v2", [](double a, double b, double) { return a + b; }),
          f16("v_sub_f16 v10, v0, v2", [](double a, double b, double) { return a - b; }),
          f16("v_mul_f16 v10, v0, v2", [](double a, double b, double) { return a * b; }),
          f16("v_fma_f16 v10, v0, v2, -v4",
              [](double a, double b, double c) {
                // If the sum is not exact in double, it is not near a tie of f16, or it is beyond
                // f16's range.
                return std::fma(a, b, -c);
              }),
          f16("v_add_f16 v10, |v0|, -v2",
              [](double a, double b, double) { return std::fabs(a) - b; }),
          f16("v_floor_f16 v10, v0", [](double a, double, double) { return std::floor(a); }),
          f16("v_rndne_f16 v10, v0", [](double a, double, double) { return std::nearbyint(a); }),
          f16(
              "v_rcp_f16 v10, v0", [](double a, double, double) { return 1 / a; }, 1),
          f16(
              "v_sqrt_f16 v10, v0", [](double a, double, double) { return std::sqrt(a); }, 1),
          f16(
              "v_exp_f16 v10, v0", [](double a, double, double) { return std::exp2(a); }, 1),
          f16(
              "v_log_f16 v10, v0", [](double a, double, double) { return std::log2(a); }, 1),
          f16("v_ldexp_f16 v10, v0, -3",
              [](double a, double, double) { return std::ldexp(a, -3); }),
          f16("v_add_f16 v10, v0, v2 clamp",
              [](double a, double b, double) {
                const double sum = a + b;
                return !(sum > 0) ? 0.0 : std::min(sum, 1.0);
              }),
          // The high halves, into the high half.
          {"v_mov_b32 v10, 0x1234\nv_fma_f16 v10, v0, v2, v4 op_sel:[1,1,0,1]\n"
           "v_lshrrev_b32 v10, 16, v10",
           [](u64 a, u64 b, u64 c) {
             return u64{half_bits(std::fma(half_value(a >> 16 & 0xffff),
                                           half_value(b >> 16 & 0xffff), half_value(c & 0xffff)))};
           },
           GfxCase::kHalf},
      },
      half_inputs());
}

TEST(GfxHalf, PairsAndDotProducts) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string high = "\nv_lshrrev_b32 v10, 16, v10";
  const auto upper = [](u64 bits) { return half_value(bits >> 16 & 0xffff); };
  const auto lower = [](u64 bits) { return half_value(bits & 0xffff); };
  check_gfx_cases(
      {
          {"v_pk_add_f16 v10, v0, v2",
           [=](u64 a, u64 b, u64) { return u64{half_bits(lower(a) + lower(b))}; }, GfxCase::kHalf},
          {"v_pk_add_f16 v10, v0, v2" + high,
           [=](u64 a, u64 b, u64) { return u64{half_bits(upper(a) + upper(b))}; }, GfxCase::kHalf},
          {"v_pk_mul_f16 v10, v0, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0]",
           [=](u64 a, u64 b, u64) { return u64{half_bits(-upper(a) * lower(b))}; }, GfxCase::kHalf},
          {"v_pk_mul_f16 v10, v0, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_hi:[0,1]" + high,
           [=](u64 a, u64 b, u64) { return u64{half_bits(lower(a) * -upper(b))}; }, GfxCase::kHalf},
          {"v_pk_add_f16 v10, v0, 1.0 op_sel_hi:[1,0]" + high,
           [=](u64 a, u64, u64) { return u64{half_bits(upper(a) + 1)}; }, GfxCase::kHalf},
          // f16 and f32 mixed: the first two are f16, the third f32.
          {"v_fma_mix_f32 v10, v0, v2, v4 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
           [=](u64 a, u64 b, u64 c) {
             const auto sum = std::fma(static_cast<float>(lower(a)), static_cast<float>(upper(b)),
                                       std::bit_cast<float>(static_cast<u32>(c)));
             return u64{std::bit_cast<u32>(sum)};
           },
           GfxCase::kFloat},
          {"v_mov_b32 v10, 0x1234\nv_fma_mixhi_f16 v10, v0, v2, v0 op_sel_hi:[1,1,1]" + high,
           [=](u64 a, u64 b, u64) {
             return u64{half_bits(static_cast<float>(lower(a) * lower(b) + lower(a)))};
           },
           GfxCase::kHalf, 1},
      },
      half_inputs());
}

TEST(GfxHalf, Conversions) {
  HALYARD_NEEDS_ASSEMBLER();
  GfxInputs floats;
  std::mt19937_64 random(6);
  for (int i = 0; i < 640; ++i) {
    // Exponents near those of f16, and ties.
    const u32 exponent = 127 - 27 + static_cast<u32>(random() % 46);
    u32 fraction = static_cast<u32>(random()) & 0x7fffff;
    if (i % 3 == 0) fraction = (fraction & ~0x1fffu) | 0x1000;
    floats.push_back({(static_cast<u32>(random()) & 0x80000000u) | exponent << 23 | fraction,
                      static_cast<u32>(random()), 0});
  }
  const auto value = [](u64 bits) {
    return static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits)));
  };
  check_gfx_cases(
      {
          {"v_cvt_f16_f32 v10, v0", [=](u64 a, u64, u64) { return u64{half_bits(value(a))}; },
           GfxCase::kHalf},
          // Toward zero: never above the value, and at most one unit below.
          {"v_cvt_pk_rtz_f16_f32 v10, v0, v0\nv_and_b32 v10, 0xffff, v10",
           [=](u64 a, u64, u64) {
             u16 bits = half_bits(value(a));
             if (std::fabs(half_value(bits)) > std::fabs(value(a))) --bits;
             return u64{bits};
           },
           GfxCase::kHalf},
          {"v_cvt_f16_u16 v10, v0", [](u64 a, u64, u64) { return u64{half_bits(a & 0xffff)}; }},
          {"v_cvt_pk_norm_i16_f32 v10, v0, v0\nv_and_b32 v10, 0xffff, v10",
           [=](u64 a, u64, u64) {
             const double bounded = std::clamp(value(a), -1.0, 1.0);
             return u64{static_cast<u16>(static_cast<int>(std::nearbyint(bounded * 32767)))};
           }},
      },
      floats);
  check_gfx_cases(
      {
          {"v_cvt_f32_f16 v10, v0",
           [](u64 a, u64, u64) {
             return u64{std::bit_cast<u32>(static_cast<float>(half_value(a & 0xffff)))};
           },
           GfxCase::kFloat},
          {"v_cvt_i16_f16 v10, v0",
           [](u64 a, u64, u64) {
             const double v = half_value(a & 0xffff);
             const double bounded = v != v ? 0 : std::trunc(std::clamp(v, -32768.0, 32767.0));
             return u64{static_cast<u16>(static_cast<int>(bounded))};
           }},
      },
      half_inputs());
}

}  // namespace
}  // namespace halyard::testing
