// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers of half and of integers of 8 and 16 bits: the same kernels on this CPU, a Vulkan device
// and the simulated library of CUDA, over all values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/half_values.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

constexpr std::string_view kSource = R"(
#define OF(T, N, WIDE)                                                                          \
  HY_KERNEL(load_##N, 64, 1, 1, HY_IN(T, x), HY_OUT(WIDE, y), HY_SCALAR(uint, n)) {             \
    HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = x[HY_GLOBAL_X]; }                                      \
  }                                                                                             \
  HY_KERNEL(store_##N, 64, 1, 1, HY_IN(WIDE, x), HY_OUT(T, y), HY_SCALAR(uint, n)) {            \
    HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = x[HY_GLOBAL_X]; }                                      \
  }                                                                                             \
  HY_FN WIDE next_##N(WIDE v) {                                                                 \
    T kept = v;                                                                                 \
    ++kept;                                                                                     \
    return kept;                                                                                \
  }                                                                                             \
  HY_KERNEL(change_##N, 64, 1, 1, HY_INOUT(T, y), HY_IN(WIDE, x), HY_OUT(WIDE, was),            \
            HY_SCALAR(uint, n)) {                                                               \
    HY_ITEMS_BELOW(n) {                                                                         \
      y[HY_GLOBAL_X] += x[HY_GLOBAL_X];                                                         \
      T local = y[HY_GLOBAL_X];                                                                 \
      local *= 3;                                                                               \
      WIDE stored = y[HY_GLOBAL_X] = local - x[HY_GLOBAL_X];                                    \
      y[HY_GLOBAL_X]--;                                                                         \
      was[HY_GLOBAL_X] = stored + next_##N(*(y + HY_GLOBAL_X));                                 \
    }                                                                                           \
  }                                                                                             \
  HY_KERNEL(tile_##N, 64, 1, 1, HY_IN_TENSOR2(T, x), HY_OUT_TILE2(T, y, 4, 8),                  \
            HY_SAME_SHAPE(x, y)) {                                                              \
    HY_TILE_ITEMS2(y, i, j) {                                                                   \
      HY_Y2(y, i, j) = 2 * HY_AT2(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j);                 \
    }                                                                                           \
  }
OF(char, int8, int)
OF(uchar, uint8, uint)
OF(short, int16, int)
OF(ushort, uint16, uint)
OF(half, float16, float)

// Stores values of types that are not wider than the element, and constants.
HY_KERNEL(between, 64, 1, 1, HY_IN(char, a), HY_IN(half, b), HY_OUT(ushort, c), HY_OUT(half, d),
          HY_OUT(uchar, e), HY_OUT(half, f)) {
  HY_ITEMS {
    c[HY_X] = a[HY_X];
    d[HY_X] = a[HY_X];
    e[HY_X] = b[HY_X] < 0.0f;
    const uchar table[3] = {200, 100, 3};
    f[HY_X] = HY_X == 0 ? table[0] : HY_X == 1 ? 0.1f : b[HY_X] ? 0.2f : 2;
    if (HY_X == 2) f[HY_X] = -0.5;
  }
}
)";

const Kernels& element_kernels() {
  static const Kernels all = Kernels::of_text(kSource);
  return all;
}

template <class T, class W>
struct Of {
  using Element = T;
  using Wide = W;
};

template <class Types>
class IntegerElements : public ::testing::Test {
 protected:
  using Element = typename Types::Element;

  static std::string named(const char* kernel) {
    return fmt::format("{}_{}int{}", kernel, std::is_signed_v<Element> ? "" : "u",
                       8 * sizeof(Element));
  }
  static void run(const char* kernel, const std::vector<HostMemory>& buffers, std::size_t size) {
    const auto n = static_cast<std::uint32_t>(size);
    element_kernels().run(named(kernel), {(size + 63) / 64, 1, 1}, buffers, &n);
  }
  static std::vector<Element> all() {
    std::vector<Element> values;
    for (std::int32_t i = std::numeric_limits<Element>::min();
         i <= std::numeric_limits<Element>::max(); ++i) {
      values.push_back(static_cast<Element>(i));
    }
    return values;
  }
};

using Integers = ::testing::Types<Of<std::int8_t, std::int32_t>, Of<std::uint8_t, std::uint32_t>,
                                  Of<std::int16_t, std::int32_t>, Of<std::uint16_t, std::uint32_t>>;
TYPED_TEST_SUITE(IntegerElements, Integers);

TYPED_TEST(IntegerElements, AreLoadedWithTheirValue) {
  using Wide = typename TypeParam::Wide;
  const auto x = this->all();
  std::vector<Wide> y(x.size());
  this->run("load", {x, y}, x.size());
  EXPECT_EQ(y, std::vector<Wide>(x.begin(), x.end()));
}

// Neighbouring elements keep their values, even those that share a word with the first or the last
// stored element.
TYPED_TEST(IntegerElements, AreStoredModuloTheirRange) {
  using T = typename TypeParam::Element;
  using Wide = typename TypeParam::Wide;
  std::vector<Wide> x;
  for (std::int64_t i = -70000; i <= 70000; ++i) x.push_back(static_cast<Wide>(i));
  for (const std::uint32_t odd : {0x7fffffffu, 0x80000000u, 0xffffffffu, 0x12345678u}) {
    x.push_back(static_cast<Wide>(odd));
  }
  std::vector<T> y(x.size() + 3, T{99}), expected = y;
  this->run("store", {x, y}, x.size());
  std::ranges::transform(x, expected.begin(), [](Wide value) { return static_cast<T>(value); });
  EXPECT_EQ(y, expected);
}

TYPED_TEST(IntegerElements, WrapAroundInPlace) {
  using T = typename TypeParam::Element;
  using Wide = typename TypeParam::Wide;
  std::vector<T> y = this->all();
  std::vector<Wide> x, was(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<Wide>(i * 37 + 11));
  std::vector<T> expected;
  std::vector<Wide> expected_was;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto stored = static_cast<T>(static_cast<T>(static_cast<T>(y[i] + x[i]) * 3) - x[i]);
    expected.push_back(static_cast<T>(stored - 1));
    expected_was.push_back(static_cast<Wide>(stored) + static_cast<Wide>(stored));
  }
  this->run("change", {y, x, was}, y.size());
  EXPECT_EQ(y, expected);
  EXPECT_EQ(was, expected_was);
}

TYPED_TEST(IntegerElements, AreThoseOfTensors) {
  using T = typename TypeParam::Element;
  constexpr std::uint32_t kRows = 13, kColumns = 19;
  std::vector<T> x, expected;
  for (std::uint32_t i = 0; i < kRows * kColumns; ++i) {
    x.push_back(static_cast<T>(i * 7));
    expected.push_back(static_cast<T>(2 * x.back()));
  }
  std::vector<T> y(x.size());
  const std::uint32_t constants[] = {kRows, kColumns, kColumns, kRows, kColumns, kColumns};
  element_kernels().run(this->named("tile"), {(kColumns + 7) / 8, (kRows + 3) / 4, 1}, {x, y},
                        constants);
  EXPECT_EQ(y, expected);
}

// The tested target and, of CPUs, also one without instructions for halves.
std::vector<std::string> half_targets() {
  std::vector<std::string> targets = {tested_target()};
  if (targets[0].starts_with("x86-64-v")) targets.push_back("x86-64");
  return targets;
}

class HalfElements : public ::testing::TestWithParam<std::string> {
 protected:
  static const Kernels& kernels_of(std::string_view source) {
    static std::map<std::pair<std::string, std::string_view>, Kernels> all;
    const std::pair key(GetParam(), source);
    const auto found = all.find(key);
    if (found != all.end()) return found->second;
    return all.emplace(key, Kernels::of_text(source, GetParam())).first->second;
  }
  static void run(const char* kernel, const std::vector<HostMemory>& buffers, std::size_t size,
                  std::string_view source = kSource) {
    const auto n = static_cast<std::uint32_t>(size);
    kernels_of(source).run(kernel, {(size + 63) / 64, 1, 1}, buffers, &n);
  }
};

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

TEST_P(HalfElements, AreLoadedWithTheirValue) {
  const std::vector<std::uint16_t> x = all_halves();
  std::vector<float> y(x.size());
  run("load_float16", {x, y}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (is_half_nan(x[i])) {
      ASSERT_TRUE(std::isnan(y[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(value_of_half(x[i]))))
          << i;
    }
  }
}

TEST_P(HalfElements, AreRoundedToTheNearestEvenOne) {
  std::vector<float> x = floats_around_halves();
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) x.push_back(value);
  }
  std::vector<std::uint16_t> y(x.size() + 1, 0x5555);
  run("store_float16", {x, y}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], nearest_half(x[i])) << x[i];
  EXPECT_EQ(y.back(), 0x5555);
}

TEST_P(HalfElements, AreNanOfNan) {
  std::vector<float> x;
  for (const std::uint32_t bits :
       {0x7f800001u, 0xff800001u, 0x7fc00000u, 0x7fffffffu, 0xffc12345u, 0x7f801fffu}) {
    x.push_back(std::bit_cast<float>(bits));
  }
  std::vector<std::uint16_t> y(x.size());
  run("store_float16", {x, y}, x.size());
  for (const std::uint16_t bits : y) EXPECT_TRUE(is_half_nan(bits)) << bits;
}

// Each step is computed as float and rounded.
TEST_P(HalfElements, AreRoundedInPlace) {
  std::vector<std::uint16_t> y = all_halves(), expected;
  std::vector<float> x, was(y.size()), expected_was;
  const auto rounded = [](float value) {
    return static_cast<float>(value_of_half(nearest_half(value)));
  };
  for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<float>(i % 509) * 0.013f - 2);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float sum = rounded(static_cast<float>(value_of_half(y[i])) + x[i]);
    const float stored = rounded(rounded(sum * 3) - x[i]);
    expected.push_back(nearest_half(stored - 1));
    expected_was.push_back(stored +
                           rounded(static_cast<float>(value_of_half(expected.back())) + 1));
  }
  run("change_float16", {y, x, was}, y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(expected_was[i])) {
      ASSERT_TRUE(std::isnan(was[i])) << i;
      continue;
    }
    ASSERT_EQ(y[i], expected[i]) << i;
    ASSERT_EQ(was[i], expected_was[i]) << i;
  }
}

TEST_P(HalfElements, AreThoseOfTensors) {
  constexpr std::uint32_t kRows = 13, kColumns = 19;
  std::vector<std::uint16_t> x, expected;
  for (std::uint32_t i = 0; i < kRows * kColumns; ++i) {
    x.push_back(nearest_half(i * 0.3));
    expected.push_back(nearest_half(2 * value_of_half(x.back())));
  }
  std::vector<std::uint16_t> y(x.size());
  const std::uint32_t constants[] = {kRows, kColumns, kColumns, kRows, kColumns, kColumns};
  kernels_of(kSource).run("tile_float16", {(kColumns + 7) / 8, (kRows + 3) / 4, 1}, {x, y},
                          constants);
  EXPECT_EQ(y, expected);
}

TEST_P(HalfElements, ConvertToAndFromOtherElements) {
  std::vector<std::int8_t> a;
  std::vector<std::uint16_t> b;
  for (int i = 0; i < 64; ++i) {
    a.push_back(static_cast<std::int8_t>(i * 5));
    b.push_back(nearest_half(30 - i));
  }
  std::vector<std::uint16_t> c(64), d(64), f(64);
  std::vector<std::uint8_t> e(64);
  kernels_of(kSource).run("between", {1, 1, 1}, {a, b, c, d, e, f}, nullptr);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(c[i], static_cast<std::uint16_t>(a[i])) << i;
    EXPECT_EQ(d[i], nearest_half(a[i])) << i;
    EXPECT_EQ(e[i], i > 30 ? 1 : 0) << i;
    EXPECT_EQ(f[i], nearest_half(i == 0    ? 200
                                 : i == 1  ? 0.1f
                                 : i == 2  ? -0.5f
                                 : i == 30 ? 2
                                           : 0.2f))
        << i;
  }
}

#ifndef HALYARD_TEST_SHADERS
// Rounding to float first would make ties.
TEST_P(HalfElements, AreRoundedOnceFromDouble) {
  constexpr std::string_view kDoubles = R"(
HY_KERNEL(store, 64, 1, 1, HY_IN(double, x), HY_OUT(half, y), HY_SCALAR(uint, n)) {
  HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] = x[HY_GLOBAL_X]; }
}
)";
  std::vector<double> x;
  for (std::uint16_t bits = 0; bits < kInfiniteHalf; ++bits) {
    const double next = bits + 1 == kInfiniteHalf ? 65536 : value_of_half(bits + 1);
    const double middle = (value_of_half(bits) + next) / 2;
    for (const double value : {value_of_half(bits), std::nextafter(middle, 0.0), middle,
                               std::nextafter(middle, HUGE_VAL)}) {
      x.push_back(value);
      x.push_back(-value);
    }
  }
  for (const double value : {HUGE_VAL, 65536.0, 1e308, 1e-308, 5e-324, 0x1p-25, std::nan("")}) {
    x.push_back(value);
  }
  std::vector<std::uint16_t> y(x.size());
  run("store", {x, y}, x.size(), kDoubles);
  EXPECT_TRUE(is_half_nan(y.back()));
  for (std::size_t i = 0; i + 1 < x.size(); ++i) ASSERT_EQ(y[i], nearest_half(x[i])) << x[i];
}
#endif

INSTANTIATE_TEST_SUITE_P(Targets, HalfElements, ::testing::ValuesIn(half_targets()));

}  // namespace
}  // namespace halyard::testing
