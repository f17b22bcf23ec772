// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels compiled with --checked.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

TEST(CheckedDeathTest, IndicesOutsideATensorTrap) {
  const TextFile source(R"(
HY_KERNEL(own_index, 1, 1, 1, HY_OUT_TILE2(int, y, 4, 4), HY_SCALAR(int, i), HY_SCALAR(int, j)) {
  HY_ITEMS { HY_Y2(y, i, j) = 1; }
}
HY_KERNEL(input_index, 1, 1, 1, HY_IN_TENSOR2(int, x), HY_OUT(int, y), HY_SCALAR(int, i), HY_SCALAR(int, j)) {
  HY_ITEMS { y[0] = HY_AT2(x, i, j); }
}
)");
  const Kernels checked(
      compiler::compile({.source = source.path(), .targets = {"x86-64"}, .checked = true}).value(),
      "checked");
  std::vector<int> tensor(64);
  int out = 0;
  const auto own = [&](std::uint32_t i, std::uint32_t j) {
    const std::uint32_t constants[] = {3, 2, 2, i, j};
    checked.run("own_index", {1, 1, 1}, {tensor}, constants);
  };
  const auto input = [&](std::uint32_t i, std::uint32_t j) {
    const std::uint32_t constants[] = {3, 2, 2, i, j};
    checked.run("input_index", {1, 1, 1}, {tensor, out}, constants);
  };
  own(2, 1);
  EXPECT_EQ(tensor[5], 1);
  input(2, 1);
  EXPECT_EQ(out, 1);
  const auto trapped = ::testing::KilledBySignal(SIGILL);
  EXPECT_EXIT(own(3, 0), trapped, "");
  EXPECT_EXIT(own(0, 2), trapped, "");
  EXPECT_EXIT(own(~0u, 0), trapped, "");
  EXPECT_EXIT(input(3, 0), trapped, "");
  EXPECT_EXIT(input(0, 2), trapped, "");
}

}  // namespace
}  // namespace halyard::testing
