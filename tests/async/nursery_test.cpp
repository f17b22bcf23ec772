// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks side by side.
#include "halyard/async/nursery.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;

class AsyncNursery : public AsyncTest {
 public:
  using AsyncTest::event;
  using AsyncTest::runtime;
  std::vector<int> order;

  // Notes its number before and after it waits for its device.
  Task<> noting(int number, Device device) {
    order.push_back(number);
    (void)co_await (ones<float>({64}) | on(device));
    order.push_back(number + 10);
  }
  Status error_of(Task<> task) {
    try {
      run(std::move(task));
    } catch (const Error& error) {
      return error.status();
    }
    return {};
  }
  static Task<> throwing() {
    throw std::runtime_error("on purpose");
    co_return;
  }
};

TEST_F(AsyncNursery, StartsItsTasksAtOnceAndJoinsThem) {
  run([](AsyncNursery& self) -> Task<> {
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      co_await nursery.spawn(self.noting(i, self.runtime.device(static_cast<std::size_t>(i) % 2)));
    }
    EXPECT_THAT(self.order, ::testing::IsSupersetOf({0, 1, 2}));
    co_await nursery.join();
    EXPECT_TRUE(nursery.empty());
  }(*this));
  EXPECT_THAT(order, ::testing::UnorderedElementsAre(0, 1, 2, 10, 11, 12));
}

TEST_F(AsyncNursery, TasksThatEndAtOnceWakeAJoinOnce) {
  run([](AsyncNursery& self) -> Task<> {
    auto x = co_await (ones<float>({256, 256}) | share);
    auto awaited_by_all = matmul(x, x) | share;
    Nursery nursery;
    for (int i = 0; i < 8; ++i) {
      co_await nursery.spawn([](auto operation, std::vector<int>& ended) -> Task<> {
        (void)co_await operation;
        ended.push_back(1);
      }(awaited_by_all, self.order));
    }
    co_await nursery.join(6);
    co_await nursery.join();
  }(*this));
  EXPECT_THAT(order, ::testing::SizeIs(8));
}

Task<> waiting_for(HostEvent event, Status& status, int& after) {
  const auto result = co_await as_result(event);
  status = result.status();
  after += (co_await as_result(ones<float>(1))).status().code() == StatusCode::kCancelled;
}

TEST_F(AsyncNursery, Cancel_OfATaskThatWaits_EndsItsAwaitsAlone) {
  run([](AsyncNursery& self) -> Task<> {
    const HostEvent event = self.event();
    Status first, second;
    int first_after = 0, second_after = 0;
    Nursery nursery;
    const SpawnedTask one = co_await nursery.spawn(waiting_for(event, first, first_after));
    co_await nursery.spawn(waiting_for(event, second, second_after));
    one.cancel();
    co_await nursery.join(1);
    EXPECT_THAT(first, refused_with(StatusCode::kCancelled, "the Task was cancelled"));
    EXPECT_EQ(first_after, 1);
    one.cancel();  // of a Task that has ended
    event.set();
    co_await nursery.join();
    EXPECT_TRUE(second.ok());
    EXPECT_EQ(second_after, 0);
    (void)co_await ones<float>(1);  // not cancelled
  }(*this));
}

TEST_F(AsyncNursery, Cancel_ReachesTheTasksThatItAwaitsAndHasSpawned) {
  run([](AsyncNursery& self) -> Task<> {
    const HostEvent event = self.event();
    Status status[3];
    int after = 0;
    const auto parent = [](HostEvent own, Nursery& outer, Status* out, int& count) -> Task<> {
      Nursery inner;
      co_await outer.spawn(waiting_for(own, out[0], count));
      co_await inner.spawn(waiting_for(own, out[1], count));
      co_await waiting_for(own, out[2], count);
      co_await inner.join();
    };
    Nursery nursery;
    const SpawnedTask child = co_await nursery.spawn(parent(event, nursery, status, after));
    EXPECT_EQ(nursery.size(), 2u);
    child.cancel();
    co_await nursery.join();
    for (const Status& one : status) EXPECT_EQ(one.code(), StatusCode::kCancelled);
    EXPECT_EQ(after, 3);
  }(*this));
}

TEST_F(AsyncNursery, Cancel_EndsAJoinOfWhatOthersHaveSpawned) {
  run([](AsyncNursery& self) -> Task<> {
    const HostEvent event = self.event();
    const auto joining = [](Nursery& of, Status& under_way, Status& later) -> Task<> {
      under_way = co_await as_result(of.join());
      later = co_await as_result(of.join());
    };
    Status status, under_way, later;
    int after = 0;
    Nursery others, nursery;
    co_await others.spawn(waiting_for(event, status, after));
    (co_await nursery.spawn(joining(others, under_way, later))).cancel();
    co_await nursery.join();
    EXPECT_THAT(under_way, refused_with(StatusCode::kCancelled, "the Task was cancelled"));
    EXPECT_EQ(later.code(), StatusCode::kCancelled);
    EXPECT_EQ(others.size(), 1u) << "it runs on";
    event.set();
    co_await others.join();
    EXPECT_TRUE(status.ok());
  }(*this));
}

TEST_F(AsyncNursery, Cancel_IsNoErrorOfTheJoin) {
  run([](AsyncNursery& self) -> Task<> {
    const HostEvent event = self.event();
    const auto throwing_then = [](HostEvent own) -> Task<> { co_await own; };
    Nursery nursery;
    const SpawnedTask child = co_await nursery.spawn(throwing_then(event));
    child.cancel();
    co_await nursery.join();
    const auto other_error = [](HostEvent own) -> Task<> {
      (void)co_await as_result(own);
      check(Status(StatusCode::kDataLoss, "on purpose"));
    };
    (co_await nursery.spawn(other_error(event))).cancel();
    EXPECT_THAT(co_await as_result(nursery.join()),
                refused_with(StatusCode::kDataLoss, "on purpose"));
  }(*this));
}

TEST_F(AsyncNursery, Cancel_MayComeFromAHandleThatOutlivesAll) {
  SpawnedTask child = run([]() -> Task<SpawnedTask> {
    Nursery nursery;
    co_return co_await nursery.spawn([]() -> Task<> { co_await after(kForever); }());
  }());
  child.cancel();
  SpawnedTask().cancel();
}

// Otherwise memory would grow if each Task spawned the next Task.
TEST(AsyncTaskScope, DropsOuterScopesThatHaveEnded) {
  using Scope = Ref<detail::TaskScope>;
  const auto within = [](Scope outer) {
    return Scope::adopt(
        new detail::TaskScope(std::move(outer), Clock::steady(), Deadline::kForeverTime));
  };
  const Scope first = within({}), second = within(first);
  EXPECT_FALSE(first->unique());
  first->end();
  const Scope third = within(second);
  EXPECT_TRUE(first->unique());
  first->cancel();
  EXPECT_TRUE(third->check().ok());
  second->cancel();
  second->end();
  EXPECT_EQ(within(third)->check().code(), StatusCode::kCancelled);
}

TEST_F(AsyncNursery, JoinOfNothingGoesOn) {
  run([]() -> Task<> {
    Nursery nursery;
    co_await nursery.join();
    EXPECT_TRUE((co_await as_result(nursery.join())).ok());
  }());
}

TEST_F(AsyncNursery, JoinAsResultIsTheFirstErrorOnceAndThrowsWhatIsNone) {
  run([]() -> Task<> {
    const auto failing = [](Status status) -> Task<> {
      co_await after(kNow);
      check(std::move(status));
    };
    const auto throwing = []() -> Task<> {
      co_await after(kNow);
      throw 7;
    };
    Nursery nursery;
    co_await nursery.spawn(failing(Status(StatusCode::kDataLoss, "first")));
    co_await nursery.spawn(failing(Status(StatusCode::kInternal, "second")));
    EXPECT_THAT(co_await as_result(nursery.join()), refused_with(StatusCode::kDataLoss, "first"));
    EXPECT_TRUE((co_await as_result(nursery.join())).ok());
    co_await nursery.spawn(throwing());
    int thrown = 0;
    try {
      (void)co_await as_result(nursery.join());
    } catch (int value) {
      thrown = value;
    }
    EXPECT_EQ(thrown, 7);
  }());
}

Task<> joining(Nursery& nursery) { co_await nursery.join(); }

TEST_F(AsyncNursery, IsJoinedByOneTaskAtATime) {
  const auto body = []() -> Task<> {
    Nursery nursery;
    co_await nursery.spawn(joining(nursery));  // waits for itself
    co_await nursery.join();
  };
  EXPECT_THAT(error_of(body()),
              refused_with(StatusCode::kFailedPrecondition, "another Task awaits the end"));
}

// Never resumes the awaiting coroutine.
struct Never {
  struct Awaiter {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    Status await_resume() const noexcept { return {}; }
  };
  Awaiter awaiter(const detail::TaskPlace&) && { return {}; }
};

TEST_F(AsyncNursery, ATaskThatCannotGoOnFails) {
  const auto body = []() -> Task<> { co_await Never(); };
  EXPECT_THAT(error_of(body()),
              refused_with(StatusCode::kFailedPrecondition, "deadlock: no Task can continue"));
}

TEST_F(AsyncNursery, JoinThrowsTheFirstErrorOnceAllHaveEnded) {
  run([](AsyncNursery& self) -> Task<> {
    Nursery nursery;
    co_await nursery.spawn(self.noting(1, self.runtime.device()));
    co_await nursery.spawn(throwing());
    co_await nursery.spawn(throwing());
    bool thrown = false;
    try {
      co_await nursery.join();
    } catch (const std::runtime_error& error) {
      thrown = std::string(error.what()) == "on purpose";
    }
    EXPECT_TRUE(thrown);
    EXPECT_THAT(self.order, ElementsAre(1, 11));
    co_await nursery.join();
  }(*this));
}

TEST_F(AsyncNursery, TheEndOfItsScopeCancelsItsTasks) {
  run([](AsyncNursery& self) -> Task<> {
    auto held = co_await (ones<float>({1000, 1000}) | share);
    {
      Nursery nursery;
      co_await nursery.spawn([](Shared<Tensor<float>> x, std::vector<int>& done) -> Task<> {
        (void)co_await matmul(x, x);
        done.push_back(1);
      }(held, self.order));
    }
    EXPECT_THAT(self.order, ::testing::IsEmpty()) << "it was destroyed while it waited";
    EXPECT_TRUE(std::move(held).try_unwrap().has_value()) << "its frame has dropped the share";
  }(*this));
}

TEST_F(AsyncNursery, NurseriesNestAndManyTasksAllocateNoFrameTwice) {
  int ended = 0;
  run([](int& count) -> Task<> {
    Nursery outer;
    for (int i = 0; i < 20; ++i) {
      co_await outer.spawn([](int& inner_count) -> Task<> {
        Nursery inner;
        for (int k = 0; k < 5; ++k) {
          co_await inner.spawn([](int& n) -> Task<> {
            (void)co_await ones<float>({16});
            ++n;
          }(inner_count));
        }
        co_await inner.join();
      }(count));
    }
    co_await outer.join();
  }(ended));
  EXPECT_EQ(ended, 100);
}

class AsyncNurserySteps : public testing::SteppedTest {
 public:
  using SteppedTest::run_all;
  using SteppedTest::run_queue;
  using SteppedTest::runtime;
  using SteppedTest::tensor;

  static Task<> fill_on(QueueRef queue, Tensor<float> x) {
    (void)co_await (fill(std::move(x), 1.0f) | on(std::move(queue)));
  }
};

TEST_F(AsyncNurserySteps, JoinGoesOnWhenAsManyAreLeftAsItMayLeave) {
  std::vector<Task<>> tasks;
  for (std::size_t i = 0; i < 3; ++i) {
    tasks.push_back(fill_on(runtime.device().queue(i), tensor(0.0f)));
  }
  const auto body = [](AsyncNurserySteps& self, std::vector<Task<>>& three) -> Task<> {
    Nursery nursery;
    for (Task<>& task : three) co_await nursery.spawn(std::move(task));
    EXPECT_EQ(nursery.size(), 3u);
    self.run_queue(1);
    co_await nursery.join(2);
    EXPECT_EQ(nursery.size(), 2u);
    self.run_all();
    co_await nursery.join();
    EXPECT_TRUE(nursery.empty());
  };
  sync_wait(body(*this, tasks), runtime);
}

TEST_F(AsyncNurserySteps, AFutureIsSpawnedAsATaskIs) {
  const Shared<Tensor<float>> x = tensor(2.0f) | share;
  const auto body = [](AsyncNurserySteps& self, Shared<Tensor<float>> from) -> Task<> {
    std::vector<float> numbers;
    Tensor<float> copied = self.tensor(0.0f);
    Nursery nursery;
    co_await nursery.spawn(to_host(from) | on(self.runtime.device()), numbers);
    co_await nursery.spawn(async::copy(from, std::move(copied)) |
                           on(self.runtime.device().queue(1)));
    EXPECT_EQ(nursery.size(), 2u) << "both are submitted and wait";
    EXPECT_THAT(numbers, ::testing::IsEmpty());
    EXPECT_GT(self.run_queue(1), 0);
    co_await nursery.join(1);
    EXPECT_EQ(nursery.size(), 1u);
    self.run_all();
    co_await nursery.join();
    EXPECT_EQ(numbers, std::vector<float>(8, 2.0f));
  };
  sync_wait(body(*this, x), runtime);
}

Task<std::vector<float>> read_from(Shared<Tensor<float>> x, Device device) {
  auto numbers = co_await (to_host(std::move(x)) | on(device));
  numbers.pop_back();
  co_return numbers;
}

TEST_F(AsyncNurserySteps, WhatATaskGivesIsPutWhereItsSpawnerWantsIt) {
  const auto body = [](AsyncNurserySteps& self, Shared<Tensor<float>> from) -> Task<> {
    std::vector<float> numbers;
    Nursery nursery;
    co_await nursery.spawn(read_from(from, self.runtime.device()), numbers);
    EXPECT_THAT(numbers, ::testing::IsEmpty()) << "it waits";
    self.run_all();
    co_await nursery.join();
    EXPECT_EQ(numbers, std::vector<float>(7, 2.0f));
  };
  sync_wait(body(*this, tensor(2.0f) | share), runtime);
}

TEST_F(AsyncNursery, ATaskThatThrowsPutsNothingAnywhere) {
  const auto body = []() -> Task<int> {
    int number = 7;
    Nursery nursery;
    const auto failing = []() -> Task<int> {
      throw std::runtime_error("on purpose");
      co_return 1;
    };
    co_await nursery.spawn(failing(), number);
    bool thrown = false;
    try {
      co_await nursery.join();
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
    co_return number;
  };
  EXPECT_EQ(run(body()), 7);
}

TEST_F(AsyncNurserySteps, TheFailureOfAFutureIsThrownByJoin) {
  const auto body = [](AsyncNurserySteps& self) -> Task<Status> {
    Nursery nursery;
    auto wrong = add(self.tensor(1.0f, {4}), self.tensor(1.0f, {5}));
    co_await nursery.spawn(std::move(wrong) | on(self.runtime.device()));
    try {
      co_await nursery.join();
    } catch (const Error& error) {
      co_return error.status();
    }
    co_return Status();
  };
  EXPECT_THAT(sync_wait(body(*this), runtime),
              testing::refused_with(StatusCode::kInvalidArgument, "4 and 5"));
}

}  // namespace
}  // namespace halyard::async
