// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels in docs/kernels.md, read from the document.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

// The text between "```c" and "```".
std::vector<std::string> c_blocks(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```c") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + '\n';
    }
  }
  return blocks;
}

TEST(Guide, EveryKernelInItCompilesWithoutAWarning) {
  const std::vector<std::string> blocks = c_blocks(HALYARD_SOURCE_DIR "/docs/kernels.md");
  EXPECT_GE(blocks.size(), 7u);
  for (const std::string& block : blocks) {
    const TextFile file(block);
    std::string warnings;
    const auto bytes = compiler::compile(
        {.source = file.path(), .targets = {"x86-64"}, .checked = true, .warnings = &warnings});
    EXPECT_TRUE(bytes.ok()) << block << bytes.status().message();
    EXPECT_EQ(warnings, "") << block;
  }
}

TEST(Guide, ItsReductionGivesSharesOfASum) {
  for (const std::string& block : c_blocks(HALYARD_SOURCE_DIR "/docs/kernels.md")) {
    if (block.find("HY_KERNEL(shares,") == block.npos) continue;
    std::vector<float> x(300, 1.0f);
    std::vector<float> y(301, -1.0f);
    const std::uint32_t n = 300;
    Kernels(compile_text(block).value(), "shares").run("shares", {2, 1, 1}, {x, y}, &n);
    EXPECT_EQ(y[0], 1.0f / 256);
    EXPECT_EQ(y[299], 1.0f / 44);
    EXPECT_EQ(y[300], -1.0f);
    return;
  }
  FAIL() << "the guide has no kernel 'shares'";
}

TEST(Guide, ItsMatrixProductIsCorrect) {
  for (const std::string& block : c_blocks(HALYARD_SOURCE_DIR "/docs/kernels.md")) {
    if (block.find("HY_KERNEL(matmul,") == block.npos) continue;
    constexpr std::uint32_t kRows = 18, kInner = 21, kColumns = 35;
    std::vector<float> a(kRows * kInner);
    std::vector<float> b(kInner * kColumns);
    std::vector<float> c(kRows * kColumns);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5);
    const std::uint32_t constants[] = {kRows,    kInner, kInner,   kInner,  kColumns,
                                       kColumns, kRows,  kColumns, kColumns};
    Kernels(compile_text(block).value(), "matmul").run("matmul", {3, 2, 1}, {a, b, c}, constants);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        float want = 0.0f;
        for (std::size_t k = 0; k < kInner; ++k) want += a[i * kInner + k] * b[k * kColumns + j];
        ASSERT_EQ(c[i * kColumns + j], want) << i << " " << j;
      }
    }
    return;
  }
  FAIL() << "the guide has no kernel 'matmul'";
}

}  // namespace
}  // namespace halyard::testing
