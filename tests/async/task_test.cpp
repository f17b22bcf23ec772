// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks, and other coroutines.
#include "halyard/async/task.h"

#include <coroutine>
#include <exception>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "async/async_test_util.h"
#include "async/device_state.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using testing::Detached;
using ::testing::Each;
using testing::refused_with;

using AsyncTask = AsyncTest;

Task<int> number(int n) { co_return n; }
Task<> nothing() { co_return; }

TEST_F(AsyncTask, GivesItsValue) { EXPECT_EQ(run(number(7)), 7); }

TEST_F(AsyncTask, IsLazy) {
  bool ran = false;
  const auto task_of = [](bool& flag) -> Task<> {
    flag = true;
    co_return;
  };
  auto task = task_of(ran);
  EXPECT_FALSE(ran);
  run(std::move(task));
  EXPECT_TRUE(ran);
}

TEST_F(AsyncTask, MayBeDroppedBeforeItRuns) {
  auto held = run(ones<float>({4}) | share);
  {
    const auto task = [](Shared<Tensor<float>> x) -> Task<> { (void)co_await relu(x); }(held);
  }
  EXPECT_TRUE(std::move(held).try_unwrap().has_value()) << "its frame has dropped the share";
}

TEST_F(AsyncTask, AwaitsOperationsFuturesAndTasks) {
  const auto body = [](Runtime on_which) -> Task<float> {
    const int n = co_await number(3);
    auto x = co_await ones<float>({4});
    auto there = co_await (full<float>({4}, 5.0f) | on(on_which.device(1)));
    const auto back = co_await (to_host(std::move(there)) | on(on_which.device(1)));
    const auto here = co_await to_host(std::move(x));
    co_return static_cast<float>(n) + back[0] + here[0];
  };
  EXPECT_EQ(run(body(runtime)), 9.0f);
}

TEST_F(AsyncTask, ErrorsAreThrownOrReturned) {
  const auto body = []() -> Task<std::string> {
    const auto refused = co_await as_result(add(ones<float>({3}), ones<float>({2})));
    try {
      (void)co_await add(ones<float>({3}), ones<float>({2}));
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), refused.status().code());
      co_return std::string(error.status().message());
    }
    co_return "";
  };
  EXPECT_THAT(run(body()), ::testing::HasSubstr("add: shapes 3 and 2"));
}

Task<> throwing() {
  (void)co_await ones<float>({1});
  throw std::out_of_range("on purpose");
}

TEST_F(AsyncTask, AnExceptionReachesTheAwaiter) {
  const auto body = []() -> Task<bool> {
    try {
      co_await throwing();
    } catch (const std::out_of_range&) {
      co_return true;
    }
    co_return false;
  };
  EXPECT_TRUE(run(body()));
  EXPECT_THROW(run(throwing()), std::out_of_range);
}

struct Named {
  std::string name;
  int number;
};

TEST_F(AsyncTask, GivesWhatIsSaidInBraces) {
  const auto pair = []() -> Task<std::pair<int, std::string>> { co_return {7, "seven"}; };
  EXPECT_EQ(run(pair()), (std::pair<int, std::string>(7, "seven")));
  const auto aggregate = []() -> Task<Named> { co_return {"eight", 8}; };
  const Named named = run(aggregate());
  EXPECT_EQ(named.name, "eight");
  EXPECT_EQ(named.number, 8);
}

Task<int> refused() {
  (void)co_await add(ones<float>({3}), ones<float>({2}));
  co_return 1;
}
Task<> refused_too() { (void)co_await refused(); }

TEST_F(AsyncTask, AsResultGivesWhatATaskGivesOrWhyItGivesNothing) {
  const auto body = []() -> Task<> {
    const Result<int> seven = co_await as_result(number(7));
    EXPECT_EQ(seven.value(), 7);
    const Result<int> none = co_await as_result(refused());
    EXPECT_THAT(none.status(), refused_with(StatusCode::kInvalidArgument, "shapes 3 and 2"));
    const Status status = co_await as_result(refused_too());
    EXPECT_EQ(status.message(), none.status().message());
    EXPECT_TRUE((co_await as_result(nothing())).ok());
  };
  run(body());
  EXPECT_EQ(run(as_result(number(8))).value(), 8);
  EXPECT_EQ(run(as_result(refused())).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(run(as_result(refused_too())).code(), StatusCode::kInvalidArgument);
}

TEST_F(AsyncTask, AsResultWrapsNoResult) {
  const auto fallible = [](bool fails) -> Task<Result<int>> {
    if (fails) co_return Status(StatusCode::kUnavailable, "not today");
    co_return 7;
  };
  const auto status = []() -> Task<Status> {
    co_return Status(StatusCode::kUnavailable, "nor then");
  };
  EXPECT_EQ(run(as_result(fallible(false))).value(), 7);
  EXPECT_EQ(run(as_result(fallible(true))).status().message(), "not today");
  EXPECT_EQ(run(as_result(status())).message(), "nor then");
}

TEST_F(AsyncTask, AsResultLetsOtherExceptionsPass) {
  EXPECT_THROW((void)run(as_result(throwing())), std::out_of_range);
  const auto body = []() -> Task<bool> {
    try {
      (void)co_await as_result(throwing());
    } catch (const std::out_of_range&) {
      co_return true;
    }
    co_return false;
  };
  EXPECT_TRUE(run(body()));
}

TEST_F(AsyncTask, AsResultOfATaskThatIsGoneIsAStatus) {
  auto task = number(1);
  const auto taken = std::move(task);
  const auto gone = refused_with(StatusCode::kFailedPrecondition, "awaited or moved from");
  EXPECT_THAT(run(as_result(std::move(task))).status(), gone);
  const auto body = [](Task<int>& of) -> Task<Status> {
    const auto result = co_await as_result(std::move(of));
    co_return result.status();
  };
  EXPECT_THAT(run(body(task)), gone);
}

TEST_F(AsyncTask, IsAwaitedOnce) {
  auto task = number(1);
  const auto taken = std::move(task);
  EXPECT_THROW(run(std::move(task)), Error);
}

TEST_F(AsyncTask, IsWaitedForOnce) {
  auto task = number(1);
  EXPECT_EQ(run(std::move(task)), 1);
  EXPECT_THROW(run(std::move(task)), Error);
  EXPECT_FALSE(run(as_result(std::move(task))).ok());
  auto other = number(2);
  EXPECT_EQ(run(as_result(std::move(other))).value(), 2);
  EXPECT_THROW(run(std::move(other)), Error);
}

TEST_F(AsyncTask, StaysOnTheThreadThatWaitsForIt) {
  const auto body = []() -> Task<bool> {
    const auto thread = std::this_thread::get_id();
    bool same = true;
    for (int i = 0; i < 20; ++i) {
      (void)co_await to_host(ones<float>({1000}));
      same &= std::this_thread::get_id() == thread;
    }
    co_return same;
  };
  EXPECT_TRUE(run(body()));
}

Task<int> depth(int n) {
  if (n == 0) co_return 0;
  const int below = co_await depth(n - 1);
  co_return below + 1;
}

Task<int> loop(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await number(1);
  co_return sum;
}

TEST_F(AsyncTask, AwaitingTasksDoesNotGrowTheStack) {
  EXPECT_EQ(run(depth(10'000)), 10'000);
  EXPECT_EQ(run(loop(1'000'000)), 1'000'000);
}

TEST_F(AsyncTask, ManyThreadsRunTasksAtOnce) {
  const auto body = [](float v) -> Task<float> {
    auto x = co_await (full<float>({16}, v) | share);
    auto y = co_await add(x, x);
    co_return (co_await to_host(std::move(y)))[15];
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, v = static_cast<float>(t)] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(run(body(v)), 2 * v);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AsyncTask, AnyCoroutineAwaitsAFuture) {
  for (int i = 0; i < 100; ++i) {
    std::vector<float> result;
    std::latch done(1);
    [](Device device, std::vector<float>& out, std::latch& end) -> Detached {
      auto x = co_await (ones<float>({1000}) | on(device));
      out = co_await (to_host(std::move(x)) | on(device));
      end.count_down();
    }(runtime.device(), result, done);
    done.wait();
    EXPECT_THAT(result, Each(1.0f));
  }
}

// The workers then sleep or are about to.
TEST_F(AsyncTask, AnAwaitWakesARuntimeThatHasNothingToDo) {
  const auto x = run(ones<float>({64, 64}) | share);
  const auto idle = [&] { check(runtime.device().queue().state()->queue.wait_idle()); };
  const auto body = [](Shared<Tensor<float>> of) -> Task<float> {
    const auto product = co_await to_host(matmul(of, of));
    co_return product[0];
  };
  for (int i = 0; i < 200; ++i) {
    idle();
    float foreign = 0;
    std::latch done(1);
    [](Device device, Shared<Tensor<float>> of, float& out, std::latch& end) -> Detached {
      const auto product = co_await (to_host(matmul(of, of)) | on(device));
      out = product[0];
      end.count_down();
    }(runtime.device(), x, foreign, done);
    done.wait();
    ASSERT_EQ(foreign, 64.0f) << i;
    idle();
    ASSERT_EQ(run(body(x)), 64.0f) << i;
  }
}

TEST_F(AsyncTask, AnyCoroutineIsGivenTheError) {
  Status status;
  std::latch done(1);
  [](Device device, Status& out, std::latch& end) -> Detached {
    const auto result = co_await as_result(ones<float>({4}) | on(device));
    out = result.status();
    end.count_down();
  }(runtime.device(9), status, done);
  done.wait();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace halyard::async
