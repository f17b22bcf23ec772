// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error bounds of halyard/kernel/math.h, measured against double precision.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernel/kernel_test_util.h"
#include "kernel/special_floats.h"

namespace halyard::testing {
namespace {

// Tests one float in kStep over all bit patterns; a prime, so that all low bits occur.
constexpr std::uint64_t kStep = 1009;

const Kernels& math(std::string_view target) {
  static constexpr std::string_view kText = R"(
HY_KERNEL(exp_of, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = hy_exp(x[HY_GLOBAL_X]); }
}
HY_KERNEL(log_of, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = hy_log(x[HY_GLOBAL_X]); }
}
HY_KERNEL(tanh_of, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = hy_tanh(x[HY_GLOBAL_X]); }
}
HY_KERNEL(rsqrt_of, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = hy_rsqrt(x[HY_GLOBAL_X]); }
}
HY_KERNEL(abs_of, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = hy_abs(x[HY_GLOBAL_X]); }
}
HY_KERNEL(floor_of, 256, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = hy_floor(x[HY_GLOBAL_X]); }
}
)";
  if (target == "x86-64") {
    static const Kernels baseline = Kernels::of_text(kText, "x86-64");
    return baseline;
  }
  static const Kernels best = Kernels::of_text(kText);
  return best;
}

std::vector<float> apply(const Kernels& kernels, std::string_view name, std::vector<float> x) {
  std::vector<float> y(x.size());
  const auto n = static_cast<std::uint32_t>(x.size());
  kernels.run(name, {(x.size() + 255) / 256, 1, 1}, {x, y}, &n);
  return y;
}

std::vector<float> sample() {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits <= 0xffff'ffffu; bits += kStep) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return x;
}

// The distance of `got` from the exact value, in units of the last place of the exact value.
double error_in_ulps(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isinf(rounded)) {
    const bool same = std::isnan(rounded) ? std::isnan(got) : got == rounded;
    return same ? 0 : std::numeric_limits<double>::infinity();
  }
  int exponent = 0;
  std::frexp(want, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - want) / ulp;
}

double worst_error(std::string_view name, double (*reference)(double)) {
  const std::vector<float> x = sample();
  const std::vector<float> y = apply(math("best"), name, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, error_in_ulps(y[i], reference(static_cast<double>(x[i]))));
  }
  return worst;
}

TEST(Math, ExpIsWithinOneUlp) {
  EXPECT_LE(worst_error("exp_of", [](double x) { return std::exp(x); }), 1.0);
}

TEST(Math, LogIsWithinOneUlp) {
  EXPECT_LE(worst_error("log_of", [](double x) { return std::log(x); }), 1.0);
}

TEST(Math, TanhIsWithinOneAndAHalfUlp) {
  EXPECT_LE(worst_error("tanh_of", [](double x) { return std::tanh(x); }), 1.5);
}

TEST(Math, RsqrtIsWithinOneAndAHalfUlp) {
  EXPECT_LE(worst_error("rsqrt_of", [](double x) { return 1.0 / std::sqrt(x); }), 1.5);
}

TEST(Math, AbsAndFloorAreExact) {
  EXPECT_EQ(worst_error("abs_of", [](double x) { return std::fabs(x); }), 0.0);
  EXPECT_EQ(worst_error("floor_of", [](double x) { return std::floor(x); }), 0.0);
}

#ifndef HALYARD_TEST_SHADERS  // which have no doubles
TEST(Math, WhatIsExactForAFloatIsForADouble) {
  const Kernels kernels = Kernels::of_text(R"(
HY_KERNEL(of_doubles, 256, 1, 1, HY_IN(double, x), HY_OUT(double, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) {
    y[4 * HY_GLOBAL_X] = hy_sqrt(x[HY_GLOBAL_X]);
    y[4 * HY_GLOBAL_X + 1] = hy_rsqrt(x[HY_GLOBAL_X]);
    y[4 * HY_GLOBAL_X + 2] = hy_abs(x[HY_GLOBAL_X]);
    y[4 * HY_GLOBAL_X + 3] = hy_floor(x[HY_GLOBAL_X]);
  }
}
)");
  std::vector<double> x = {0.1,
                           -0.1,
                           0.0,
                           -0.0,
                           1e-320,
                           1e300,
                           4503599627370495.5,
                           -1.5,
                           1e18,
                           -3.0,
                           2.0 / 3,
                           -4503599627370495.5,
                           9007199254740993.0,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()};
  std::vector<double> y(4 * x.size());
  const auto n = static_cast<std::uint32_t>(x.size());
  kernels.run("of_doubles", {1, 1, 1}, {x, y}, &n);
  const auto expect_same = [](double got, double want, double of) {
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << of;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(want)) << of;
    }
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    expect_same(y[4 * i], std::sqrt(x[i]), x[i]);
    expect_same(y[4 * i + 1], 1.0 / std::sqrt(x[i]), x[i]);
    expect_same(y[4 * i + 2], std::fabs(x[i]), x[i]);
    expect_same(y[4 * i + 3], std::floor(x[i]), x[i]);
  }
}
#endif

TEST(Math, ExpKnowsItsSpecialValues) {
  const auto y = apply(math("best"), "exp_of",
                       {0.0f, -0.0f, kInfinity, -kInfinity, kNan, 1000.0f, -1000.0f, 1.0f});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], kInfinity);
  EXPECT_EQ(y[6], 0.0f);
  EXPECT_EQ(y[7], 2.71828175f);
}

TEST(Math, LogKnowsItsSpecialValues) {
  const auto y = apply(math("best"), "log_of",
                       {0.0f, -0.0f, kInfinity, -kInfinity, kNan, -1.0f, 1.0f, 1.40129846e-45f});
  EXPECT_EQ(y[0], -kInfinity);
  EXPECT_EQ(y[1], -kInfinity);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(y[6], 0.0f);
  EXPECT_EQ(y[7], -103.278931f);
}

TEST(Math, TanhKnowsItsSpecialValues) {
  const auto y = apply(math("best"), "tanh_of",
                       {0.0f, -0.0f, kInfinity, -kInfinity, kNan, 50.0f, -50.0f, 1.40129846e-45f});
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y[0]), 0u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y[1]), 0x8000'0000u);
  EXPECT_EQ(y[2], 1.0f);
  EXPECT_EQ(y[3], -1.0f);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], 1.0f);
  EXPECT_EQ(y[6], -1.0f);
  EXPECT_EQ(y[7], 1.40129846e-45f);
}

TEST(Math, RsqrtKnowsItsSpecialValues) {
  const auto y = apply(math("best"), "rsqrt_of",
                       {0.0f, -0.0f, kInfinity, -kInfinity, kNan, -1.0f, 4.0f, 1.40129846e-45f});
  EXPECT_EQ(y[0], kInfinity);
  EXPECT_EQ(y[1], -kInfinity);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(y[6], 0.5f);
  EXPECT_EQ(y[7], 0x1.6a09e6p74f);
}

TEST(Math, AbsAndFloorKnowTheirSpecialValues) {
  const std::vector<float> x = {-0.0f,      -kInfinity,  kNan,        -0.25f,
                                8388607.5f, -8388607.5f, -8388608.0f, kInfinity};
  const auto magnitude = apply(math("best"), "abs_of", x);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(magnitude[0]), 0u);
  EXPECT_EQ(magnitude[1], kInfinity);
  EXPECT_TRUE(std::isnan(magnitude[2]));
  const auto floor = apply(math("best"), "floor_of", x);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(floor[0]), 0x8000'0000u);
  EXPECT_EQ(floor[1], -kInfinity);
  EXPECT_TRUE(std::isnan(floor[2]));
  EXPECT_EQ(floor[3], -1.0f);
  EXPECT_EQ(floor[4], 8388607.0f);
  EXPECT_EQ(floor[5], -8388608.0f);
  EXPECT_EQ(floor[6], -8388608.0f);
  EXPECT_EQ(floor[7], kInfinity);
}

TEST(Math, GivesTheSameBitsOnEveryLevel) {
  const std::vector<float> x = sample();
  for (const char* name : {"exp_of", "log_of", "tanh_of", "rsqrt_of", "abs_of", "floor_of"}) {
    const auto best = apply(math("best"), name, x);
    const auto baseline = apply(math("x86-64"), name, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(best[i]) && std::isnan(baseline[i])) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(best[i]), std::bit_cast<std::uint32_t>(baseline[i]))
          << name << "(" << x[i] << ")";
    }
  }
}

}  // namespace
}  // namespace halyard::testing
