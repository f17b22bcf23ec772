// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels without inputs: elements that depend on their index, and random numbers.
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>

#include "halyard/base/half.h"
#include "kernel/shipped_kernels.h"

namespace halyard::testing {
namespace {

using Uints = std::vector<std::uint32_t>;

template <class T>
void expect_arange(const char* kernel, std::uint32_t words) {
  SCOPED_TRACE(std::string(kernel) + " of " + std::to_string(words));
  // Two launches, the second from an even word on.
  const std::uint32_t first = words / 4 * 2;
  const Array<std::uint32_t> low(first), high(words - first);
  Shipped("generate").run(kernel, groups_of(256, first), {low}, {first, 0u});
  Shipped("generate").run(kernel, groups_of(256, words - first), {high}, {words - first, first});
  Uints got = low.values();
  const Uints rest = high.values();
  got.insert(got.end(), rest.begin(), rest.end());
  for (std::size_t i = 0; i < words * 4 / sizeof(T); ++i) {
    T element;
    std::memcpy(&element, reinterpret_cast<const T*>(got.data()) + i, sizeof(T));
    const auto expected = [&] {
      if constexpr (std::is_same_v<T, Half>) {
        return Half(static_cast<float>(i));
      } else {
        return static_cast<T>(i);
      }
    }();
    ASSERT_EQ(element, expected) << i;
  }
}

TEST(ShippedGenerate, CountsInElementsOfEverySize) {
  for (const std::uint32_t words : kSizes) {
    expect_arange<std::uint8_t>("arange_8", words);
    expect_arange<std::uint16_t>("arange_16", words);
    expect_arange<std::uint32_t>("arange_32", words);
    expect_arange<std::uint64_t>("arange_64", words);
    expect_arange<float>("arange_float", words);
    expect_arange<double>("arange_double", words);
    expect_arange<Half>("arange_half", words);
  }
}

// Halves beyond 2048 are rounded, and infinite from 65520 on.
TEST(ShippedGenerate, CountsInHalvesUpToInfinity) { expect_arange<Half>("arange_half", 32770); }

TEST(ShippedGenerate, FillsWithBothHalvesOfAnElement) {
  const Array<std::uint32_t> y(5);
  Shipped("generate").run("fill_64", 1, {y}, {5u, 1u, 2u});
  EXPECT_EQ(y.values(), (Uints{1, 2, 1, 2, 1}));
}

struct Generator {
  std::array<std::uint32_t, 4> counter{};
  std::array<std::uint32_t, 2> key{};
};

template <class T>
std::vector<T> random(const char* kernel, const Generator& from, std::uint32_t size) {
  const auto [c0, c1, c2, c3] = from.counter;
  const Array<T> y(size);
  Shipped("random").run(kernel, groups_of(1024, size), {y},
                        {c0, c1, c2, c3, from.key[0], from.key[1], size});
  return y.values();
}

// kat_vectors of Random123 1.14.0, the authors' library: philox4x32 with 10 rounds.
TEST(ShippedRandom, GivesThePublishedKnownAnswers) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(random<std::uint32_t>("random_uint", {}, 4),
            (Uints{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(random<std::uint32_t>("random_uint", {{kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}}, 4),
            (Uints{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(random<std::uint32_t>(
                "random_uint",
                {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}}, 4),
            (Uints{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ShippedRandom, ALaunchGoesOnWhereAnotherEnded) {
  const Uints all = random<std::uint32_t>("random_uint", {.key = {1, 2}}, 70001);
  for (const std::uint32_t size : kSizes) {
    EXPECT_TRUE(std::ranges::equal(random<std::uint32_t>("random_uint", {.key = {1, 2}}, size),
                                   std::span(all).first(size)));
  }
  const Uints later = random<std::uint32_t>("random_uint", {{250}, {1, 2}}, 69001);
  EXPECT_TRUE(std::ranges::equal(later, std::span(all).subspan(1000)));
}

TEST(ShippedRandom, UniformNumbersAreTheUpperBitsOfTheWords) {
  const Uints words = random<std::uint32_t>("random_uint", {.key = {3, 4}}, 70001);
  const std::vector<float> y = random<float>("random_uniform", {.key = {3, 4}}, 70001);
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(y[i], static_cast<float>(words[i] >> 8) * 0x1p-24f) << i;
  }
}

// Newton's method on the tail, whose relative error is small.
double normal_deviate(std::uint32_t word, double near) {
  const bool upper = word >= 0x80000000u;
  const double tail = ((upper ? ~word : word) + 0.5) * 0x1p-32;
  double z = std::fabs(near);
  for (int i = 0; i < 4; ++i) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    z += (std::erfc(z / std::numbers::sqrt2) / 2 - tail) / density;
  }
  return upper ? z : -z;
}

TEST(ShippedRandom, NormalNumbersInvertTheDistributionWithinTheirBound) {
  const Uints words = random<std::uint32_t>("random_uint", {.key = {5, 6}}, 300001);
  const std::vector<float> y = random<float>("random_normal", {.key = {5, 6}}, 300001);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double want = normal_deviate(words[i], double{y[i]});
    ASSERT_NEAR(y[i], want, 0x1p-20 * std::fabs(want)) << words[i];
  }
}

// The same on every target and in every version.
TEST(ShippedRandom, NormalNumbersHaveTheSameBitsEverywhere) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::uint32_t bits : random<std::uint32_t>("random_normal", {}, 300001)) {
    hash = (hash ^ bits) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0x483c3b5cbac3e39u);
}

}  // namespace
}  // namespace halyard::testing
