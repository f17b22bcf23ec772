// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace halyard {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Status(StatusCode::kInvalidArgument, "odd");
  return number / 2;
}

TEST(Result, HoldsAValueOrTheReason) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_TRUE(half(4).status().ok());
  EXPECT_EQ(half(3).status().code(), StatusCode::kInvalidArgument);
}

TEST(Result, AndThenStopsAtTheFirstError) {
  EXPECT_EQ(half(8).and_then(half).value(), 2);
  EXPECT_EQ(half(6).and_then(half).status().message(), "odd");
  EXPECT_EQ(half(8).transform([](int n) { return std::to_string(n); }).value(), "4");
}

TEST(Result, ValueOfAnErrorThrowsTheWholeStatus) {
  try {
    (void)half(1).value();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "InvalidArgument: odd");
    EXPECT_EQ(error.status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_THROW(check(Status(StatusCode::kInternal, "x")), Error);
  EXPECT_NO_THROW(check(Status()));
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  Result<std::unique_ptr<int>> moved = std::move(result);
  std::unique_ptr<int> value = std::move(moved).value();
  EXPECT_EQ(*value, 5);
}

TEST(Result, FromAnOkStatusIsADefectNotAValue) {
  const Result<int> result = Status();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace halyard
