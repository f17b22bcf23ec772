// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stop requests before and after the submission, from within and from other threads.
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::await_into;
using ::testing::Each;
using testing::Handmade;
using testing::refused_with;

class AsyncStop : public testing::SteppedTest {
 protected:
  auto reading() { return to_host(x) | on(runtime.device()) | stop_with(source.get_token()); }

  // Waits until another thread has submitted work to any queue.
  void await_submission() {
    for (;; std::this_thread::yield()) {
      for (hal::testing::FakeLane* const lane : control->lanes) {
        if (lane != nullptr && lane->pending() != 0) return;
      }
    }
  }

  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  std::stop_source source;
  std::optional<Result<std::vector<float>>> out;
};

TEST_F(AsyncStop, ARequestBeforeTheAwaitSubmitsNothing) {
  source.request_stop();
  const auto before = used_bytes();
  const Handmade coroutine = await_into(out, reading());
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(out->status(), refused_with(StatusCode::kCancelled, "a stop was requested"));
  EXPECT_EQ(run_queue(0), 0);
  EXPECT_EQ(used_bytes(), before);
}

TEST_F(AsyncStop, ARequestEndsTheAwaitAtOnceAndTheWorkGoesOn) {
  const Handmade coroutine = await_into(out, reading());
  EXPECT_FALSE(coroutine.done());
  source.request_stop();
  ASSERT_TRUE(coroutine.done()) << "before any work has run";
  EXPECT_THAT(out->status(), refused_with(StatusCode::kCancelled, "a stop was requested"));
  EXPECT_GT(run_queue(0), 0);
  EXPECT_THAT(elements(x), Each(1.0f));
}

TEST_F(AsyncStop, ARequestAfterTheEndChangesNothing) {
  const Handmade coroutine = await_into(out, reading());
  run_all();
  source.request_stop();
  EXPECT_THAT(out->value(), Each(1.0f));
}

TEST_F(AsyncStop, AnAwaiterThatIsDestroyedHearsOfNoRequest) {
  {
    const Handmade coroutine = await_into(out, reading());
  }
  source.request_stop();
  run_all();
  EXPECT_FALSE(out.has_value());
}

// Its work never runs.
TEST_F(AsyncStop, WhoBlocksIsWokenByTheRequest) {
  for (int i = 0; i < 20; ++i) {
    std::jthread waiter([&] {
      const auto result = sync_wait(as_result(to_host(x)), runtime, source.get_token());
      EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
    });
    await_submission();
    source.request_stop();
    waiter.join();
    source = std::stop_source();
    run_all();
  }
}

Task<> read_both(Shared<Tensor<float>> tensor, int& cancelled) {
  const auto read = [](auto operation, int& count) -> Task<> {
    const auto result = co_await as_result(std::move(operation));
    count += result.status().code() == StatusCode::kCancelled;
  };
  Nursery nursery;
  co_await nursery.spawn(read(to_host(tensor), cancelled));
  co_await nursery.spawn(read(to_host(tensor), cancelled));
  co_await nursery.join();
}

TEST_F(AsyncStop, ARequestReachesAllTasksOfARunner) {
  int cancelled = 0;
  std::jthread waiter([&] { sync_wait(read_both(x, cancelled), runtime, source.get_token()); });
  await_submission();
  source.request_stop();
  waiter.join();
  EXPECT_EQ(cancelled, 2);
}

// A future with a token, awaited in a Task with another token. The request comes before the thread
// sleeps, or after.
TEST_F(AsyncStop, OfTwoTokensEitherStopsTheAwait) {
  for (int i = 0; i < 40; ++i) {
    const bool by_task = i % 2 == 0;
    std::stop_source other;
    const auto read = [](auto future) -> Task<Status> {
      const auto result = co_await as_result(std::move(future));
      co_return result.status();
    };
    std::jthread waiter([&] {
      EXPECT_THAT(sync_wait(read(reading()), runtime, other.get_token()),
                  refused_with(StatusCode::kCancelled, "a stop was requested"));
    });
    await_submission();
    for (int turn = 0; turn < 20 * i; ++turn) std::this_thread::yield();
    (by_task ? other : source).request_stop();
    waiter.join();
    source = std::stop_source();
    run_all();
  }
}

TEST_F(AsyncStop, APartOfAnOperationLooksAtItsTokenAsItIsSubmitted) {
  source.request_stop();
  std::optional<Result<std::tuple<std::vector<float>, int>>> both;
  const Handmade coroutine = await_into(both, zip(reading(), 1) | on(runtime.device()));
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(both->status(), refused_with(StatusCode::kCancelled, "a stop was requested"));
  EXPECT_EQ(run_queue(0), 0);
}

class AsyncStopOnThreads : public testing::AsyncTest {};

Task<int> counting(std::stop_source& source, int until) {
  for (int i = 0;; ++i) {
    if (i == until) source.request_stop();
    const auto result = co_await as_result(ones<float>({16}));
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
      co_return i;
    }
  }
}

TEST_F(AsyncStopOnThreads, ATaskAwaitsNothingMoreOnceAStopIsRequested) {
  std::stop_source source;
  EXPECT_EQ(sync_wait(counting(source, 3), runtime, source.get_token()), 3);
}

}  // namespace
}  // namespace halyard::async
