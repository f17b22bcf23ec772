// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile time of a program with async: the trainer of `digits`, compiled as in this build but
// without a cache. Measures the compiler's time in user space, which other programs on the machine
// lengthen only a little, and takes the least of three runs.
#include <sys/resource.h>
#include <sys/wait.h>
#include <cstdio>
#include <cstdlib>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>

#include <nlohmann/json.hpp>

#include "program.h"

namespace halyard_test {
namespace {

constexpr double kLimit = 10;  // seconds; g++ 12 with -O3 takes 5 to 7 on an AMD EPYC
constexpr int kRuns = 3;

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

// User time of all ended child processes.
double user_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
}

TEST(CompileTime, OfAProgramOverAsyncIsLessThanTenSeconds) {
  const std::string output = test_path("o");
  const std::string command = command_to_compile(output);
  ASSERT_FALSE(command.empty());
  std::optional<double> least;
  for (int run = 0; run < kRuns && least.value_or(kLimit) >= kLimit; ++run) {
    const double before = user_seconds();
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    const double taken = user_seconds() - before;
    std::printf("%.1f s\n", taken);
    least = std::min(taken, least.value_or(taken));
  }
  EXPECT_GT(std::filesystem::file_size(output), 0u);
  std::filesystem::remove(output);
  EXPECT_GT(*least, 0) << "nothing was compiled";
  EXPECT_LT(*least, kLimit);
}

}  // namespace
}  // namespace halyard_test
