// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of compiling a program with async: the trainer of `digits`, compiled as in this build
// but without a cache. Compares the memory that the compiler allocates for its trees and its code,
// which does not depend on the machine or its load. The time is only reported.
#include <cstdio>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <nlohmann/json.hpp>

#include "program.h"

namespace halyard_test {
namespace {

// Megabytes that g++ 12 with -O3 allocates in all; it took 494 on 26 November 2026.
constexpr int kLimit = 550;

// A shell command in the build's folder; empty if the build does not compile it.
std::string command_to_compile(const std::string& output) {
  std::ifstream file(COMPILE_COMMANDS);
  for (const auto& entry : nlohmann::json::parse(file)) {
    const std::string command = entry["command"];
    if (command.find("examples/digits/CMakeFiles/digits.dir/") == command.npos) continue;
    const std::string compiler = command.substr(command.find(COMPILER));  // after a launcher
    return "cd '" + std::string(entry["directory"]) + "' && CCACHE_DISABLE=1 " +
           std::regex_replace(compiler, std::regex(" -o [^ ]+"), " -o '" + output + "'");
  }
  return {};
}

TEST(CompileCost, OfAProgramOverAsyncIsLessThan550Megabytes) {
  const std::string output = test_path("o"), report = test_path("report");
  const std::string command = command_to_compile(output);
  ASSERT_FALSE(command.empty());
  ASSERT_EQ(std::system((command + " -ftime-report 2> '" + report + "'").c_str()), 0) << command;
  EXPECT_GT(std::filesystem::file_size(output), 0u);

  // The last row, "TOTAL : user system wall memory": seconds, and kilobytes "k" or megabytes "M".
  std::ifstream file(report);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  std::smatch total;
  ASSERT_TRUE(std::regex_search(said, total, std::regex(" TOTAL +: +([0-9.]+) .* ([0-9]+)M")))
      << said;
  const int megabytes = std::stoi(total[2]);
  std::printf("%d MB, %s s of a processor\n", megabytes, total.str(1).c_str());
  EXPECT_LT(megabytes, kLimit);
  EXPECT_GT(megabytes, kLimit / 10) << "another unit?\n" << said;
  std::filesystem::remove(output);
  std::filesystem::remove(report);
}

}  // namespace
}  // namespace halyard_test
