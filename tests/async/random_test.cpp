// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random tensors: their distributions, and that they depend only on the seed. The kernels are
// tested in tests/kernel/shipped_generators_test.cpp.
#include "halyard/async/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::ElementsAre;
using testing::refused_with;

class AsyncRandom : public AsyncTest {
 protected:
  static constexpr std::uint64_t kSize = 1'000'000;

  // The mean, and the second to fourth central moments.
  static std::array<double, 4> moments(const std::vector<float>& x) {
    std::array<double, 4> sums{};
    for (const float value : x) sums[0] += double{value};
    const double n = static_cast<double>(x.size()), mean = sums[0] / n;
    for (const float value : x) {
      for (int k = 2; k <= 4; ++k) sums[k - 1] += std::pow(double{value} - mean, k);
    }
    return {mean, sums[1] / n, sums[2] / n, sums[3] / n};
  }

  // Kolmogorov's statistic times sqrt(n), for the distribution function `below`. One sample in a
  // thousand exceeds 1.95 (Kolmogorov 1933). The seeds are fixed, so the result never changes.
  template <class F>
  static double kolmogorov(std::vector<float> x, F&& below) {
    std::ranges::sort(x);
    const double n = static_cast<double>(x.size());
    double distance = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = below(double{x[i]}), at = static_cast<double>(i);
      distance = std::max({distance, want - at / n, (at + 1) / n - want});
    }
    return distance * std::sqrt(n);
  }
};

TEST_F(AsyncRandom, RandIsUniformFromZeroToOne) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    const auto x = elements(rand<float>(kSize, seed));
    EXPECT_GE(*std::ranges::min_element(x), 0.0f);
    EXPECT_LT(*std::ranges::max_element(x), 1.0f);
    const auto [mean, variance, third, fourth] = moments(x);
    // Four standard deviations of a million samples' moments.
    EXPECT_NEAR(mean, 0.5, 4 * 0.2887e-3);
    EXPECT_NEAR(variance, 1.0 / 12, 4 * 0.0745e-3);
    EXPECT_NEAR(third, 0, 4 * 0.0345e-3);
    EXPECT_NEAR(fourth, 1.0 / 80, 4 * 0.0167e-3);
    EXPECT_LT(kolmogorov(x, [](double value) { return value; }), 1.95);
  }
}

TEST_F(AsyncRandom, RandnIsStandardNormal) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    const auto x = elements(randn<float>(kSize, seed));
    const auto [mean, variance, third, fourth] = moments(x);
    EXPECT_NEAR(mean, 0, 4 * 1e-3);
    EXPECT_NEAR(variance, 1, 4 * std::sqrt(2.0) * 1e-3);
    EXPECT_NEAR(third, 0, 4 * std::sqrt(6.0) * 1e-3);
    EXPECT_NEAR(fourth, 3, 4 * std::sqrt(96.0) * 1e-3);
    EXPECT_LT(kolmogorov(x, [](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }),
              1.95);
  }
}

TEST_F(AsyncRandom, OneSeedGivesTheSameNumbersWhereverTheyAreMade) {
  const auto many = Runtime::open("cpu://?workers=4", {.queues = 2}).value();
  for (const auto& make : {&rand<float>, &randn<float>}) {
    const auto here = elements(make({1000, 77}, 5));
    EXPECT_EQ(here, sync_wait(to_host(make({77, 1000}, 5) | on(many.device().queue(1))), many));
    EXPECT_NE(here, elements(make({1000, 77}, 6)));
    const auto fewer = elements(make(1001, 5));
    EXPECT_TRUE(std::ranges::equal(fewer, std::span(here).first(1001)));
  }
}

// The first words of Random123's kat_vectors for a counter and a key of zeros, 24 bits of each.
TEST_F(AsyncRandom, TheSeedIsTheKey) {
  EXPECT_THAT(elements(rand<float>({2, 2}, 0)),
              ElementsAre(0x6627e8p-24f, 0xe169c5p-24f, 0xbc57acp-24f, 0x9b00dbp-24f));
}

TEST_F(AsyncRandom, TooManyAreRefused) {
  EXPECT_THAT(failure(rand<float>(std::uint64_t{1} << 31, 0)),
              refused_with(StatusCode::kOutOfRange, "2147483648 elements"));
}

}  // namespace
}  // namespace halyard::async
