// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for a whole queue, and flushes; how long a waiting thread polls.
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

TEST(Idle, AQueueWithoutWorkIsIdleAtOnce) {
  World world;
  EXPECT_TRUE(world.queue()->wait_idle(kNow).ok());
  EXPECT_EQ(world.work_source.parks, 0);
}

TEST(Idle, WaiterRunsTheWorkWhereItCan) {
  World world;
  auto& queue = world.queue();
  queue.native().helps = true;
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(world.submit(queue, {}, {}, i).ok());
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
  EXPECT_EQ(world.log, (std::vector{1, 2, 3}));
  EXPECT_EQ(world.work_source.parks, 0);
}

TEST(Idle, SleepsOnTheLaneUntilItIsDone) {
  World world;
  auto& queue = world.queue();
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  std::size_t armed = 0;
  world.work_source.asleep = [&] {
    armed = queue.native().armed();
    queue.native().run();
  };
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
  EXPECT_EQ(armed, 1u);
  EXPECT_EQ(world.work_source.parks, 1);
}

// A thread that waits for the queue, or for a value, on a lane that is polled for 5 us. Each pause
// takes 0.1 us, and `ends` is when the work does.
struct PolledLane {
  explicit PolledLane(Nanoseconds ends) {
    EXPECT_TRUE(world.submit(queue, {}, {{signal.get(), 1}}).ok());
    world.work_source.on_pause = [this, ends] {
      ++pauses;
      world.work_source.clock_.time += 100;
      if (100 * pauses == ends) queue.native().run();
    };
    world.work_source.asleep = [this] { queue.native().run(); };
  }
  World world;
  QueueUnderTest& queue = world.queue(world.device(), "polled", {.poll_time = 5'000});
  HandleRef<Semaphore> signal = world.semaphore();
  int pauses = 0;
};

TEST(Polling, WorkThatEndsInTimeLetsNoThreadSleep) {
  const auto expect_no_sleep = [](auto&& wait) {
    PolledLane lane(6'400 + 4'900);  // 64 turns come first
    EXPECT_TRUE(wait(lane).ok());
    EXPECT_EQ(lane.pauses, 64 + 49);
    EXPECT_EQ(lane.world.work_source.parks, 0);
  };
  expect_no_sleep([](PolledLane& lane) { return lane.queue->wait_idle(kForever); });
  expect_no_sleep([](PolledLane& lane) { return lane.signal->wait(1, kForever); });
}

TEST(Polling, EndsWithSleep) {
  const auto expect_sleep = [](auto&& wait) {
    PolledLane lane(Deadline::kForeverTime);
    EXPECT_TRUE(wait(lane).ok());
    EXPECT_EQ(lane.pauses, 64 + 50);
    EXPECT_EQ(lane.world.work_source.parks, 1);
  };
  expect_sleep([](PolledLane& lane) { return lane.queue->wait_idle(kForever); });
  expect_sleep([](PolledLane& lane) { return lane.signal->wait(1, kForever); });
}

TEST(Polling, AThreadThatIsWokenTooEarlySleepsAgainAtOnce) {
  PolledLane lane(Deadline::kForeverTime);
  EXPECT_TRUE(lane.world.submit(lane.queue, {}, {{lane.signal.get(), 2}}).ok());
  lane.world.work_source.asleep = [&] { (void)lane.queue.native().run(1); };
  EXPECT_TRUE(lane.signal->wait(2, kForever).ok());
  EXPECT_EQ(lane.pauses, 64 + 50);
  EXPECT_EQ(lane.world.work_source.parks, 2);
}

TEST(Idle, TheShellWakesAWaiterThatCouldNotArm) {
  World world;
  QueueUnderTest& queue = world.queue();
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  queue.native().fail_arm = Status(StatusCode::kResourceExhausted, "no notice to be had");
  bool woken = false;
  world.work_source.asleep = [&] {
    queue.native().run();
    (void)world.engine.step_completion();
    woken = world.work_source.woken();
  };
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
  EXPECT_TRUE(woken);
}

TEST(Idle, TheLastOneToLeaveTheListWakesTheWaiter) {
  World world;
  auto& queue = world.queue();
  queue.native().helps = true;
  auto gate = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 1}}, {}, 1).ok());
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 2}}, {}, 2).ok());
  std::jthread waiter([&] { EXPECT_TRUE(queue->wait_idle(kForever).ok()); });
  // The sleep itself has no deadline: `real_deadline` is off.
  while (world.work_source.parks < 1) std::this_thread::yield();
  EXPECT_TRUE(gate->signal(1).ok());
  EXPECT_TRUE(gate->signal(2).ok());
  waiter.join();
  EXPECT_EQ(world.log, (std::vector{1, 2}));
}

TEST(Idle, IncludesWhatIsCancelledOrFails) {
  World world;
  auto& queue = world.queue();
  auto gate = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 1}}, {}).ok());
  world.work_source.asleep = [&] { gate->fail(Status(StatusCode::kDataLoss, "gone")); };
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
}

TEST(Idle, PastDeadlineNamesUnfinishedWork) {
  World world;
  auto& queue = world.queue();
  auto gate = world.semaphore(0, "gate");
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 3}}, {}).ok());
  const Status status = queue->wait_idle(kPast);
  EXPECT_EQ(code(status), StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("gate"), std::string_view::npos) << status.to_string();
}

TEST(Idle, PastDeadlineNamesWorkOfThisQueueFirst) {
  World world;
  for (int i = 0; i < 50; ++i) (void)world.queue(world.device(), "some other queue of the device");
  auto& queue = world.queue(world.device(), "late");
  auto gate = world.semaphore(0, "gate");
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 3}}, {}).ok());
  const Status status = queue->wait_idle(kPast);
  EXPECT_NE(status.message().find("gate"), std::string_view::npos) << status.to_string();
  gate->fail(Status(StatusCode::kCancelled, "over"));
}

TEST(Idle, APollNamesNothingButItsQueue) {
  World world;
  auto& queue = world.queue(world.device(), "q");
  auto gate = world.semaphore(0, "gate");
  EXPECT_TRUE(world.submit(queue, {{gate.get(), 3}}, {}).ok());
  EXPECT_EQ(queue->wait_idle(kNow).message(), "q: wait_idle: not idle");
  EXPECT_EQ(gate->wait(3, kNow).message(), "semaphore 1 'gate' waited for 3, is 0");
}

TEST(Idle, ALaneWithMarkersGetsOne) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  world.work_source.asleep = [&] { queue.native().run(); };
  EXPECT_TRUE(queue->wait_idle(kForever).ok());
  EXPECT_EQ(queue.native().mark_calls, 1);
}

TEST(Flush, RetiresFinishedWorkWithoutAWaiter) {
  World world;
  auto& queue = world.queue();
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  queue.native().run();
  const auto shows = [&](const char* text) {
    return world.engine.dump_timelines().find(text) != std::string::npos;
  };
  EXPECT_TRUE(shows("lane has retired 0, issued 2"));
  queue->flush();
  EXPECT_TRUE(shows("lane has retired 2, issued 2"));
}

TEST(Flush, RecordsAMarkerWhereProgressNeedsOne) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  EXPECT_EQ(queue.native().mark_calls, 0);
  queue->flush();
  EXPECT_EQ(queue.native().mark_calls, 1);
  queue->flush();
  EXPECT_EQ(queue.native().mark_calls, 1);
}

// The holder of a submission may query it on another thread, and the result names the queue.
TEST(Idle, AQueueWithAHeldSubmissionIsNotReopened) {
  World world;
  auto& queue = world.queue("before");
  Submission* held = nullptr;
  EXPECT_TRUE(world.submit(queue, {}, {}, 1, &held).ok());
  world.settle();
  EXPECT_TRUE(queue->wait_idle(kNow).ok());
  EXPECT_FALSE(queue->reopen("after"));
  EXPECT_EQ(queue->name(), "before");
  EXPECT_FALSE(held->cancel());
  held->release_for_user();
  EXPECT_TRUE(queue->reopen("after"));
  EXPECT_EQ(queue->name(), "after");
}

}  // namespace
}  // namespace halyard::timeline::testing
