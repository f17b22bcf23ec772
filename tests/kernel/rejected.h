// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel sources that must not compile.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_test_util.h"

namespace halyard::testing {

// The message must name `line`.
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

inline void expect_rejected(const Rejected& rejected) {
  const TextFile file(rejected.source);
  const auto result = compiler::compile({.source = file.path(), .targets = {"x86-64"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(result),
              ::testing::HasSubstr(file.path() + ":" + std::to_string(rejected.line) + ":"));
  EXPECT_THAT(message_of(result), ::testing::HasSubstr(rejected.message));
}

}  // namespace halyard::testing
