// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The macros of halyard/kernel.h at run time, on this CPU or a device.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

const Kernels& kernels() {
  static const Kernels all = Kernels::of_text(R"(
HY_KERNEL(indices, 4, 3, 2, HY_OUT(uint, out)) {
  HY_ITEMS {
    const hy_index width = HY_GROUPS_X * HY_NX, height = HY_GROUPS_Y * HY_NY;
    const hy_index at = (HY_GLOBAL_Z * height + HY_GLOBAL_Y) * width + HY_GLOBAL_X;
    out[at * 4 + 0] = (uint)HY_L;
    out[at * 4 + 1] = (uint)(HY_X + 10 * HY_Y + 100 * HY_Z);
    out[at * 4 + 2] = (uint)(HY_GX + 10 * HY_GY + 100 * HY_GZ);
    out[at * 4 + 3] = (uint)(HY_NX * HY_NY * HY_NZ * HY_GROUPS_Z);
  }
}

HY_KERNEL(reduce, 64, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n),
          HY_SHARED(float, t, 64)) {
  HY_ITEMS { t[HY_X] = HY_GLOBAL_X < n ? x[HY_GLOBAL_X] : 0.0f; }
  for (uint half = HY_NX / 2; half > 0; half /= 2) {
    HY_ITEMS { if (HY_X < half) t[HY_X] += t[HY_X + half]; }
  }
  HY_ITEMS { if (HY_X == 0) y[HY_GX] = t[0]; }
}

HY_KERNEL(privates, 4, 2, 1, HY_OUT(int, y), HY_PRIVATE(int, p), HY_PRIVATE_ARRAY(int, q, 3)) {
  HY_ITEMS {
    HY_MY(p) = (int)HY_L;
    for (int i = 0; i < 3; ++i) HY_MY(q, i) = 100 * i + (int)HY_L;
  }
  HY_ITEMS { HY_MY(p) += 1000; }
  HY_ITEMS { y[HY_L] = HY_MY(p) + HY_MY(q, 0) + HY_MY(q, 1) + HY_MY(q, 2); }
}

HY_KERNEL(below, 8, 1, 1, HY_INOUT(int, y), HY_SCALAR(int, n)) { HY_ITEMS_BELOW(n) { y[HY_GLOBAL_X] += 1; } }

HY_KERNEL(first, 8, 2, 1, HY_INOUT(int, y), HY_SCALAR(int, n)) { HY_ITEMS_FIRST(n) { y[HY_L] += 1; } }

HY_KERNEL(nothing, 1, 1, 1) { HY_ITEMS {} }

struct pair { float first; float second[40]; };
HY_KERNEL(copies, 1, 1, 1, HY_IN(float, x), HY_OUT(float, y)) {
  HY_ITEMS {
    struct pair a = {0};
    a.second[(int)x[0]] = x[1];
    struct pair b = a;
    b.second[(int)x[1]] += 1.0f;
    for (int i = 0; i < 40; ++i) y[i] = b.second[i] + a.second[39 - i];
  }
}

HY_KERNEL(many, 1, 1, 1, HY_SCALAR(int, a0), HY_SCALAR(int, a1), HY_SCALAR(int, a2), HY_SCALAR(int, a3),
          HY_SCALAR(int, a4), HY_SCALAR(int, a5), HY_SCALAR(int, a6), HY_SCALAR(int, a7),
          HY_SCALAR(int, b0), HY_SCALAR(int, b1), HY_SCALAR(int, b2), HY_SCALAR(int, b3),
          HY_SCALAR(int, b4), HY_SCALAR(int, b5), HY_SCALAR(int, b6), HY_SCALAR(int, b7),
          HY_SCALAR(int, c0), HY_SCALAR(int, c1), HY_SCALAR(int, c2), HY_SCALAR(int, c3),
          HY_SCALAR(int, c4), HY_SCALAR(int, c5), HY_OUT(int, y), HY_SHARED(int, s, 1)) {
  HY_ITEMS { s[0] = a0 + 2 * c5; }
  HY_ITEMS { y[0] = s[0] + a1 + a2 + a3 + a4 + a5 + a6 + a7 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 +
                    c0 + c1 + c2 + c3 + c4; }
}

HY_KERNEL(minmax, 1, 1, 1, HY_OUT(float, f), HY_OUT(int, i), HY_OUT(uint, u)) {
  HY_ITEMS {
    f[0] = hy_max(1.5f, -2.0f);
    f[1] = hy_min(1.5f, -2.0f);
    f[2] = hy_max(__builtin_nanf(""), 3.0f);
    i[0] = hy_max(-1, 1);
    i[1] = hy_min(-1, 1);
    u[0] = hy_max(1u, 0xffffffffu);
    u[1] = (uint)hy_min(HY_NX, (hy_index)5);
    f[3] = hy_sqrt(2.0f);
  }
}
)");
  return all;
}

TEST(Dialect, GivesEachItemItsIndex) {
  constexpr std::size_t kWidth = 8, kHeight = 9, kDepth = 8;
  std::vector<std::uint32_t> out(kWidth * kHeight * kDepth * 4, 0xdead);
  kernels().run("indices", {2, 3, 4}, {out}, nullptr);
  for (std::size_t z = 0; z < kDepth; ++z) {
    for (std::size_t y = 0; y < kHeight; ++y) {
      for (std::size_t x = 0; x < kWidth; ++x) {
        const std::uint32_t* item = &out[((z * kHeight + y) * kWidth + x) * 4];
        ASSERT_EQ(item[0], ((z % 2) * 3 + y % 3) * 4 + x % 4);
        ASSERT_EQ(item[1], x % 4 + 10 * (y % 3) + 100 * (z % 2));
        ASSERT_EQ(item[2], x / 4 + 10 * (y / 3) + 100 * (z / 2));
        ASSERT_EQ(item[3], 24u * 4);
      }
    }
  }
}

TEST(Dialect, OrdersSharedMemoryAtTheEndOfEachBlock) {
  std::vector<float> x(150);
  std::iota(x.begin(), x.end(), 1.0f);
  std::vector<float> y(3);
  const std::uint32_t n = 150;
  kernels().run("reduce", {3, 1, 1}, {x, y}, &n);
  EXPECT_EQ(y[0], 64 * 65 / 2);
  EXPECT_EQ(y[0] + y[1] + y[2], 150 * 151 / 2);
}

TEST(Dialect, KeepsPrivateValuesFromBlockToBlock) {
  std::vector<int> y(8);
  kernels().run("privates", {1, 1, 1}, {y}, nullptr);
  for (int l = 0; l < 8; ++l) EXPECT_EQ(y[static_cast<std::size_t>(l)], 1000 + 300 + 4 * l);
}

TEST(Dialect, ClipsABlockAtTheEndOfTheItems) {
  for (const int n : {-5, 0, 1, 7, 8, 9, 16, 17}) {
    std::vector<int> y(24);
    kernels().run("below", {3, 1, 1}, {y}, &n);
    for (int i = 0; i < 24; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], i < n ? 1 : 0) << n;
  }
}

TEST(Dialect, LetsOnlyTheFirstItemsOfEachRowTakePart) {
  for (const std::int32_t n : {-5, 0, 1, 7, 8, 100}) {
    std::vector<int> y(16, 0);
    // Two launches, because groups of the same launch must not write the same elements.
    for (int launch = 0; launch < 2; ++launch) kernels().run("first", {1, 1, 1}, {y}, &n);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], i % 8 < n ? 2 : 0) << n;
  }
}

TEST(Dialect, AllowsAKernelWithoutParameters) { kernels().run("nothing", {2, 2, 2}, {}, nullptr); }

TEST(Dialect, NeedsNoLibraryForCopiesAndFills) {
  const std::vector<float> x = {3.0f, 5.0f};
  std::vector<float> y(40);
  kernels().run("copies", {1, 1, 1}, {x, y}, nullptr);
  EXPECT_EQ(y[3], 5.0f);
  EXPECT_EQ(y[5], 1.0f);
  EXPECT_EQ(y[36], 5.0f);
  EXPECT_EQ(std::accumulate(y.begin(), y.end(), 0.0f), 11.0f);
}

TEST(Dialect, TakesTwentyFourParameters) {
  std::vector<int> constants(22);
  std::iota(constants.begin(), constants.end(), 1);
  int y = 0;
  kernels().run("many", {1, 1, 1}, {y}, constants.data());
  EXPECT_EQ(y, 22 * 23 / 2 + 22);
}

TEST(Dialect, ComparesInTheCommonType) {
  float f[4] = {};
  int i[2] = {};
  std::uint32_t u[2] = {};
  kernels().run("minmax", {1, 1, 1}, {f, i, u}, nullptr);
  EXPECT_EQ(f[0], 1.5f);
  EXPECT_EQ(f[1], -2.0f);
  EXPECT_EQ(f[2], 3.0f);
  EXPECT_EQ(f[3], 1.41421354f);
  EXPECT_EQ(i[0], 1);
  EXPECT_EQ(i[1], -1);
  EXPECT_EQ(u[0], 0xffff'ffffu);
  EXPECT_EQ(u[1], 1u);
}

}  // namespace
}  // namespace halyard::testing
