// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/base/status.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace halyard {
namespace {

TEST(Status, DefaultIsOkAndPrintsSo) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), StatusCode::kOk);
  EXPECT_EQ(Status().to_string(), "Ok");
}

TEST(Status, ErrorKeepsCodeMessageAndNativeError) {
  const Status status(StatusCode::kDeviceLost, "queue 0: kernel faulted", "CUDA_ERROR_719");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.to_string(), "DeviceLost: queue 0: kernel faulted [CUDA_ERROR_719]");
}

TEST(Status, CopiesAreTheSameFailure) {
  const Status first(StatusCode::kDataLoss, "a");
  const Status copy = first;
  EXPECT_TRUE(copy.same_as(first));
  EXPECT_FALSE(Status(StatusCode::kDataLoss, "a").same_as(first));
}

TEST(Status, SurvivesTheWordItIsStoredIn) {
  Status status(StatusCode::kCancelled, "dropped");
  detail::StatusRecord* word = std::move(status).release_record();
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(Status::share_record(word).message(), "dropped");
  EXPECT_EQ(Status::adopt_record(word).message(), "dropped");
}

TEST(Status, AFormattedMessageIsWholeHoweverLong) {
  for (const std::size_t length : {0, 503, 504, 505, 5000}) {
    const std::string file(length, 'x');
    EXPECT_EQ(error(StatusCode::kNotFound, "no file {}", file).message(), "no file " + file);
  }
}

}  // namespace
}  // namespace halyard
