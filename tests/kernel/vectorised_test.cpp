// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks clang's code for the shipped kernels for x86-64-v3: arithmetic on eight elements at once,
// or on four doubles, in the disassembled image.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/sanitizers.h"
#include "compiler/process.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

namespace fs = std::filesystem;

struct ShippedCode {
  std::string_view kernel;
  std::vector<const char*> packed;  // each occurs, on whole 256-bit registers
  // Limit on vectors that are assembled from single elements; beyond it, adjacent elements are no
  // longer loaded at once.
  int assembled = 2;
};

// Empty `packed` for kernels that cannot be vectorised:
//   fill_float, fill_64, transpose   compute nothing and are bound by memory
//   radix_move    the place of each key depends on the previous keys
//   histogram     of each bin the sum of 32 neighbours, unrolled before it is vectorised
//   sha256        each round depends on the previous one, and messages differ in length
const std::vector<ShippedCode>& shipped_code() {
  static const std::vector<ShippedCode> all = {
      // Strided taps are assembled.
      {"conv2d", {"vmulps", "vaddps"}, 12},
      {"add", {"vaddps"}},
      {"subtract", {"vsubps"}},
      {"multiply", {"vmulps"}},
      {"divide", {"vdivps"}},
      {"add_broadcast", {"vaddps"}},
      {"subtract_broadcast", {"vsubps"}},
      {"multiply_broadcast", {"vmulps"}},
      {"divide_broadcast", {"vdivps"}},
      {"add_uint_broadcast", {"vpaddd"}},
      {"subtract_uint_broadcast", {"vpsubd"}},
      {"multiply_uint_broadcast", {"vpmulld"}},
      {"add_double_broadcast", {"vaddpd"}},
      {"subtract_double_broadcast", {"vsubpd"}},
      {"multiply_double_broadcast", {"vmulpd"}},
      {"divide_double_broadcast", {"vdivpd"}},
      // Elements at indices that are in memory are assembled.
      {"argmax_float", {"vcmpltps", "vcmpeqps"}, 6},
      {"argmax_next_float", {"vcmpltps", "vcmpeqps"}, 12},
      {"argmax_rows", {"vcmpltps", "vcmpeqps"}},
      {"argmax_columns", {"vcmpltps", "vcmpeqps"}},
      {"argmax_uint", {"vpcmpeqd"}, 6},
      {"argmax_next_uint", {"vpcmpeqd"}, 12},
      {"argmax_rows_uint", {"vpcmpeqd"}},
      {"argmax_columns_uint", {"vpcmpeqd"}},
      {"argmax_int", {"vpcmpgtd", "vpcmpeqd"}, 6},
      {"argmax_next_int", {"vpcmpgtd", "vpcmpeqd"}, 12},
      {"argmax_rows_int", {"vpcmpgtd", "vpcmpeqd"}},
      {"argmax_columns_int", {"vpcmpgtd", "vpcmpeqd"}},
      {"argmax_double", {"vcmpltpd", "vcmpeqpd"}, 3},
      {"argmax_next_double", {"vcmpltpd", "vcmpeqpd"}, 3},
      {"argmax_rows_double", {"vcmpltpd", "vcmpeqpd"}},
      {"argmax_columns_double", {"vcmpltpd", "vcmpeqpd"}},
      {"minimum", {"vminps"}},
      {"maximum", {"vmaxps"}},
      {"add_uint", {"vpaddd"}},
      {"subtract_uint", {"vpsubd"}},
      {"multiply_uint", {"vpmulld"}},
      {"scale", {"vmulps"}},
      {"scale_uint", {"vpmulld"}},
      {"add_double", {"vaddpd"}},
      {"subtract_double", {"vsubpd"}},
      {"multiply_double", {"vmulpd"}},
      {"divide_double", {"vdivpd"}},
      {"scale_double", {"vmulpd"}},
      {"negate", {"vxorps"}},
      {"absolute", {"vandps"}},
      {"exp", {"vmulps", "vaddps", "vpaddd"}},
      {"log", {"vmulps", "vaddps", "vpaddd"}},
      {"sqrt", {"vsqrtps"}},
      {"relu", {"vmaxps"}},
      {"sigmoid", {"vmulps", "vaddps", "vdivps"}},
      {"axpby", {"vmulps", "vaddps"}},
      {"fill_float", {}},
      {"fill_64", {}},
      {"arange_8", {"vpaddd"}},
      {"arange_16", {"vpaddd"}},
      {"arange_32", {"vpaddd"}},
      {"arange_64", {"vpsrld"}},
      {"arange_float", {"vcvtdq2ps"}},
      {"arange_double", {"vcvtdq2ps"}},
      {"arange_half", {"vpsrld", "vpminud"}},
      {"histogram", {}},
      {"histogram_sum", {"vpaddd"}},
      {"layer_norm", {"vaddps", "vsubps", "vmulps", "vdivps"}},
      // At the left and the right edge of the board the neighbours are assembled.
      {"life", {"vpaddd", "vpcmpeqd"}, 27},
      // At the edges of the matrices.
      {"matmul", {"vmulps", "vaddps"}, 8},
      {"radix_count", {"vpaddd"}},
      {"radix_move", {}},
      {"random_uint", {"vpmuludq", "vpxor"}},
      {"random_uniform", {"vpmuludq", "vpxor", "vmulps"}},
      {"random_normal", {"vpmuludq", "vpxor", "vmulps"}},
      {"sum_float", {"vaddps"}},
      {"max_float", {"vmaxps"}},
      {"min_float", {"vminps"}},
      {"sum_uint", {"vpaddd"}},
      {"sum_rows", {"vaddps"}},
      {"max_rows", {"vmaxps"}},
      {"min_rows", {"vminps"}},
      {"sum_columns", {"vaddps"}},
      {"max_columns", {"vmaxps"}},
      {"min_columns", {"vminps"}},
      {"max_uint", {"vpmaxud"}},
      {"min_uint", {"vpminud"}},
      {"max_int", {"vpmaxsd"}},
      {"min_int", {"vpminsd"}},
      {"sum_double", {"vaddpd"}},
      {"max_double", {"vmaxpd"}},
      {"min_double", {"vminpd"}},
      {"sum_rows_uint", {"vpaddd"}},
      {"max_rows_uint", {"vpmaxud"}},
      {"min_rows_uint", {"vpminud"}},
      {"max_rows_int", {"vpmaxsd"}},
      {"min_rows_int", {"vpminsd"}},
      {"sum_rows_double", {"vaddpd"}},
      {"max_rows_double", {"vmaxpd"}},
      {"min_rows_double", {"vminpd"}},
      {"sum_columns_uint", {"vpaddd"}},
      {"max_columns_uint", {"vpmaxud"}},
      {"min_columns_uint", {"vpminud"}},
      {"max_columns_int", {"vpmaxsd"}},
      {"min_columns_int", {"vpminsd"}},
      {"sum_columns_double", {"vaddpd"}},
      {"max_columns_double", {"vmaxpd"}},
      {"min_columns_double", {"vminpd"}},
      {"saxpy", {"vmulps", "vaddps"}},
      {"saxpy_tile", {"vmulps", "vaddps"}},
      {"scan_inclusive", {"vpaddd"}},
      {"scan_exclusive", {"vpaddd"}},
      {"scan_add", {"vpaddd"}},
      {"sha256", {}},
      {"softmax", {"vmaxps", "vmulps", "vaddps", "vdivps"}},
      {"transpose", {}},
  };
  return all;
}

// Number of occurrences of each instruction in a kernel, by mnemonic; with " ymm" appended for
// 256-bit registers.
using Counts = std::map<std::string, int>;

// Disassembles the kernels of a file's image for x86-64-v3 with the objdump of g++.
std::map<std::string, Counts> disassemble(const std::string& file) {
  const auto bytes = compiler::compile({.source = file, .targets = {"x86-64-v3"}}).value();
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

void expect(const ShippedCode& code, const Counts& counts) {
  for (const std::string mnemonic : code.packed) {
    EXPECT_TRUE(counts.contains(mnemonic + " ymm")) << code.kernel << ": no packed " << mnemonic;
  }
  int assembled = 0;
  for (const auto& [mnemonic, count] : counts) {
    const bool inserts = mnemonic.starts_with("vinsertps") || mnemonic.starts_with("vpinsr") ||
                         mnemonic.find("gather") != mnemonic.npos;
    if (inserts) assembled += count;
  }
  EXPECT_TRUE(code.packed.empty() || assembled <= code.assembled)
      << code.kernel << ": vectors are put together element by element, " << assembled << " times";
}

TEST(ShippedCode, WorksOnEightElementsAtOnce) {
  if (HALYARD_ASAN || HALYARD_TSAN) GTEST_SKIP() << "clang makes the same code without sanitizers";
  std::size_t found = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(HALYARD_SOURCE_DIR) / "kernels")) {
    if (entry.path().extension() != ".hyk") continue;
    for (const auto& [kernel, counts] : disassemble(entry.path())) {
      const auto code = std::ranges::find(shipped_code(), kernel, &ShippedCode::kernel);
      ASSERT_NE(code, shipped_code().end()) << kernel << " is missing in this table";
      expect(*code, counts);
      ++found;
    }
  }
  EXPECT_EQ(found, shipped_code().size());
}

}  // namespace
}  // namespace halyard::testing
