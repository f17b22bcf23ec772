// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What clang makes of the shipped kernels for x86-64-v3: arithmetic on eight elements at once, read
// from the disassembled image.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/process.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

namespace fs = std::filesystem;

struct ShippedCode {
  const char* file;
  const char* kernel;
  std::vector<const char*> packed;  // each is there, on whole 256-bit registers
  // How often single elements may be put together to a vector; more, and what lies side by side is
  // no longer loaded at once.
  int assembled = 2;
};

// Empty `packed` where there is nothing to be had:
//   fill_float, transpose   compute nothing; what they move is bound by memory
//   radix_move              each key's place depends on the keys before it
//   sha256                  each round depends on the one before, and messages differ in length
const std::vector<ShippedCode>& shipped_code() {
  static const std::vector<ShippedCode> all = {
      // Strided taps are put together.
      {"conv2d", "conv2d", {"vmulps", "vaddps"}, 12},
      {"elementwise", "add", {"vaddps"}},
      {"elementwise", "subtract", {"vsubps"}},
      {"elementwise", "multiply", {"vmulps"}},
      {"elementwise", "divide", {"vdivps"}},
      {"elementwise", "minimum", {"vminps"}},
      {"elementwise", "maximum", {"vmaxps"}},
      {"elementwise", "negate", {"vxorps"}},
      {"elementwise", "absolute", {"vandps"}},
      {"elementwise", "exp", {"vmulps", "vaddps", "vpaddd"}},
      {"elementwise", "log", {"vmulps", "vaddps", "vpaddd"}},
      {"elementwise", "sqrt", {"vsqrtps"}},
      {"elementwise", "relu", {"vmaxps"}},
      {"elementwise", "sigmoid", {"vmulps", "vaddps", "vdivps"}},
      {"elementwise", "axpby", {"vmulps", "vaddps"}},
      {"elementwise", "fill_float", {}},
      {"histogram", "histogram", {"vpaddd"}},
      {"histogram", "histogram_sum", {"vpaddd"}},
      {"layer_norm", "layer_norm", {"vaddps", "vsubps", "vmulps", "vdivps"}},
      // At the left and the right edge of the board the neighbours are put together.
      {"life", "life", {"vpaddd", "vpcmpeqd"}, 18},
      // At the edges of the matrices.
      {"matmul", "matmul", {"vmulps", "vaddps"}, 8},
      {"radix_sort", "radix_count", {"vpaddd"}},
      {"radix_sort", "radix_move", {}},
      {"reduce", "sum_float", {"vaddps"}},
      {"reduce", "max_float", {"vmaxps"}},
      {"reduce", "min_float", {"vminps"}},
      {"reduce", "sum_uint", {"vpaddd"}},
      {"saxpy", "saxpy", {"vmulps", "vaddps"}},
      {"scan", "scan_inclusive", {"vpaddd"}},
      {"scan", "scan_exclusive", {"vpaddd"}},
      {"scan", "scan_add", {"vpaddd"}},
      {"sha256", "sha256", {}},
      {"softmax", "softmax", {"vmaxps", "vmulps", "vaddps", "vdivps"}},
      {"transpose", "transpose", {}},
  };
  return all;
}

fs::path source(std::string_view file) {
  return fs::path(HALYARD_SOURCE_DIR) / "kernels" / (std::string(file) + ".hyk");
}

// How often each instruction stands in a kernel: by mnemonic, those on 256-bit registers with
// " ymm" behind it.
using Counts = std::map<std::string, int>;

// The kernels of a file. Its image for x86-64-v3 goes through the objdump that comes with g++.
std::map<std::string, Counts> disassemble(const std::string& file) {
  const auto bytes =
      compiler::compile({.source = source(file).string(), .targets = {"x86-64-v3"}}).value();
  const auto scratch = compiler::TemporaryDirectory::create().value();
  const fs::path image = scratch.path() / "image.so";
  const kernel::Hyx hyx = kernel::Hyx::parse(bytes, file).value();
  const auto code = hyx.images()[0].bytes;
  EXPECT_TRUE(
      compiler::write_file(image, {reinterpret_cast<const char*>(code.data()), code.size()}).ok());
  const auto listing = compiler::run_process(
      {compiler::find_program("objdump"), "-d", "--no-show-raw-insn", image.string()}, scratch);

  std::map<std::string, Counts> kernels;
  Counts* counts = nullptr;
  std::istringstream lines(listing.value().out);
  for (std::string line; std::getline(lines, line);) {
    // "0000000000001000 <name>:" or "    1000:<tab>mnemonic operands"
    if (line.ends_with(">:")) {
      const std::size_t begin = line.find('<') + 1;
      counts = &kernels[line.substr(begin, line.size() - 2 - begin)];
    } else if (const std::size_t tab = line.find('\t'); tab != line.npos && counts != nullptr) {
      const std::string mnemonic = line.substr(tab + 1, line.find(' ', tab) - tab - 1);
      ++(*counts)[mnemonic + (line.find("ymm", tab) != line.npos ? " ymm" : "")];
    }
  }
  return kernels;
}

TEST(ShippedCode, WorksOnEightElementsAtOnce) {
  std::map<std::string, std::map<std::string, Counts>> files;
  for (const auto& [file, kernel, packed, assembled] : shipped_code()) {
    if (!files.contains(file)) files[file] = disassemble(file);
    const Counts& counts = files[file][kernel];
    ASSERT_FALSE(counts.empty()) << kernel;
    for (const std::string mnemonic : packed) {
      EXPECT_TRUE(counts.contains(mnemonic + " ymm")) << kernel << " has no packed " << mnemonic;
    }
    if (packed.empty()) continue;
    int inserted = 0;
    for (const auto& [mnemonic, count] : counts) {
      const bool inserts = mnemonic.starts_with("vinsertps") || mnemonic.starts_with("vpinsr") ||
                           mnemonic.find("gather") != mnemonic.npos;
      if (inserts) inserted += count;
    }
    EXPECT_LE(inserted, assembled) << kernel << " puts vectors together element by element";
  }
}

TEST(ShippedCode, IsExpectedOfEveryKernel) {
  std::set<std::string> known;
  for (const ShippedCode& code : shipped_code()) known.insert(code.file);
  for (const auto& entry : fs::directory_iterator(source("").parent_path())) {
    if (entry.path().extension() != ".hyk") continue;
    const std::string file = entry.path().stem();
    ASSERT_TRUE(known.contains(file)) << file;
    for (const auto& [kernel, counts] : disassemble(file)) {
      EXPECT_TRUE(std::ranges::any_of(shipped_code(), [&](const ShippedCode& code) {
        return code.file == file && code.kernel == kernel;
      })) << kernel;
    }
  }
}

}  // namespace
}  // namespace halyard::testing
