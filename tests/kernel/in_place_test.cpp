// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with HY_MAY_OVERLAP, run with bindings that do overlap.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

// Each reads x again after its write to y: with x and y apart the result differs.
const Kernels& in_place_kernels() {
  static const Kernels all = Kernels::of_text(R"(
HY_KERNEL(flat, 64, 1, 1, HY_IN(float, x), HY_OUT(float, y), HY_SCALAR(uint, n), HY_MAY_OVERLAP) {
  HY_ITEMS_BELOW(n) {
    y[HY_GLOBAL_X] = x[HY_GLOBAL_X] + 1.0f;
    y[HY_GLOBAL_X] = x[HY_GLOBAL_X] * 2.0f;
  }
}
HY_KERNEL(tile, 64, 1, 1, HY_MAY_OVERLAP, HY_IN_TENSOR2(float, x), HY_INOUT_TILE2(float, y, 4, 32),
          HY_SAME_SHAPE(x, y)) {
  HY_TILE_ITEMS2(y, i, j) {
    HY_Y2(y, i, j) = HY_AT2(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j) + 1.0f;
    HY_Y2(y, i, j) = HY_AT2(x, HY_ORIGIN(y, 0) + i, HY_ORIGIN(y, 1) + j) * 2.0f;
  }
}
)");
  return all;
}

std::vector<float> ascending(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(InPlace, FlatBuffer_OneForBothBindings_IsReadAgainAfterItsWrite) {
  std::vector<float> x = ascending(1000);
  const std::uint32_t n = 1000;
  in_place_kernels().run("flat", {16, 1, 1}, {x, x}, &n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i], 2.0f * (static_cast<float>(i) + 1.0f)) << i;
  }
}

TEST(InPlace, FlatBuffer_TwoForTheBindings_AreSeparate) {
  std::vector<float> x = ascending(1000), y(1000);
  const std::uint32_t n = 1000;
  in_place_kernels().run("flat", {16, 1, 1}, {x, y}, &n);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2.0f * x[i]) << i;
}

TEST(InPlace, Tensor_OneForBothBindings_IsReadAgainAfterItsWrite) {
  std::vector<float> x = ascending(40 * 100);
  const std::uint32_t constants[] = {40, 100, 100, 40, 100, 100};  // sizes and stride of x and y
  in_place_kernels().run("tile", {4, 10, 1}, {x, x}, constants);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i], 2.0f * (static_cast<float>(i) + 1.0f)) << i;
  }
}

}  // namespace
}  // namespace halyard::testing
