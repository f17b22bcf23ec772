// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel sources that must not compile.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {

// The message must name `line`, and no other error of clang.
struct Rejected {
  const char* name;
  const char* source;
  int line;
  const char* message;
};

inline void PrintTo(const Rejected& rejected, std::ostream* out) { *out << rejected.name; }

inline std::string name_of_case(const ::testing::TestParamInfo<Rejected>& test) {
  return test.param.name;
}

inline std::string message_of(const Result<std::vector<std::byte>>& result) {
  return result.ok() ? "ok" : result.status().to_string();
}

inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Neither notes nor errors that follow from the first one.
inline void expect_one_error(std::string_view message) {
  EXPECT_EQ(occurrences(message, "error: "), 1u) << message;
  EXPECT_EQ(occurrences(message, "note: "), 0u) << message;
  EXPECT_EQ(occurrences(message, " generated."), 0u) << message;
  EXPECT_LE(std::ranges::count(message, '\n'), 4) << message;
}

inline void expect_one_error_at_a_place(const std::string& message) {
  std::set<std::string> places;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t error = line.find(": error: ");
    if (error == line.npos) continue;
    EXPECT_TRUE(places.insert(line.substr(0, error)).second) << message;
  }
}

inline void expect_rejected(const Rejected& rejected) {
  const TextFile file(rejected.source);
  const auto result = compiler::compile({.source = file.path(), .targets = {"x86-64"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(result),
              ::testing::HasSubstr(file.path() + ":" + std::to_string(rejected.line) + ":"));
  EXPECT_THAT(message_of(result), ::testing::HasSubstr(rejected.message));
  if (message_of(result).find(": does not compile\n") != std::string::npos) {
    expect_one_error(message_of(result));
  }
  expect_one_error_at_a_place(message_of(result));
}

}  // namespace halyard::testing
