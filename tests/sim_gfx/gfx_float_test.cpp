// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point operations of lanes. Expectations are the formulas of AMD's "RDNA3 Instruction Set
// Architecture", chapter 16, computed by the host; if hardware results are public, they are those
// of tinygrad's test/amd/hw, from a Radeon.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "sim_gfx/gfx_assembler.h"

namespace halyard::testing {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;

float as_float(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
double as_double(u64 bits) { return std::bit_cast<double>(bits); }
u64 bits_of(float value) { return std::bit_cast<u32>(value); }
u64 bits_of(double value) { return std::bit_cast<u64>(value); }

// Zeros, denormals, ends of ranges, infinities, NaNs, and numbers of all exponents.
template <class T>
GfxInputs float_inputs(int count = 400) {
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
  using Limits = std::numeric_limits<T>;
  std::vector<Bits> special;
  for (const T value :
       {T{0}, T{1}, T{0.5}, T{2}, T{3}, T{1.5}, T{2.5}, Limits::min(), Limits::max(),
        Limits::denorm_min(), Limits::infinity(), Limits::quiet_NaN(), Limits::epsilon(), T{65504},
        T{1e-7}, Limits::min() / 2}) {
    special.push_back(std::bit_cast<Bits>(value));
    special.push_back(std::bit_cast<Bits>(-value));
  }
  // A signaling NaN.
  special.push_back(std::bit_cast<Bits>(Limits::infinity()) | 1);
  GfxInputs inputs;
  std::mt19937_64 random(2);
  for (const Bits a : special) {
    for (const Bits b : special) inputs.push_back({a, b, special[random() % special.size()]});
  }
  for (int i = 0; i < count; ++i) {
    inputs.push_back(
        {static_cast<Bits>(random()), static_cast<Bits>(random()), static_cast<Bits>(random())});
  }
  return inputs;
}

GfxCase f32(std::string body, std::function<float(float, float, float)> f, unsigned ulps = 0) {
  return {std::move(body),
          [f](u64 a, u64 b, u64 c) { return bits_of(f(as_float(a), as_float(b), as_float(c))); },
          GfxCase::kFloat, ulps};
}
GfxCase f64(std::string body, std::function<double(double, double, double)> f) {
  return {std::move(body),
          [f](u64 a, u64 b, u64 c) { return bits_of(f(as_double(a), as_double(b), as_double(c))); },
          GfxCase::kDouble};
}

TEST(GfxFloat, Arithmetic) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          f32("v_add_f32 v10, v0, v2", [](float a, float b, float) { return a + b; }),
          f32("v_sub_f32 v10, v0, v2", [](float a, float b, float) { return a - b; }),
          f32("v_subrev_f32 v10, v0, v2", [](float a, float b, float) { return b - a; }),
          f32("v_mul_f32 v10, v0, v2", [](float a, float b, float) { return a * b; }),
          f32("v_fma_f32 v10, v0, v2, v4",
              [](float a, float b, float c) { return std::fma(a, b, c); }),
          f32("v_mov_b32 v10, v4\nv_fmac_f32 v10, v0, v2",
              [](float a, float b, float c) { return std::fma(a, b, c); }),
          f32("v_fmaak_f32 v10, v0, v2, 0x40490fdb",
              [](float a, float b, float) { return std::fma(a, b, 0x1.921fb6p+1f); }),
          f32("v_fmamk_f32 v10, v0, 0x40490fdb, v2",
              [](float a, float b, float) { return std::fma(a, 0x1.921fb6p+1f, b); }),
          f32("v_mul_dx9_zero_f32 v10, v0, v2",
              [](float a, float b, float) { return a == 0 || b == 0 ? 0.0f : a * b; }),
          // Modifiers: absolute before negative.
          f32("v_add_f32 v10, -|v0|, v2",
              [](float a, float b, float) { return -std::fabs(a) + b; }),
          f32("v_fma_f32 v10, -v0, |v2|, -v4",
              [](float a, float b, float c) { return std::fma(-a, std::fabs(b), -c); }),
          // DX10_CLAMP: a NaN becomes 0.
          f32("v_add_f32 v10, v0, v2 clamp",
              [](float a, float b, float) {
                const float sum = a + b;
                return !(sum > 0) ? 0.0f : sum > 1 ? 1.0f : sum;
              }),
          // Ignored in IEEE mode (tinygrad, test_omod_ignored).
          f32("v_add_f32 v10, v0, v2 mul:2", [](float a, float b, float) { return a + b; }),
          f32("v_trunc_f32 v10, v0", [](float a, float, float) { return std::trunc(a); }),
          f32("v_floor_f32 v10, v0", [](float a, float, float) { return std::floor(a); }),
          f32("v_ceil_f32 v10, v0", [](float a, float, float) { return std::ceil(a); }),
          f32("v_rndne_f32 v10, v0", [](float a, float, float) { return std::nearbyint(a); }),
          f32("v_fract_f32 v10, v0",
              [](float a, float, float) {
                return std::isfinite(a) ? std::fmin(a - std::floor(a), 0x1.fffffep-1f)
                                        : std::numeric_limits<float>::quiet_NaN();
              }),
          f32("v_ldexp_f32 v10, v0, 13", [](float a, float, float) { return std::ldexp(a, 13); }),
          f32("v_ldexp_f32 v10, v0, -20", [](float a, float, float) { return std::ldexp(a, -20); }),
          f32("v_frexp_mant_f32 v10, v0",
              [](float a, float, float) {
                int exponent = 0;
                return std::isfinite(a) ? std::frexp(a, &exponent) : a;
              }),
          {"v_frexp_exp_i32_f32 v10, v0",
           [](u64 a, u64, u64) {
             int exponent = 0;
             std::frexp(as_float(a), &exponent);
             return u64{static_cast<u32>(std::isfinite(as_float(a)) ? exponent : 0)};
           }},
      },
      float_inputs<float>());
}

TEST(GfxFloat, ArithmeticOfDoubles) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          f64("v_add_f64 v[10:11], v[0:1], v[2:3]",
              [](double a, double b, double) { return a + b; }),
          f64("v_mul_f64 v[10:11], v[0:1], -v[2:3]",
              [](double a, double b, double) { return a * -b; }),
          f64("v_fma_f64 v[10:11], v[0:1], v[2:3], |v[4:5]|",
              [](double a, double b, double c) { return std::fma(a, b, std::fabs(c)); }),
          f64("v_floor_f64 v[10:11], v[0:1]",
              [](double a, double, double) { return std::floor(a); }),
          f64("v_rndne_f64 v[10:11], v[0:1]",
              [](double a, double, double) { return std::nearbyint(a); }),
          f64("v_sqrt_f64 v[10:11], |v[0:1]|",
              [](double a, double, double) { return std::sqrt(std::fabs(a)); }),
          f64("v_rcp_f64 v[10:11], v[0:1]", [](double a, double, double) { return 1 / a; }),
          f64("v_ldexp_f64 v[10:11], v[0:1], -3",
              [](double a, double, double) { return std::ldexp(a, -3); }),
          // An inline constant and a literal, whose 32 bits are on top.
          f64("v_add_f64 v[10:11], v[0:1], 2.0", [](double a, double, double) { return a + 2; }),
          f64("v_add_f64 v[10:11], v[0:1], 0x40590000",
              [](double a, double, double) { return a + 100; }),
      },
      float_inputs<double>());
}

// In IEEE mode, a signaling NaN yields that NaN, quieted; a quiet NaN and a number yield the
// number.
template <class T>
T least(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
  constexpr Bits kQuiet = Bits{1} << (std::numeric_limits<T>::digits - 2);
  const auto signaling = [](T x) { return x != x && (std::bit_cast<Bits>(x) & kQuiet) == 0; };
  if (signaling(a) || signaling(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T most(T a, T b) {
  return -least(-a, -b);
}

TEST(GfxFloat, MinimumAndMaximum) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases(
      {
          f32("v_min_f32 v10, v0, v2", [](float a, float b, float) { return least(a, b); }),
          f32("v_max_f32 v10, v0, v2", [](float a, float b, float) { return most(a, b); }),
          f32("v_min3_f32 v10, v0, v2, v4",
              [](float a, float b, float c) { return least(least(a, b), c); }),
          f32("v_maxmin_f32 v10, v0, v2, v4",
              [](float a, float b, float c) { return least(most(a, b), c); }),
          f32("v_minmax_f32 v10, v0, v2, v4",
              [](float a, float b, float c) { return most(least(a, b), c); }),
      },
      float_inputs<float>());
  check_gfx_cases(
      {
          f64("v_min_f64 v[10:11], v[0:1], v[2:3]",
              [](double a, double b, double) { return least(a, b); }),
          f64("v_max_f64 v[10:11], v[0:1], v[2:3]",
              [](double a, double b, double) { return most(a, b); }),
      },
      float_inputs<double>());
}

// LLVM's sequence for a division, which is correctly rounded if all its instructions are correct.
TEST(GfxFloat, DivisionByItsSequenceIsRoundedCorrectly) {
  HALYARD_NEEDS_ASSEMBLER();
  check_gfx_cases({f32(R"(v_div_scale_f32 v12, null, v2, v2, v0
v_rcp_f32 v13, v12
v_div_scale_f32 v14, vcc_lo, v0, v2, v0
v_fma_f32 v15, -v12, v13, 1.0
v_fmac_f32 v13, v15, v13
v_mul_f32 v15, v14, v13
v_fma_f32 v16, -v12, v15, v14
v_fmac_f32 v15, v16, v13
v_fma_f32 v12, -v12, v15, v14
v_div_fmas_f32 v12, v12, v13, v15
v_div_fixup_f32 v10, v12, v2, v0)",
                       [](float a, float b, float) { return a / b; })},
                  float_inputs<float>(6000));
  check_gfx_cases({f64(R"(v_div_scale_f64 v[12:13], null, v[2:3], v[2:3], v[0:1]
v_rcp_f64 v[14:15], v[12:13]
v_fma_f64 v[16:17], -v[12:13], v[14:15], 1.0
v_fma_f64 v[14:15], v[14:15], v[16:17], v[14:15]
v_fma_f64 v[16:17], -v[12:13], v[14:15], 1.0
v_fma_f64 v[14:15], v[14:15], v[16:17], v[14:15]
v_div_scale_f64 v[16:17], vcc_lo, v[0:1], v[2:3], v[0:1]
v_mul_f64 v[18:19], v[16:17], v[14:15]
v_fma_f64 v[12:13], -v[12:13], v[18:19], v[16:17]
v_div_fmas_f64 v[12:13], v[12:13], v[14:15], v[18:19]
v_div_fixup_f64 v[10:11], v[12:13], v[2:3], v[0:1])",
                       [](double a, double b, double) { return a / b; })},
                  float_inputs<double>(6000));
}

// tinygrad, test/amd/hw/test_vop3.py, TestDivScale: f32 denormals are flushed there.
TEST(GfxFloat, DivisionsScaleAsOnHardware) {
  HALYARD_NEEDS_ASSEMBLER();
  const std::string flush = ".amdhsa_float_denorm_mode_32 0\n";
  struct Fact {
    u32 numerator, denominator, s0;
    bool mask;
    u32 result;  // a NaN: any
  };
  const Fact facts[] = {
      {0x3f800000, 0x40800000, 0x3f800000, false, 0x3f800000},
      {0x3f800000, 0, 0x3f800000, true, 0x7fc00000},           // zero denominator
      {0, 0x3f800000, 0, true, 0x7fc00000},                    // zero numerator
      {0x7f7fffff, 0x3f800000, 0x3f800000, true, 0x5f800000},  // the denominator by 2^64
      {0x3f800000, 1, 1, true, 0x7fc00000},                    // a denormal denominator
      {0x00800000, 0x3f800000, 0x00800000, true, 0x20800000},  // a tiny numerator by 2^64
      {0x3f800000, 0x7f000000, 0x3f800000, true, 0x3f800000},  // a denormal result
  };
  for (const Fact& fact : facts) {
    GfxCase value{"v_div_scale_f32 v10, vcc_lo, v4, v2, v0",
                  [&](u64, u64, u64) { return u64{fact.result}; }, GfxCase::kFloat};
    GfxCase mask{"v_div_scale_f32 v12, vcc_lo, v4, v2, v0\nv_cndmask_b32 v10, 0, 1, vcc_lo",
                 [&](u64, u64, u64) { return u64{fact.mask}; }};
    check_gfx_cases({value, mask}, {{fact.numerator, fact.denominator, fact.s0}}, flush);
  }
}

TEST(GfxFloat, DenormalsAreFlushedAsTheModeSays) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto flushed = [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? a * 0 : a; };
  check_gfx_cases({f32("v_add_f32 v10, v0, v2",
                       [=](float a, float b, float) { return flushed(flushed(a) + flushed(b)); }),
                   f32("v_mul_f32 v10, v0, v2",
                       [=](float a, float b, float) { return flushed(flushed(a) * flushed(b)); }),
                   // s_denorm_mode keeps them again.
                   f32("s_denorm_mode 15\nv_add_f32 v10, v0, v2",
                       [](float a, float b, float) { return a + b; }),
                   // Moves are not arithmetic.
                   {"v_mov_b32 v10, v0", [](u64 a, u64, u64) { return a & 0xffffffff; }}},
                  float_inputs<float>(), ".amdhsa_float_denorm_mode_32 0\n");
}

// Hardware is accurate to 1 ulp; v_rcp_f32, v_sqrt_f32, v_exp_f32 and v_log_f32 treat denormals as
// 0.
TEST(GfxFloat, Transcendentals) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto flushed = [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? a * 0 : a; };
  const auto each = [=](double (*f)(double)) {
    return [=](float a, float, float) {
      return flushed(static_cast<float>(f(static_cast<double>(flushed(a)))));
    };
  };
  check_gfx_cases({f32("v_rcp_f32 v10, v0", each([](double a) { return 1 / a; }), 1),
                   f32("v_rsq_f32 v10, v0", each([](double a) { return 1 / std::sqrt(a); }), 1),
                   f32("v_sqrt_f32 v10, v0", each([](double a) { return std::sqrt(a); }), 1),
                   f32("v_exp_f32 v10, v0", each([](double a) { return std::exp2(a); }), 1),
                   f32("v_log_f32 v10, v0", each([](double a) { return std::log2(a); }), 1)},
                  float_inputs<float>());
  // Sines of turns.
  GfxInputs turns;
  for (int i = -320; i < 320; ++i) turns.push_back({bits_of(static_cast<float>(i) / 64), 0, 0});
  const auto near = [](const char* body) {
    return GfxCase{std::string(body) +
                       "\nv_sub_f32 v12, v10, v2\nv_cmp_lt_f32 vcc_lo, |v12|, v4\n"
                       "v_cndmask_b32 v10, 0, 1, vcc_lo",
                   [](u64, u64, u64) { return u64{1}; }};
  };
  for (auto& [a, b, c] : turns) {
    b = bits_of(static_cast<float>(std::sin(2 * std::numbers::pi * as_float(a))));
    c = bits_of(1e-6f);
  }
  check_gfx_cases({near("v_sin_f32 v10, v0")}, turns);
  for (auto& [a, b, c] : turns) {
    b = bits_of(static_cast<float>(std::cos(2 * std::numbers::pi * as_float(a))));
    c = bits_of(1e-6f);
  }
  check_gfx_cases({near("v_cos_f32 v10, v0")}, turns);
}

TEST(GfxFloat, Comparisons) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto compare = [](std::string name, std::function<bool(float, float)> f) {
    return GfxCase{"v_cmp_" + name + "_f32 vcc_lo, v0, v2\nv_cndmask_b32 v10, 0, 1, vcc_lo",
                   [f](u64 a, u64 b, u64) { return u64{f(as_float(a), as_float(b))}; }};
  };
  check_gfx_cases(
      {
          compare("lt", [](float a, float b) { return a < b; }),
          compare("eq", [](float a, float b) { return a == b; }),
          compare("le", [](float a, float b) { return a <= b; }),
          compare("gt", [](float a, float b) { return a > b; }),
          compare("lg", [](float a, float b) { return a < b || a > b; }),
          compare("ge", [](float a, float b) { return a >= b; }),
          compare("o", [](float a, float b) { return a == a && b == b; }),
          compare("u", [](float a, float b) { return a != a || b != b; }),
          compare("nge", [](float a, float b) { return !(a >= b); }),
          compare("nlg", [](float a, float b) { return !(a < b || a > b); }),
          compare("ngt", [](float a, float b) { return !(a > b); }),
          compare("nle", [](float a, float b) { return !(a <= b); }),
          compare("neq", [](float a, float b) { return a != b; }),
          compare("nlt", [](float a, float b) { return !(a < b); }),
          // Infinities and NaNs; positive normal numbers.
          {"v_cmp_class_f32 vcc_lo, v0, 0x207\nv_cndmask_b32 v10, 0, 1, vcc_lo",
           [](u64 a, u64, u64) { return u64{!std::isfinite(as_float(a))}; }},
          {"v_cmp_class_f32 vcc_lo, v0, 0x100\nv_cndmask_b32 v10, 0, 1, vcc_lo",
           [](u64 a, u64, u64) {
             return u64{std::isnormal(as_float(a)) && !std::signbit(as_float(a))};
           }},
      },
      float_inputs<float>());
}

TEST(GfxFloat, Conversions) {
  HALYARD_NEEDS_ASSEMBLER();
  const auto saturated = [](double value, double low, double high) {
    return value != value ? 0.0 : std::trunc(std::clamp(value, low, high));
  };
  check_gfx_cases(
      {
          {"v_cvt_i32_f32 v10, v0",
           [=](u64 a, u64, u64) {
             return u64{
                 static_cast<u32>(static_cast<i32>(saturated(as_float(a), INT32_MIN, INT32_MAX)))};
           }},
          {"v_cvt_u32_f32 v10, v0",
           [=](u64 a, u64, u64) {
             return u64{static_cast<u32>(saturated(as_float(a), 0, UINT32_MAX))};
           }},
          {"v_cvt_floor_i32_f32 v10, v0",
           [=](u64 a, u64, u64) {
             return u64{static_cast<u32>(
                 static_cast<i32>(saturated(std::floor(as_float(a)), INT32_MIN, INT32_MAX)))};
           }},
          {"v_cvt_f32_i32 v10, v0",
           [](u64 a, u64, u64) {
             return bits_of(static_cast<float>(static_cast<i32>(static_cast<u32>(a))));
           }},
          {"v_cvt_f32_u32 v10, v0",
           [](u64 a, u64, u64) { return bits_of(static_cast<float>(static_cast<u32>(a))); }},
          {"v_cvt_f32_ubyte2 v10, v0",
           [](u64 a, u64, u64) { return bits_of(static_cast<float>(a >> 16 & 0xff)); }},
          {"v_cvt_f64_u32 v[10:11], v0",
           [](u64 a, u64, u64) { return bits_of(static_cast<double>(static_cast<u32>(a))); }},
          {"v_cvt_f64_f32 v[10:11], v0",
           [](u64 a, u64, u64) { return bits_of(static_cast<double>(as_float(a))); },
           GfxCase::kDouble},
          {"v_cvt_off_f32_i4 v10, v0",
           [](u64 a, u64, u64) {
             const int value = static_cast<int>(a & 15);
             return bits_of(static_cast<float>(value < 8 ? value : value - 16) / 16);
           }},
      },
      float_inputs<float>());
  check_gfx_cases(
      {{"v_cvt_f32_f64 v10, v[0:1]",
        [](u64 a, u64, u64) { return bits_of(static_cast<float>(as_double(a))); }, GfxCase::kFloat},
       {"v_cvt_i32_f64 v10, v[0:1]",
        [=](u64 a, u64, u64) {
          return u64{
              static_cast<u32>(static_cast<i32>(saturated(as_double(a), INT32_MIN, INT32_MAX)))};
        }}},
      float_inputs<double>());
}

}  // namespace
}  // namespace halyard::testing
