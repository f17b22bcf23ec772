// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queue on which a tree runs.
#include "halyard/async/policy.h"

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;

// Returns the queue that it runs on.
struct Where {
  using Output = QueueRef;
  Result<QueueRef> execute(Context& context) && { return context.queue(); }
};

class AsyncPolicy : public AsyncTest {
 protected:
  AsyncPolicy() { runtime = open(global_policy(0)); }
  static Runtime open(Policy policy) {
    return Runtime::open("cpu://?devices=3&workers=1", {.queues = 2, .policy = std::move(policy)})
        .value();
  }
  QueueRef queue(std::size_t device, std::size_t index) const {
    return runtime.device(device).queue(index);
  }
};

TEST_F(AsyncPolicy, TheDefaultTakesTheQueuesOfTheFirstDeviceInTurn) {
  const auto [a, b, c] = std::tuple(run(Where()), run(Where()), run(Where()));
  EXPECT_EQ(a, queue(0, 0));
  EXPECT_EQ(b, queue(0, 1));
  EXPECT_EQ(c, queue(0, 0));
}

TEST_F(AsyncPolicy, ScheduleRunsAnOperationWhereAPolicySays) {
  EXPECT_EQ(run(schedule(Where(), global_policy(1))).device(), runtime.device(1));
  EXPECT_EQ(run(Where() | schedule(SingleQueue(queue(2, 1)))), queue(2, 1));
  const auto task = []() -> Task<std::size_t> {
    auto z = schedule(ones<float>({16, 16}), global_policy(1));
    Tensor<float> there = co_await std::move(z);
    co_return 0;
  };
  const auto before = runtime.device(1).hal().memory_statistics().total_allocations;
  run(task());
  EXPECT_GT(runtime.device(1).hal().memory_statistics().total_allocations, before);
}

TEST_F(AsyncPolicy, IsStillThereWhenItIsMovedFrom) {
  Policy policy = global_policy(1);
  auto z = schedule(value(1), std::move(policy));
  EXPECT_EQ(run(std::move(z)), 1);
  EXPECT_THAT(failure(std::move(z)),
              refused_with(StatusCode::kFailedPrecondition, "an operation runs once"));
  EXPECT_EQ(run(schedule(Where(), std::move(policy))).device(), runtime.device(1));
}

TEST_F(AsyncPolicy, ADeviceOutOfRangeFailsTheAwait) {
  EXPECT_THAT(failure(schedule(ones<float>({4}), global_policy(3))),
              refused_with(StatusCode::kOutOfRange, "device 3 of a runtime with 3"));
  EXPECT_THAT(
      sync_wait(as_result(schedule(Where(), global_policy(1)) | on(runtime.device()))).status(),
      refused_with(StatusCode::kFailedPrecondition, "on(runtime)"));
}

TEST_F(AsyncPolicy, RoundRobinTakesAllQueuesInTurn) {
  runtime = open(RoundRobin());
  std::vector<QueueRef> seen;
  for (int i = 0; i < 7; ++i) seen.push_back(run(Where()));
  EXPECT_THAT(seen, ElementsAre(queue(0, 0), queue(0, 1), queue(1, 0), queue(1, 1), queue(2, 0),
                                queue(2, 1), queue(0, 0)));
}

TEST_F(AsyncPolicy, LocalityFirstGoesWhereMostBytesOfTheInputsAre) {
  const auto small = run(ones<float>({16}) | share | on(queue(1, 1)));
  const auto large = run(ones<float>({64}) | share | on(queue(2, 0)));
  const auto where = [&](auto&& inputs) {
    return run(schedule(zip(std::move(inputs), Where()) | last, LocalityFirst()));
  };
  EXPECT_EQ(where(zip(small, large)), queue(2, 0));
  EXPECT_EQ(where(zip(small, small, small, small, small) | boxed), queue(1, 1));
  EXPECT_EQ(where(value(0)), queue(0, 0));
  EXPECT_THAT(run(schedule(to_host(relu(large)), LocalityFirst())), Each(1.0f))
      << "on the queue of its operand";
}

TEST_F(AsyncPolicy, LeastLoadedGoesWhereFewestTreesAreUnderWay) {
  runtime = open(LeastLoaded());
  EXPECT_EQ(run(Where()), queue(0, 0));
  detail::Submitter busy(queue(0, 0));
  check(busy.allocate(64, hal::MemoryType::kDeviceLocal).status());
  EXPECT_EQ(queue(0, 0).load(), 1u);
  EXPECT_EQ(run(Where()), queue(0, 1));
}

// Returns the queue that it runs on, and has work in flight there.
struct Allocate {
  using Output = QueueRef;
  Result<QueueRef> execute(Context& context) && {
    const auto memory = context.allocate(64);
    if (!memory.ok()) return memory.status();
    return context.queue();
  }
};

TEST_F(AsyncPolicy, LeastLoadedCountsThePartsOfATreeUntilTheTreeHasEnded) {
  runtime = open(LeastLoaded());
  const auto [a, b, c, d] = run(join(Allocate(), Allocate(), zip(Allocate(), 1), Allocate()));
  EXPECT_EQ(std::tuple(a, b, std::get<0>(c), d),
            std::tuple(queue(0, 0), queue(0, 1), queue(1, 0), queue(1, 1)));
  for (const QueueRef& each : runtime.queues()) EXPECT_EQ(each.load(), 0u);
}

TEST_F(AsyncPolicy, AJoinOnADeviceStaysThereInATaskToo) {
  runtime = open(RoundRobin());
  const auto where = [](const Device& device) -> Task<std::tuple<QueueRef, QueueRef>> {
    co_return co_await (join(Where(), Where()) | on(device));
  };
  const auto [a, b] = sync_wait(where(runtime.device(1)), runtime);
  EXPECT_EQ(std::tuple(a.device(), b.device()), std::tuple(runtime.device(1), runtime.device(1)));
}

// The first queue for trees without inputs, the last one for others.
struct Sources {
  QueueRef pick(const OpInfo& info) const noexcept {
    return info.inputs.empty() ? info.queues.front() : info.queues.back();
  }
};

TEST_F(AsyncPolicy, OfOnesOwnIsAClassWithPick) {
  static_assert(SchedulingPolicy<Sources> && !SchedulingPolicy<int>);
  runtime = open(Sources());
  EXPECT_EQ(run(Where()), queue(0, 0));
  const auto x = run(ones<float>({4}) | share);
  EXPECT_EQ(run(zip(x, Where()) | last), queue(2, 1));
}

#include "guide_policy.inc"  // BySize of docs/async.md

TEST_F(AsyncPolicy, TheGuidesTakesLargeTreesToTheLastQueue) {
  const auto part = run(ones<float>({1 << 18}) | share);
  EXPECT_EQ(run(zip(part, Where()) | last).device(), runtime.device());
  EXPECT_EQ(run(zip(part, Where()) | last | schedule(BySize())), queue(2, 1));
  runtime = open(BySize());
  const auto small = run(ones<float>({4}) | share), large = run(ones<float>({1 << 18}) | share);
  EXPECT_EQ(run(zip(small, Where()) | last), queue(0, 0));
  EXPECT_EQ(run(zip(large, Where()) | last), queue(2, 1));
}

TEST_F(AsyncPolicy, JoinGivesEachPartAQueueOfItsOwn) {
  runtime = open(RoundRobin());
  const auto [a, b, c] = run(join(Where(), Where(), 7));
  EXPECT_NE(a, b);
  EXPECT_EQ(c, 7);
  const auto [d, e] = sync_wait(join(Where(), Where()) | on(runtime.device(1)));
  EXPECT_EQ(d.device(), runtime.device(1));
  EXPECT_EQ(e.device(), runtime.device(1));
  EXPECT_NE(d.index(), e.index());
}

TEST_F(AsyncPolicy, AForeignCoroutineMayLeaveTheQueueToTheRuntime) {
  runtime = open(SingleQueue(queue(1, 1)));
  // The queue belongs to the first runtime, which the policy keeps open.
  EXPECT_EQ(sync_wait(Where() | on(runtime)).index(), 1u);
}

// The queues of a tree and of a part that the runtime's policy places.
TEST_F(AsyncPolicy, AForeignCoroutineAwaitsWhatAPolicyOfItsChoicePicks) {
  runtime = open(SingleQueue(queue(2, 1)));  // of the first runtime, which the policy keeps open
  auto future = schedule(zip(Where(), join(Where())), SingleQueue(queue(1, 0)), runtime);
  static_assert(std::is_same_v<decltype(future.queue()), const QueueRef&>, "a DeviceFuture");
  EXPECT_EQ(future.queue(), queue(1, 0));
  const auto [where, part] = sync_wait(std::move(future));
  EXPECT_EQ(where, queue(1, 0));
  EXPECT_EQ(std::get<0>(part).index(), 1u);
  EXPECT_EQ(sync_wait(Where() | schedule(global_policy(1), runtime)).device(), runtime.device(1));
  std::optional<Result<QueueRef>> awaited;
  const auto coroutine = testing::await_into(awaited, schedule(Where(), global_policy(2), runtime));
  EXPECT_EQ(awaited->value().device(), runtime.device(2));
}

}  // namespace
}  // namespace halyard::async
