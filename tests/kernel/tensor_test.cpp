// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor parameters of halyard/kernel/tensor.h, compared with loops in C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

using Extents = std::array<std::uint32_t, 3>;

const Kernels& tensor_kernels() {
  static const Kernels all = Kernels::of_text(R"(
HY_KERNEL(static1, 8, 1, 1, HY_IN_TENSOR1(float, x), HY_SCALAR(float, a), HY_OUT_TILE1(float, y, 5)) {
  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) = a * HY_AT1(x, HY_ORIGIN(y, 0) + i); }
}
HY_KERNEL(static2, 8, 1, 1, HY_IN_TENSOR2(float, x), HY_SCALAR(float, a), HY_OUT_TILE2(float, y, 4, 6)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = a * HY_AT2(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j);
  }
}
HY_KERNEL(static3, 8, 1, 1, HY_IN_TENSOR3(float, x), HY_SCALAR(float, a), HY_OUT_TILE3(float, y, 2, 3, 16)) {
  HY_TILE_ITEMS3(y, i, j, k) {
    HY_Y3(y, i, j, k) =
        a * HY_AT3(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j, HY_ORIGIN(y, 2) + k);
  }
}
HY_KERNEL(run_time1, 8, 1, 1, HY_IN_TENSOR1(float, x), HY_SCALAR(float, a), HY_OUT_TENSOR1(float, y)) {
  HY_TILE_ITEMS1(y, i) { HY_Y1(y, i) = a * HY_AT1(x, HY_ORIGIN(y, 0) + i); }
}
HY_KERNEL(run_time2, 8, 1, 1, HY_IN_TENSOR2(float, x), HY_SCALAR(float, a), HY_OUT_TENSOR2(float, y)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = a * HY_AT2(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j);
  }
}
HY_KERNEL(run_time3, 8, 1, 1, HY_IN_TENSOR3(float, x), HY_SCALAR(float, a), HY_OUT_TENSOR3(float, y)) {
  HY_TILE_ITEMS3(y, i, j, k) {
    HY_Y3(y, i, j, k) =
        a * HY_AT3(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j, HY_ORIGIN(y, 2) + k);
  }
}

HY_KERNEL(matmul, 8, 4, 1, HY_IN_TENSOR2(int, a), HY_IN_TENSOR2(int, b), HY_OUT_TILE2(int, c, 4, 8),
          HY_SHARED2(int, t, 4, 8)) {
  HY_ITEMS { t[HY_Y][HY_X] = 0; }
  for (hy_index k = 0; k < HY_SIZE(a, 1); ++k) {
    HY_ITEMS {
      if (HY_INSIDE2(c, HY_Y, HY_X)) {
        t[HY_Y][HY_X] += HY_AT2(a, HY_ORIGIN(c, 0) + HY_Y, k) * HY_AT2(b, k, HY_ORIGIN(c, 1) + HY_X);
      }
    }
  }
  HY_TILE_ITEMS2(c, i, j) { HY_Y2(c, i, j) = t[i][j]; }
  HY_TILE_ITEMS2(c, i, j) { HY_Y2(c, i, j) += 1; }
}

HY_KERNEL(places, 1, 1, 1, HY_OUT_TENSOR3(int, y), HY_OUT(uint, out)) {
  HY_ITEMS {
    const hy_index at = ((HY_GZ * HY_GROUPS_Y + HY_GY) * HY_GROUPS_X + HY_GX) * 12;
    for (int d = 0; d < 3; ++d) {
      out[at + d] = (uint)HY_SIZE(y, d);
      out[at + 3 + d] = (uint)HY_TILE(y, d);
      out[at + 6 + d] = (uint)HY_ORIGIN(y, d);
      out[at + 9 + d] = (uint)HY_EDGE(y, d);
    }
  }
}

HY_KERNEL(inside, 1, 1, 1, HY_OUT_TILE1(int, x, 4), HY_OUT_TILE3(int, y, 4, 4, 4), HY_OUT(uint, out)) {
  HY_ITEMS {
    out[0] = HY_INSIDE1(x, 1);
    out[1] = HY_INSIDE1(x, 2);
    out[2] = HY_INSIDE3(y, 0, 1, 2);
    out[3] = HY_INSIDE3(y, 1, 1, 2);
    out[4] = HY_INSIDE3(y, 0, 2, 2);
    out[5] = HY_INSIDE3(y, 0, 1, 3);
    out[6] = HY_INSIDE1(x, -1);
  }
}
)");
  return all;
}

constexpr float kNotWritten = -1.0f;

// y = 3 x, for tensors of these sizes with unused elements at the end of each row and slice.
void expect_scaled(std::size_t rank, Extents size, Extents tile, bool static_tile) {
  SCOPED_TRACE(::testing::Message() << rank << ": " << size[0] << " " << size[1] << " " << size[2]);
  std::array<std::size_t, 3> stride = {};
  stride[rank - 1] = 1;
  for (std::size_t d = rank - 1; d-- > 0;) stride[d] = stride[d + 1] * size[d + 1] + 2 + d;
  std::vector<float> x(stride[0] * size[0] + 1);
  std::iota(x.begin(), x.end(), 1.0f);
  std::vector<float> y(x.size(), kNotWritten);
  std::vector<float> want = y;
  for (std::size_t i = 0; i < size[0]; ++i) {
    for (std::size_t j = 0; j < size[1]; ++j) {
      for (std::size_t k = 0; k < size[2]; ++k) {
        const std::size_t at = i * stride[0] + j * stride[1] + k * stride[2];
        want[at] = 3.0f * x[at];
      }
    }
  }

  std::vector<std::uint32_t> constants;
  const auto add_tensor = [&](bool with_tile) {
    constants.insert(constants.end(), size.begin(), size.begin() + static_cast<long>(rank));
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      constants.push_back(static_cast<std::uint32_t>(stride[d]));
    }
    if (with_tile) {
      constants.insert(constants.end(), tile.begin(), tile.begin() + static_cast<long>(rank));
    }
  };
  add_tensor(false);
  constants.push_back(std::bit_cast<std::uint32_t>(3.0f));
  add_tensor(!static_tile);
  // One group more than necessary in each of x, y and z.
  std::array<std::size_t, 3> groups = {2, 2, 2};
  for (std::size_t d = 0; d < rank; ++d)
    groups[rank - 1 - d] = (size[d] + tile[d] - 1) / tile[d] + 1;
  tensor_kernels().run((static_tile ? "static" : "run_time") + std::to_string(rank), groups, {x, y},
                       constants.data());
  EXPECT_EQ(y, want);
}

TEST(Tensor, StaticTilesCoverTheTensorAndNothingElse) {
  for (const std::uint32_t n : {0u, 1u, 4u, 5u, 6u, 10u, 13u}) {
    expect_scaled(1, {n, 1, 1}, {5, 1, 1}, true);
    expect_scaled(2, {n, 13, 1}, {4, 6, 1}, true);
    expect_scaled(2, {9, n, 1}, {4, 6, 1}, true);
    expect_scaled(3, {n, 7, 20}, {2, 3, 16}, true);
    expect_scaled(3, {3, n, 33}, {2, 3, 16}, true);
    expect_scaled(3, {3, 3, n}, {2, 3, 16}, true);
  }
}

TEST(Tensor, RunTimeTilesCoverTheTensorAndNothingElse) {
  for (const std::uint32_t tile : {1u, 3u, 8u, 100u}) {
    expect_scaled(1, {21, 1, 1}, {tile, 1, 1}, false);
    expect_scaled(2, {7, 13, 1}, {tile, 4, 1}, false);
    expect_scaled(2, {7, 13, 1}, {2, tile, 1}, false);
    expect_scaled(3, {5, 6, 9}, {tile, 2, 4}, false);
    expect_scaled(3, {5, 6, 9}, {2, tile, 3}, false);
    expect_scaled(3, {5, 6, 9}, {2, 2, tile}, false);
  }
}

TEST(Tensor, InputsAreReadAnywhereAndTilesReadBack) {
  constexpr std::size_t kOutRows = 7, kInner = 5, kOutColumns = 11;
  std::vector<int> a(kOutRows * kInner);
  std::vector<int> b(kInner * kOutColumns);
  std::iota(a.begin(), a.end(), -9);
  std::iota(b.begin(), b.end(), 3);
  std::vector<int> c(kOutRows * kOutColumns, -1);
  const std::uint32_t constants[] = {kOutRows, kInner,      kInner,       // a
                                     kInner,   kOutColumns, kOutColumns,  // b
                                     kOutRows, kOutColumns, kOutColumns};
  tensor_kernels().run("matmul", {2, 2, 1}, {a, b, c}, constants);
  for (std::size_t i = 0; i < kOutRows; ++i) {
    for (std::size_t j = 0; j < kOutColumns; ++j) {
      int want = 1;
      for (std::size_t k = 0; k < kInner; ++k) want += a[i * kInner + k] * b[k * kOutColumns + j];
      ASSERT_EQ(c[i * kOutColumns + j], want) << i << " " << j;
    }
  }
}

TEST(Tensor, AGroupKnowsItsTile) {
  constexpr Extents kSize = {5, 7, 9};
  constexpr Extents kTile = {2, 7, 4};
  const std::uint32_t constants[] = {5, 7, 9, 63, 9, 2, 7, 4};
  constexpr std::array<std::size_t, 3> kLaunched = {4, 2, 4};  // one too many of each
  int y = 0;
  std::vector<std::uint32_t> out(4 * 2 * 4 * 12);
  tensor_kernels().run("places", kLaunched, {y, out}, constants);
  const std::uint32_t* at = out.data();
  for (std::uint32_t gz = 0; gz < kLaunched[2]; ++gz) {
    for (std::uint32_t gy = 0; gy < kLaunched[1]; ++gy) {
      for (std::uint32_t gx = 0; gx < kLaunched[0]; ++gx, at += 12) {
        const Extents group = {gz, gy, gx};
        for (std::size_t d = 0; d < 3; ++d) {
          const std::uint32_t origin = group[d] * kTile[d];
          ASSERT_EQ(at[d], kSize[d]);
          ASSERT_EQ(at[3 + d], kTile[d]);
          ASSERT_EQ(at[6 + d], origin);
          ASSERT_EQ(at[9 + d], origin < kSize[d] ? std::min(kTile[d], kSize[d] - origin) : 0);
        }
      }
    }
  }
}

TEST(Tensor, InsideMeansInTheTileAndInTheTensor) {
  const std::uint32_t constants[] = {2, 1, 2, 3, 6, 3};
  std::vector<std::uint32_t> out(7, 9);
  int unused = 0;
  tensor_kernels().run("inside", {1, 1, 1}, {unused, unused, out}, constants);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1, 0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace halyard::testing
