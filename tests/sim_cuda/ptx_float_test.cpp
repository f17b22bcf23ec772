// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point instructions of PTX. Rounded results are compared bit for bit with the host's
// arithmetic in its rounding modes; approximations must be within NVIDIA's bounds.
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

using U = std::uint64_t;

constexpr std::uint32_t kNan = 0x7fffffff;

float f32(U bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
double f64(U bits) { return std::bit_cast<double>(bits); }
U bits_of(float value) { return std::isnan(value) ? kNan : std::bit_cast<std::uint32_t>(value); }
U bits_of(double value) { return std::bit_cast<U>(value); }

LaneInputs float_inputs() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               -1.0f,
                               0.5f,
                               1.5f,
                               2.5f,
                               -2.5f,
                               3.0e38f,
                               -3.0e38f,
                               1.0e-38f,
                               1.0e-40f,
                               -1.0e-45f,
                               65504.0f,
                               65519.0f,
                               65520.0f,
                               6.0e-8f,
                               2147483648.0f,
                               -2147483904.0f,
                               4294967296.0f,
                               1.0e20f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN()};
  std::mt19937 engine(2);
  for (int i = 0; i < 30; ++i) {
    values.push_back(std::ldexp(static_cast<float>(static_cast<std::int32_t>(engine())),
                                static_cast<int>(engine() % 80) - 70));
  }
  LaneInputs inputs;
  for (const float a : values) {
    for (const float b : values) {
      inputs.push_back({std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b),
                        std::bit_cast<std::uint32_t>(values[inputs.size() * 7 % values.size()])});
    }
  }
  return inputs;
}

LaneInputs double_inputs() {
  LaneInputs inputs = float_inputs();
  std::mt19937_64 engine(3);
  for (auto& [a, b, c] : inputs) {
    a = bits_of(double{f32(a)} * (1 + static_cast<double>(engine() % 1000) * 0x1p-50));
    b = bits_of(double{f32(b)});
    c = bits_of(double{f32(c)});
    if (std::isnan(f64(a)) || std::isnan(f64(b)) || std::isnan(f64(c))) a = b = c = bits_of(2.0);
  }
  return inputs;
}

// f(...) in a rounding mode of the host.
template <class T, class F>
T rounded(int mode, F f) {
  std::fesetround(mode);
  volatile T result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}

struct Mode {
  const char* name;
  int host;
};
constexpr Mode kModes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

TEST(PtxFloat, RoundsInEveryMode) {
  for (const auto& [name, host] : kModes) {
    const std::string mode(name);
    const auto check = [&](const std::string& opcode, const std::string& sources, auto f) {
      expect_lanes(
          opcode + "." + mode + ".f32 %f9, " + sources + "; mov.b32 %x, %f9;",
          [&](U a, U b, U c) {
            volatile float x = f32(a), y = f32(b), z = f32(c);
            return bits_of(rounded<float>(host, [&] { return f(x, y, z); }));
          },
          float_inputs());
      const std::string wide = std::string(sources).replace(0, sources.size(), [&] {
        std::string text = sources;
        for (char& each : text) each = each == 'f' ? 'd' : each;
        return text;
      }());
      expect_lanes(
          opcode + "." + mode + ".f64 %d9, " + wide + "; mov.b64 %y, %d9;",
          [&](U a, U b, U c) {
            volatile double x = f64(a), y = f64(b), z = f64(c);
            const double value = rounded<double>(host, [&] { return f(x, y, z); });
            return bits_of(value);
          },
          [&] {
            LaneInputs inputs = double_inputs();
            // The sign of a NaN result differs between hosts.
            std::erase_if(inputs, [&](const auto& each) {
              return std::isnan(f(f64(each[0]), f64(each[1]), f64(each[2])));
            });
            return inputs;
          }());
    };
    check("add", "%f0, %f1", [](auto a, auto b, auto) { return a + b; });
    check("sub", "%f0, %f1", [](auto a, auto b, auto) { return a - b; });
    check("mul", "%f0, %f1", [](auto a, auto b, auto) { return a * b; });
    check("div", "%f0, %f1", [](auto a, auto b, auto) { return a / b; });
    check("fma", "%f0, %f1, %f2", [](auto a, auto b, auto c) { return std::fma(a, b, c); });
    check("sqrt", "%f0", [](auto a, auto, auto) { return std::sqrt(a); });
    check("rcp", "%f0", [](auto a, auto, auto) { return 1 / a; });
  }
}

TEST(PtxFloat, FlushesAndSaturates) {
  const auto flush = [](float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
  };
  expect_lanes(
      "mul.ftz.f32 %f9, %f0, %f1; mov.b32 %x, %f9;",
      [&](U a, U b, U) { return bits_of(flush(flush(f32(a)) * flush(f32(b)))); }, float_inputs());
  expect_lanes(
      "add.sat.f32 %f9, %f0, %f1; mov.b32 %x, %f9;",
      [&](U a, U b, U) {
        const float sum = f32(a) + f32(b);
        return bits_of(sum > 0 ? std::fmin(sum, 1.0f) : 0.0f);
      },
      float_inputs());
}

TEST(PtxFloat, ExtremaPreferNumbersAndOrderZeros) {
  const auto least = [](float a, float b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  };
  expect_lanes(
      "min.f32 %f9, %f0, %f1; mov.b32 %x, %f9;",
      [&](U a, U b, U) { return bits_of(least(f32(a), f32(b))); }, float_inputs());
  expect_lanes(
      "max.NaN.f32 %f9, %f0, %f1; mov.b32 %x, %f9;",
      [&](U a, U b, U) {
        if (std::isnan(f32(a)) || std::isnan(f32(b))) return U{kNan};
        return bits_of(-least(-f32(a), -f32(b)));
      },
      float_inputs());
  expect_lanes(
      "abs.f32 %f9, %f0; neg.f32 %f9, %f9; mov.b32 %x, %f9;",
      [](U a, U, U) { return (a & 0xffffffff) | 0x80000000; }, float_inputs());
  expect_lanes(
      "copysign.f32 %f9, %f0, %f1; mov.b32 %x, %f9;",
      [](U a, U b, U) { return (a & 0x80000000) | (b & 0x7fffffff); }, float_inputs());
}

TEST(PtxFloat, ComparesWithNaN) {
  struct Case {
    const char* name;
    bool (*compare)(float, float);
  };
  constexpr Case kCases[] = {
      {"eq", [](float a, float b) { return a == b; }},
      {"ne", [](float a, float b) { return a < b || a > b; }},
      {"ltu", [](float a, float b) { return !(a >= b); }},
      {"geu", [](float a, float b) { return !(a < b); }},
      {"neu", [](float a, float b) { return a != b; }},
      {"num", [](float a, float b) { return !std::isnan(a) && !std::isnan(b); }},
      {"nan", [](float a, float b) { return std::isnan(a) || std::isnan(b); }}};
  for (const auto& [name, compare] : kCases) {
    expect_lanes(
        std::string("setp.") + name + ".f32 %p0, %f0, %f1; selp.u32 %x, 1, 0, %p0;",
        [&](U a, U b, U) -> U { return compare(f32(a), f32(b)) ? 1 : 0; }, float_inputs());
  }
  expect_lanes(
      "testp.subnormal.f32 %p0, %f0; selp.u32 %x, 1, 0, %p0;",
      [](U a, U, U) -> U { return std::fpclassify(f32(a)) == FP_SUBNORMAL ? 1 : 0; },
      float_inputs());
}

TEST(PtxFloat, ApproximationsKeepTheirBounds) {
  struct Case {
    const char* opcode;
    double (*reference)(double);
    double relative, absolute;
  };
  // PTX ISA: ex2 2^-22.5 relative, lg2 2^-22.6 absolute, sin and cos 2^-20.5 absolute in
  // [-pi, pi], rsqrt 2^-22.9, rcp 1 ulp, tanh 2^-11.
  constexpr Case kCases[] = {
      {"ex2.approx.f32", [](double a) { return std::exp2(a); }, 0x1p-22, 0x1p-148},
      {"lg2.approx.f32", [](double a) { return std::log2(a); }, 0x1p-22, 0x1p-22},
      {"sin.approx.f32", [](double a) { return std::sin(a); }, 0, 0x1p-20},
      {"cos.approx.f32", [](double a) { return std::cos(a); }, 0, 0x1p-20},
      {"rsqrt.approx.f32", [](double a) { return 1 / std::sqrt(a); }, 0x1p-22, 0},
      {"rcp.approx.f32", [](double a) { return 1 / a; }, 0x1p-23, 0},
      {"sqrt.approx.f32", [](double a) { return std::sqrt(a); }, 0x1p-22, 0},
      {"tanh.approx.f32", [](double a) { return std::tanh(a); }, 0x1p-11, 0}};
  LaneInputs inputs;
  for (int i = 1; i < 500; ++i) inputs.push_back({bits_of(static_cast<float>(i) * 0.00625f), 0, 0});
  for (const auto& [opcode, reference, relative, absolute] : kCases) {
    const auto results = run_lanes(std::string(opcode) + " %f9, %f0; mov.b32 %x, %f9;", inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double want = reference(f32(inputs[i][0]));
      ASSERT_NEAR(f32(results[i]), want, relative * std::fabs(want) + absolute)
          << opcode << " of " << f32(inputs[i][0]);
    }
  }
}

TEST(PtxFloat, ConvertsToIntegers) {
  struct Case {
    const char* mode;
    float (*round)(float);
  };
  constexpr Case kCases[] = {{"rni", [](float a) { return std::nearbyint(a); }},
                             {"rzi", [](float a) { return std::trunc(a); }},
                             {"rmi", [](float a) { return std::floor(a); }},
                             {"rpi", [](float a) { return std::ceil(a); }}};
  for (const auto& [mode, round] : kCases) {
    const std::string name(mode);
    expect_lanes(
        "cvt." + name + ".s32.f32 %x, %f0;",
        [&](U a, U, U) -> U {
          const float value = round(f32(a));
          if (std::isnan(value)) return 0;
          if (value >= 0x1p31f) return INT32_MAX;
          if (value <= -0x1p31f) return 0x80000000;
          return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
        },
        float_inputs());
    expect_lanes(
        "cvt." + name + ".u64.f32 %y, %f0;",
        [&](U a, U, U) -> U {
          const float value = round(f32(a));
          if (std::isnan(value)) return U{1} << 63;
          if (value >= 0x1p64f) return UINT64_MAX;
          return value <= 0 ? 0 : static_cast<U>(value);
        },
        float_inputs());
    expect_lanes(
        "cvt." + name + ".f32.f32 %f9, %f0; mov.b32 %x, %f9;",
        [&](U a, U, U) { return bits_of(round(f32(a))); }, float_inputs());
  }
  for (const auto& [mode, host] : kModes) {
    expect_lanes(std::string("cvt.") + mode + ".f32.s64 %f9, %l0; mov.b32 %x, %f9;",
                 [&](U a, U, U) {
                   volatile std::int64_t value = static_cast<std::int64_t>(a);
                   return bits_of(rounded<float>(host, [&] { return static_cast<float>(value); }));
                 });
    expect_lanes(
        std::string("cvt.") + mode + ".f32.f64 %f9, %d0; mov.b32 %x, %f9;",
        [&](U a, U, U) {
          volatile double value = f64(a);
          return bits_of(rounded<float>(host, [&] { return static_cast<float>(value); }));
        },
        double_inputs());
  }
}

// The definition of rounding to half: the nearest of all finite halves, ties to even.
double half_value(std::uint32_t half) {
  const std::uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  const double magnitude = exponent == 0
                               ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}
U nearest_half(double value) {
  if (std::isnan(value)) return 0x7fff;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::fabs(value) >= 65520) return sign | 0x7c00;
  std::uint32_t low = 0, high = 0x7bff;
  while (low < high) {  // the largest half that is not above the magnitude
    const std::uint32_t middle = (low + high + 1) / 2;
    if (half_value(middle) <= std::fabs(value)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const double below = std::fabs(value) - half_value(low);
  const double above = (low == 0x7bff ? 65536 : half_value(low + 1)) - std::fabs(value);
  const bool up = above < below || (above == below && (low & 1) != 0);
  return sign | (low + (up ? 1 : 0));
}

TEST(PtxFloat, HalvesRoundOnce) {
  expect_lanes(
      "cvt.rn.f16.f32 %z, %f0;", [](U a, U, U) { return nearest_half(f32(a)); }, float_inputs());
  LaneInputs halves;
  std::mt19937 engine(5);
  for (int i = 0; i < 3000; ++i) {
    const auto finite = [&] {
      const std::uint32_t half = engine() & 0xffff;
      return U{(half & 0x7c00) == 0x7c00 ? half & 0x83ff : half};
    };
    halves.push_back({finite(), finite(), finite()});
  }
  const auto value = [](U half) { return half_value(static_cast<std::uint32_t>(half & 0xffff)); };
  const auto same_zero = [](U got) { return got; };
  static_cast<void>(same_zero);
  expect_lanes(
      "add.f16 %z, %h0, %h1;", [&](U a, U b, U) { return nearest_half(value(a) + value(b)); },
      halves);
  expect_lanes(
      "mul.f16 %z, %h0, %h1;", [&](U a, U b, U) { return nearest_half(value(a) * value(b)); },
      halves);
  // The exact sum needs up to 79 bits: long double has 64, enough for these inputs' ties.
  expect_lanes(
      "fma.rn.f16 %z, %h0, %h1, %h2;",
      [&](U a, U b, U c) {
        const double product = value(a) * value(b), sum = product + value(c);
        const double part = sum - product;
        const double error = (product - (sum - part)) + (value(c) - part);
        // The error decides only at a tie.
        const U nearest = nearest_half(sum);
        const U nudged = nearest_half(std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL));
        return error == 0 ? nearest : nudged;
      },
      halves);
  expect_lanes(
      "mov.b32 %r0, {%h0, %h1}; mov.b32 %r1, {%h1, %h2}; add.rn.f16x2 %x, %r0, %r1;",
      [&](U a, U b, U c) {
        return nearest_half(value(a) + value(b)) | nearest_half(value(b) + value(c)) << 16;
      },
      halves);
  expect_lanes(
      "setp.lt.f16 %p0, %h0, %h1; selp.u32 %x, 1, 0, %p0;",
      [&](U a, U b, U) -> U { return value(a) < value(b) ? 1 : 0; }, halves);
}

TEST(PtxFloat, BfloatsKeepTheUpperBits) {
  const auto nearest = [](float value) -> U {
    if (std::isnan(value)) return 0x7fff;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  expect_lanes(
      "cvt.rn.bf16.f32 %z, %f0;", [&](U a, U, U) { return nearest(f32(a)); }, float_inputs());
  expect_lanes(
      "cvt.rn.bf16x2.f32 %x, %f0, %f1;",
      [&](U a, U b, U) { return nearest(f32(a)) << 16 | nearest(f32(b)); }, float_inputs());
  expect_lanes(
      "fma.rn.bf16 %z, %h0, %h1, %h2;",
      [&](U a, U b, U c) {
        const auto value = [](U bits) {
          return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)));
        };
        return nearest(static_cast<float>(value(a) * value(b) + value(c)));
      },
      {{0x3f80, 0x4000, 0x4040}, {0x4049, 0x4049, 0xbf80}, {0x3eaa, 0x4120, 0x42c8}});
  expect_lanes("cvt.rna.tf32.f32 %x, %f0;",
               [](U a, U, U) -> U { return ((static_cast<std::uint32_t>(a) + 0x1000) & ~0x1fffu); },
               {{0x3f801000, 0, 0}, {0x3f800fff, 0, 0}, {0xbf803000, 0, 0}});
}

}  // namespace
}  // namespace halyard::testing
