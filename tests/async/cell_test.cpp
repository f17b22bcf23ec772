// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared operations, which run once.
#include "halyard/async/cell.h"

#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using testing::refused_with;
using testing::saxpy;

class AsyncCell : public AsyncTest {
 protected:
  // Counts how often it runs.
  template <class T>
  auto counted(T result) {
    return value(std::move(result)) | inspect([this](const auto&) { ++runs; });
  }
  // Returns `result` and counts its runs in `count`.
  static auto leaf(int result, int& count) {
    return value(result) | inspect([&count](int) { ++count; });
  }
  std::atomic<int> runs{0};
};

TEST_F(AsyncCell, UnzipGivesAnOperationForEachPart) {
  auto [a, x, y] =
      unzip(saxpy(2.0f, ones<float>({16, 16}) | share, ones<float>({16, 16}) | partition(4, 4)));
  Shared<Tensor<float>> sum = run(std::move(y) | unpartition | share);
  EXPECT_THAT(elements(sum), Each(3.0f));
  EXPECT_EQ(run(std::move(a)), 2.0f);
  EXPECT_THAT(elements(std::move(x)), Each(1.0f));
}

TEST_F(AsyncCell, ItsParentRunsOnceAndOnlyIfAPartIsAwaited) {
  {
    auto parts = counted(std::tuple(1, 2)) | unzip;
  }
  EXPECT_EQ(runs, 0);
  auto [first, second] = counted(std::tuple(1, 2)) | unzip;
  EXPECT_EQ(run(std::move(second)), 2);
  EXPECT_EQ(run(std::move(first)), 1);
  EXPECT_EQ(runs, 1);
}

TEST_F(AsyncCell, EachLeafRunsOnceInWhicheverOrderThePartsAreAwaited) {
  int counts[3] = {};
  auto [a, b, c] = unzip(zip(leaf(1, counts[0]), leaf(2, counts[1]), leaf(3, counts[2])));
  EXPECT_THAT(counts, Each(0));
  EXPECT_EQ(run(std::move(c)), 3);
  EXPECT_EQ(run(std::move(b)), 2);
  EXPECT_EQ(run(std::move(a)), 1);
  EXPECT_THAT(counts, Each(1));
}

TEST_F(AsyncCell, EachLeafRunsOnceWhereThePartsAreZippedAgain) {
  int counts[3] = {};
  auto [a, b] = unzip(zip(leaf(1, counts[0]), leaf(2, counts[1])));
  auto [c, ab] = unzip(zip(leaf(3, counts[2]), zip(std::move(b), std::move(a))));
  auto again = zip(std::move(ab), std::move(c)) | unzip;
  EXPECT_THAT(counts, Each(0));
  EXPECT_EQ(run(zip(std::get<1>(std::move(again)), std::get<0>(std::move(again)))),
            std::tuple(3, std::tuple(2, 1)));
  EXPECT_THAT(counts, Each(1));
}

TEST_F(AsyncCell, APartRunsOnce) {
  auto [first, second] = unzip(zip(1, 2));
  EXPECT_EQ(run(std::move(first)), 1);
  EXPECT_THAT(failure(std::move(first)),
              refused_with(StatusCode::kFailedPrecondition, "an operation runs once"));
}

TEST_F(AsyncCell, ASharedOperationIsCopiedAndRunsOnce) {
  auto x = counted(20) | share;
  static_assert(std::is_copy_constructible_v<decltype(x)>);
  auto [a, b] = run(zip(x, x | map([](int y) { return y + 1; })));
  EXPECT_EQ(a, 20);
  EXPECT_EQ(b, 21);
  EXPECT_EQ(run(std::move(x)), 20) << "again, in another tree";
  EXPECT_EQ(runs, 1);
}

TEST_F(AsyncCell, ASharedOperationGivesTheSameTensor) {
  auto x = ones<float>({16, 16}) | share;
  static_assert(std::is_same_v<decltype(x), SharedOperation<Shared<Tensor<float>>>>);
  auto [a, b] = run(zip(x, x));
  EXPECT_EQ(a.storage(), b.storage());
  EXPECT_THAT(elements(add(x, mul(x, x))), Each(2.0f));
  auto tiles = ones<float>({16, 16}) | partition(4, 4) | share;
  static_assert(std::is_same_v<decltype(tiles), decltype(x)>);
}

TEST_F(AsyncCell, ThreadsThatAwaitItAtOnceRunItOnce) {
  for (int round = 0; round < 50; ++round) {
    runs = 0;
    auto x = ones<float>({64}) | inspect([this](const auto&) { ++runs; }) | share;
    auto [even, odd] = unzip(zip(x, mul(x, full<float>({64}, 3.0f))));
    std::vector<std::thread> threads;
    threads.emplace_back([&] { EXPECT_THAT(elements(std::move(even)), Each(1.0f)); });
    threads.emplace_back([&] { EXPECT_THAT(elements(std::move(odd)), Each(3.0f)); });
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] { EXPECT_THAT(elements(add(x, x)), Each(2.0f)); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(runs, 1);
  }
}

TEST_F(AsyncCell, ItsFailureReachesEachAwait) {
  auto mismatch = add(ones<float>({4}), ones<float>({5})) | share;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(failure(relu(mismatch)), refused_with(StatusCode::kInvalidArgument, "4 and 5"));
  }
}

TEST_F(AsyncCell, WhatItsFunctionThrowsReachesEachAwait) {
  auto x = value(1) | map([this](int) -> int {
             ++runs;
             throw std::runtime_error("on purpose");
           }) |
           share;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(run(SharedOperation(x)), std::runtime_error);
  EXPECT_EQ(runs, 1);
}

// The first tree that awaits x fails because of its other operand.
TEST_F(AsyncCell, AFaultOfTheTreeThatRunsItIsNotItsOwn) {
  auto x = ones<float>({4}) | share;
  EXPECT_THAT(failure(add(x, ones<float>({5}))), refused_with(StatusCode::kInvalidArgument, "4"));
  EXPECT_THAT(elements(relu(x)), Each(1.0f));
}

TEST_F(AsyncCell, ATaskAwaitsASharedOperationWithoutAMove) {
  auto twice = [](auto x) -> Task<bool> {
    Shared<Tensor<float>> a = co_await x;
    Shared<Tensor<float>> b = co_await x;
    co_return a.storage() == b.storage();
  };
  EXPECT_TRUE(run(twice(ones<float>({4}) | share)));
}

class AsyncFinishedCell : public AsyncCell {
 protected:
  AsyncFinishedCell() {
    (void)elements(x);
    (void)run(SharedOperation(x));  // finds that it has ended
  }
  SharedOperation<Shared<Tensor<float>>> x = ones<float>({4}) | share;
};

TEST_F(AsyncFinishedCell, GivesATaskItsValueAgainAndAgain) {
  ASSERT_NE(x.finished(), nullptr);
  const auto task = [](auto shared) -> Task<bool> {
    const auto a = co_await shared;
    const auto b = co_await as_result(shared);
    const auto c = co_await std::move(shared);
    co_return a.storage() == b.value().storage() && a.storage() == c.storage();
  };
  EXPECT_TRUE(run(task(x)));
  EXPECT_EQ(sync_wait(x, runtime).storage(), sync_wait(as_result(x), runtime).value().storage());
  EXPECT_THAT(elements(add(x, x)), Each(2.0f));
}

TEST_F(AsyncFinishedCell, IsGoneOnceItWasMovedFrom) {
  const auto task = [](auto shared) -> Task<Status> {
    (void)co_await std::move(shared);
    const auto again = co_await as_result(std::move(shared));
    co_return again.status();
  };
  EXPECT_THAT(run(task(x)), refused_with(StatusCode::kFailedPrecondition, "was moved from"));
}

TEST_F(AsyncFinishedCell, IsNotGivenOnceAStopIsRequested) {
  std::stop_source stop;
  const auto task = [](auto shared, std::stop_source& source) -> Task<Status> {
    source.request_stop();
    const auto given = co_await as_result(std::move(shared));
    co_return given.status();
  };
  EXPECT_THAT(sync_wait(task(x, stop), runtime, stop.get_token()),
              refused_with(StatusCode::kCancelled, "a stop was requested"));
}

}  // namespace
}  // namespace halyard::async
