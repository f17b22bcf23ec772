// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of operations that a loop builds, each from the previous operation: the greatest depth,
// and the error beyond it.
#include "halyard/async/detail/nesting.h"

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using ::testing::Each;
using testing::refused_with;

constexpr std::uint32_t kDeepest = detail::kMaxNesting;  // 2000
constexpr std::uint32_t kFarTooMany = 200'000;

class AsyncNesting : public testing::AsyncTest {
 protected:
  // `links` boxed operations, each within the next.
  static auto boxes(std::uint32_t links) {
    auto x = zeros<float>({4}) | boxed;
    for (std::uint32_t i = 1; i < links; ++i) x = relu(std::move(x)) | boxed;
    return x;
  }
  static auto shares(std::uint32_t links) {
    auto x = zeros<float>({4}) | share;
    for (std::uint32_t i = 1; i < links; ++i) x = relu(x) | share;
    return x;
  }
};

TEST_F(AsyncNesting, TwoThousandLinksAreExecuted) {
  EXPECT_THAT(elements(boxes(kDeepest)), Each(0.0f));
  EXPECT_THAT(elements(shares(kDeepest)), Each(0.0f));
}

TEST_F(AsyncNesting, OneMoreIsRefused) {
  const auto refused = refused_with(StatusCode::kOutOfRange, "more than 2000 deep: await one");
  EXPECT_THAT(failure(boxes(kDeepest + 1)), refused);
  EXPECT_THAT(failure(shares(kDeepest + 1)), refused);
  // Both kinds nested in each other, and in parts of the tree on separate queues.
  auto mixed = relu(shares(kDeepest / 2)) | boxed;
  for (std::uint32_t i = 1; i < kDeepest / 2; ++i) {
    mixed = schedule(relu(std::move(mixed)), LocalityFirst()) | boxed;
  }
  EXPECT_THAT(failure(relu(std::move(mixed)) | boxed), refused);
}

TEST_F(AsyncNesting, FarTooManyAreRefusedToo) {
  const auto refused = refused_with(StatusCode::kOutOfRange, "await one in between");
  EXPECT_THAT(failure(boxes(kFarTooMany)), refused);
  EXPECT_THAT(failure(shares(kFarTooMany)), refused);
  EXPECT_THAT(failure(schedule(boxes(kFarTooMany), LocalityFirst())), refused);
}

TEST_F(AsyncNesting, WhatWasTooDeepHasNotRunAndMayBeAwaitedByItself) {
  auto inner = shares(kDeepest);
  auto outer = relu(inner) | share;
  for (std::uint32_t i = 1; i < kDeepest; ++i) outer = relu(outer) | share;
  const auto refused = refused_with(StatusCode::kOutOfRange, "await one in between");
  auto again = outer;
  EXPECT_THAT(failure(outer), refused);
  EXPECT_THAT(elements(inner), Each(0.0f));
  EXPECT_THAT(failure(again), refused) << "it has run, and failed";
}

TEST_F(AsyncNesting, AnyNumberIsDroppedWithoutBeingExecuted) {
  (void)boxes(kFarTooMany);
  (void)shares(kFarTooMany);
}

TEST_F(AsyncNesting, WithAnAwaitInBetweenThereIsNoLimit) {
  auto x = run(ones<float>({4}) | share);
  for (int part = 0; part < 3; ++part) {
    auto chain = relu(x) | share;
    for (std::uint32_t i = 1; i < kDeepest; ++i) chain = relu(chain) | share;
    x = run(std::move(chain));
  }
  EXPECT_THAT(elements(x), Each(1.0f));
}

}  // namespace
}  // namespace halyard::async
