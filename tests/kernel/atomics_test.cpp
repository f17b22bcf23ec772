// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The atomics of halyard/kernel.h lose no update between items, groups or threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

constexpr std::size_t kBins = 8;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kGroups = 1024;
constexpr std::size_t kGroupItems = 64;
constexpr std::size_t kItems = kGroups * kGroupItems;

const Kernels& kernels(const std::string& target) {
  static constexpr std::string_view kText = R"(
HY_KERNEL(histogram, 64, 1, 1, HY_IN(uint, x), HY_INOUT(uint, bins), HY_INOUT(int, sum)) {
  HY_ITEMS {
    hy_atomic_add(bins[x[HY_GLOBAL_X]], 1u);
    hy_atomic_add(sum[0], -1);
  }
}

HY_KERNEL(shared_histogram, 64, 1, 1, HY_IN(uint, x), HY_INOUT(uint, bins), HY_SHARED(uint, s, 8)) {
  HY_ITEMS_BELOW(HY_GX * HY_NX + 8) { s[HY_X] = 0; }
  HY_ITEMS { hy_atomic_add(s[x[HY_GLOBAL_X]], 1u); }
  HY_ITEMS_BELOW(HY_GX * HY_NX + 8) { hy_atomic_add(bins[HY_X], s[HY_X]); }
}

HY_KERNEL(tickets, 64, 1, 1, HY_INOUT(uint, next), HY_OUT(uint, taken)) {
  HY_ITEMS {
    const uint ticket = hy_atomic_add(next[0], 1u);
    taken[ticket] = (uint)HY_GLOBAL_X;
  }
}

HY_KERNEL(extremes, 64, 1, 1, HY_IN(int, x), HY_INOUT(int, i), HY_INOUT(uint, u)) {
  HY_ITEMS {
    hy_atomic_min(i[0], x[HY_GLOBAL_X]);
    hy_atomic_max(i[1], x[HY_GLOBAL_X]);
    hy_atomic_min(u[0], (uint)x[HY_GLOBAL_X]);
    hy_atomic_max(u[1], (uint)x[HY_GLOBAL_X]);
  }
}

HY_KERNEL(bits, 32, 1, 1, HY_INOUT(uint, y)) {
  HY_ITEMS {
    const uint bit = 1u << HY_X;
    hy_atomic_or(y[0], HY_GX % 2 ? bit : 0u);
    hy_atomic_and(y[1], HY_X % 2 ? ~0u : ~bit);
    hy_atomic_xor(y[2], bit);
  }
}

HY_KERNEL(spin, 64, 1, 1, HY_INOUT(int, y)) {
  HY_ITEMS {
    int seen = 0;
    for (;;) {
      const int before = hy_atomic_compare_exchange(y[0], seen, seen + 3);
      if (before == seen) break;
      seen = before;
    }
  }
}

HY_KERNEL(swaps, 64, 1, 1, HY_INOUT(uint, y), HY_OUT(uint, out)) {
  HY_ITEMS { out[HY_GLOBAL_X] = hy_atomic_exchange(y[0], (uint)HY_GLOBAL_X + 1u); }
}
)";
  if (target == "x86-64") {
    static const Kernels baseline = Kernels::of_text(kText, "x86-64");
    return baseline;
  }
  static const Kernels best = Kernels::of_text(kText);
  return best;
}

// Each test, with the image for the oldest processors and that for this one.
class Atomics : public ::testing::TestWithParam<std::string> {
 protected:
  void run(std::string_view name, const std::vector<HostMemory>& buffers) const {
    kernels(GetParam()).run(name, {kGroups, 1, 1}, buffers, nullptr, kThreads);
  }
};

INSTANTIATE_TEST_SUITE_P(All, Atomics, ::testing::Values("x86-64", "best"), [](const auto& test) {
  return test.param == "best" ? "best" : "baseline";
});

// Runs of equal bins, so that neighbouring items conflict.
std::vector<std::uint32_t> bins_of_items() {
  std::vector<std::uint32_t> x(kItems);
  for (std::size_t i = 0; i < kItems; ++i) x[i] = static_cast<std::uint32_t>(i / 11 * 5 % 7);
  return x;
}

std::array<std::uint32_t, kBins> histogram_of(const std::vector<std::uint32_t>& x) {
  std::array<std::uint32_t, kBins> bins{};
  for (const std::uint32_t bin : x) ++bins[bin];
  return bins;
}

TEST_P(Atomics, CountItemsThatMeetInABuffer) {
  auto x = bins_of_items();
  std::array<std::uint32_t, kBins> bins{};
  int sum = 0;
  run("histogram", {x, bins, sum});
  EXPECT_EQ(bins, histogram_of(x));
  EXPECT_EQ(sum, -static_cast<int>(kItems));
}

TEST_P(Atomics, CountItemsThatMeetInSharedMemory) {
  auto x = bins_of_items();
  std::array<std::uint32_t, kBins> bins{};
  run("shared_histogram", {x, bins});
  EXPECT_EQ(bins, histogram_of(x));
}

TEST_P(Atomics, GiveEachItemTheValueBefore) {
  std::uint32_t next = 0;
  std::vector<std::uint32_t> taken(kItems, ~0u);
  run("tickets", {next, taken});
  EXPECT_EQ(next, kItems);
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 0; i < kItems; ++i) ASSERT_EQ(taken[i], i);
}

TEST_P(Atomics, FindExtremesSignedAndUnsigned) {
  std::vector<int> x(kItems);
  std::iota(x.begin(), x.end(), -1000);
  int i[2] = {5, 5};
  std::uint32_t u[2] = {5, 5};
  run("extremes", {x, i, u});
  EXPECT_EQ(i[0], -1000);
  EXPECT_EQ(i[1], static_cast<int>(kItems) - 1001);
  EXPECT_EQ(u[0], 0u);
  EXPECT_EQ(u[1], ~0u);
}

TEST_P(Atomics, SetClearAndFlipBits) {
  std::uint32_t y[3] = {0, ~0u, 0x1234'5678};
  run("bits", {y});
  EXPECT_EQ(y[0], ~0u);
  EXPECT_EQ(y[1], 0xaaaa'aaaau);
  // An even number of groups has flipped every bit.
  EXPECT_EQ(y[2], 0x1234'5678u);
}

TEST_P(Atomics, CompareExchangeFailsWhereTheValueChanged) {
  int y = 7;
  run("spin", {y});
  EXPECT_EQ(y, 7 + 3 * static_cast<int>(kItems));
}

TEST_P(Atomics, ExchangeHandsEveryValueOnOnce) {
  std::uint32_t y = 0;
  std::vector<std::uint32_t> out(kItems);
  run("swaps", {y, out});
  out.push_back(y);
  std::sort(out.begin(), out.end());
  for (std::size_t i = 0; i <= kItems; ++i) ASSERT_EQ(out[i], i);
}

}  // namespace
}  // namespace halyard::testing
