// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rule 29 of timelines.md: callbacks.
#include "timeline/registration.h"

#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

struct Calls {
  std::vector<Status> statuses;
  std::function<void()> inside;
  int destroyed = 0;

  Callback callback() {
    return {this,
            [](void* self, const Status& status) {
              static_cast<Calls*>(self)->statuses.push_back(status);
              if (static_cast<Calls*>(self)->inside) static_cast<Calls*>(self)->inside();
            },
            [](void* self) { ++static_cast<Calls*>(self)->destroyed; }};
  }
};

TEST(Rule29OnReach, RunsOnceWhenTheValueIsReached) {
  World world;
  auto semaphore = world.semaphore();
  Calls calls;
  auto* registration = Registration::create(*semaphore.get(), 2, calls.callback()).value();
  EXPECT_TRUE(semaphore->signal(1).ok());
  EXPECT_TRUE(calls.statuses.empty());
  EXPECT_TRUE(semaphore->signal(2).ok());
  EXPECT_TRUE(semaphore->signal(3).ok());
  ASSERT_EQ(calls.statuses.size(), 1u);
  EXPECT_TRUE(calls.statuses[0].ok());
  EXPECT_EQ(calls.destroyed, 1);
  registration->drop();
  EXPECT_EQ(calls.destroyed, 1);
}

TEST(Rule29OnReach, RefusesToWaitWithinACallback) {
  World world;
  auto semaphore = world.semaphore(0, "reached"), other = world.semaphore(0, "other");
  auto& queue = world.queue("busy");
  queue.native().stopped = true;
  EXPECT_TRUE(world.submit(queue, {}, {}).ok());
  Calls calls;
  Status refused, polled, reached, idle;
  calls.inside = [&] {
    refused = other->wait(1, kForever);
    polled = other->wait(1, kNow);
    reached = semaphore->wait(1, kForever);
    idle = queue->wait_idle(kForever);
  };
  auto* registration = Registration::create(*semaphore.get(), 1, calls.callback()).value();
  EXPECT_TRUE(semaphore->signal(1).ok());
  EXPECT_EQ(code(refused), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "semaphore 2 'other': a wait for 1 within a callback, which must not block");
  EXPECT_EQ(code(polled), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(reached.ok());
  EXPECT_EQ(code(idle), StatusCode::kFailedPrecondition);
  EXPECT_EQ(idle.message(), "busy: wait_idle within a callback, which must not block");
  registration->drop();
}

// The submission has no deadline, but only work that this thread runs after the callback may make
// room.
TEST(Rule29OnReach, ASubmissionWithinACallback_DoesNotWaitForRoom) {
  World world;
  auto semaphore = world.semaphore();
  auto& queue = world.queue(world.device(), "q", {.max_in_flight = 1}, kDomain, /*backlog=*/1);
  for (int i = 1; i <= 2; ++i) EXPECT_TRUE(world.submit(queue, {}, {}, i).ok());
  Calls calls;
  Status refused;
  calls.inside = [&] {
    Submission* submission = queue->allocate().value();
    submission->emplace<Operation>(&world.log, 3, nullptr);
    refused = queue->submit(*submission, {.room = kForever}, nullptr);
  };
  auto* registration = Registration::create(*semaphore.get(), 1, calls.callback()).value();
  EXPECT_TRUE(semaphore->signal(1).ok());
  EXPECT_EQ(code(refused), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "q: backlog of 1 ready submission is full; a callback does not wait for room");
  EXPECT_EQ(world.work_source.parks, 0);
  registration->drop();
}

TEST(Rule29OnReach, RunsOnTheCallerIfAlreadyMetOrFailed) {
  World world;
  auto semaphore = world.semaphore(4);
  Calls met, failed;
  Registration::create(*semaphore.get(), 4, met.callback()).value()->drop();
  EXPECT_EQ(met.statuses.size(), 1u);
  semaphore->fail(Status(StatusCode::kDataLoss, "x"));
  Registration::create(*semaphore.get(), 5, failed.callback()).value()->drop();
  ASSERT_EQ(failed.statuses.size(), 1u);
  EXPECT_EQ(code(failed.statuses[0]), StatusCode::kDataLoss);
}

TEST(Rule29OnReach, RunsOnlyOnAShellIfRequested) {
  World world;
  auto semaphore = world.semaphore();
  Calls later, met;
  auto* registration = Registration::create(*semaphore.get(), 1, later.callback(), true).value();
  EXPECT_TRUE(semaphore->signal(1).ok());
  auto* already = Registration::create(*semaphore.get(), 1, met.callback(), true).value();
  EXPECT_TRUE(later.statuses.empty() && met.statuses.empty()) << "the caller may hold locks";
  world.settle();
  EXPECT_EQ(later.statuses.size(), 1u);
  EXPECT_EQ(met.statuses.size(), 1u);
  registration->drop();
  already->drop();
}

TEST(Rule29OnReach, NeverRunsAfterItWasDropped) {
  World world;
  auto semaphore = world.semaphore();
  Calls calls;
  Registration::create(*semaphore.get(), 1, calls.callback()).value()->drop();
  EXPECT_EQ(calls.destroyed, 1);
  EXPECT_TRUE(semaphore->signal(1).ok());
  EXPECT_TRUE(calls.statuses.empty());
}

TEST(Rule29OnReach, MayDropItselfAndEveryHandleFromWithin) {
  World world;
  auto& queue = world.queue();
  auto semaphore = world.semaphore(), other = world.semaphore();
  Calls calls;
  auto* registration = Registration::create(*semaphore.get(), 1, calls.callback()).value();
  calls.inside = [&] {
    registration->drop();
    semaphore = {};
    other = {};
  };
  EXPECT_TRUE(world.submit(queue, {{other.get(), 1}}, {{semaphore.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{other.get(), 1}}).ok());
  world.settle();
  EXPECT_EQ(calls.statuses.size(), 1u);
  EXPECT_FALSE(semaphore);
}

TEST(Rule29OnReach, SignalInsideReturnsBeforeItsEffectsHaveRun) {
  World world;
  auto a = world.semaphore(), b = world.semaphore();
  Calls first, second;
  std::size_t seen_inside = 99;
  first.inside = [&] {
    EXPECT_TRUE(b->signal(1).ok());
    seen_inside = second.statuses.size();
  };
  auto* one = Registration::create(*a.get(), 1, first.callback()).value();
  auto* two = Registration::create(*b.get(), 1, second.callback()).value();
  EXPECT_TRUE(a->signal(1).ok());
  EXPECT_EQ(seen_inside, 0u);
  EXPECT_EQ(second.statuses.size(), 1u) << "but before the outer signal returns";
  one->drop();
  two->drop();
}

TEST(Rule29OnReach, DropWaitsWhileItRunsOnAnotherThread) {
  World world;
  auto semaphore = world.semaphore();
  std::atomic<bool> inside{false}, may_leave{false}, left{false};
  Calls calls;
  calls.inside = [&] {
    inside = true;
    while (!may_leave) std::this_thread::yield();
    left = true;
  };
  auto* registration = Registration::create(*semaphore.get(), 1, calls.callback()).value();
  std::jthread signaller([&] { EXPECT_TRUE(semaphore->signal(1).ok()); });
  while (!inside) std::this_thread::yield();
  world.work_source.on_pause = [&] { may_leave = true; };  // only drop() lets the callback return
  registration->drop();
  EXPECT_TRUE(left);
  may_leave = true;
}

TEST(Rule29OnReach, IsServedByTheCompletionShellForDeviceWork) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  Calls calls;
  auto* registration = Registration::create(*done.get(), 1, calls.callback()).value();
  EXPECT_GT(world.work_source.wakes[static_cast<int>(base::Shell::kCompletion)], 0);
  world.settle();
  EXPECT_EQ(calls.statuses.size(), 1u);
  registration->drop();
}

}  // namespace
}  // namespace halyard::timeline::testing
