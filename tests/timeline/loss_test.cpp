// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules 26 and 27 of timelines.md: loss of a device, and quarantine of lanes that wait for it.
#include "memory_queue.h"
#include "timeline/registration.h"

namespace halyard::timeline::testing {
namespace {

const Status kFault(StatusCode::kInternal, "illegal address", "CUDA_ERROR_700");

TEST(Rule26Loss, FailsUnfinishedWorkAndEverythingLater) {
  World world;
  auto& device = world.device("gpu");
  auto& queue = world.queue(device, "q");
  auto early = world.semaphore(), flying = world.semaphore(), parked = world.semaphore(),
       start = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{early.get(), 1}}, 1).ok());
  queue.native().run();
  queue.native().stopped = true;
  EXPECT_TRUE(world.submit(queue, {}, {{flying.get(), 1}}, 2).ok());
  EXPECT_TRUE(world.submit(queue, {{start.get(), 1}}, {{parked.get(), 1}}, 3).ok());
  device.lose(kFault);
  world.settle();
  EXPECT_EQ(early->query().value(), 1u) << "done before the loss";
  for (auto* semaphore : {&flying, &parked}) {
    const Status status = (*semaphore)->query().status();
    EXPECT_EQ(code(status), StatusCode::kDeviceLost);
    EXPECT_EQ(status.native_error(), "CUDA_ERROR_700");
    EXPECT_NE(status.message().find("gpu"), std::string::npos);
  }
  EXPECT_TRUE(queue.native().abandoned);
  EXPECT_EQ(world.resource.use_count(), 1) << "no submission keeps it";
  EXPECT_EQ(code(world.submit(queue, {}, {}, 4)), StatusCode::kDeviceLost);
  EXPECT_EQ(code(device.status()), StatusCode::kDeviceLost);
}

TEST(Rule26Loss, IsFoundByAWaitThatPolls) {
  World world;
  auto& queue = world.queue(world.device("gpu"), "q");
  queue.native().stopped = true;
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  queue.native().fault = kFault;
  world.work_source.asleep = [&] { world.step_shells(); };
  EXPECT_EQ(code(done->wait(1, kForever)), StatusCode::kDeviceLost);
}

TEST(Rule26Loss, MayShowAsWorkIsIssued) {
  World world;
  auto& device = world.device();
  auto& queue = world.queue(device, "q");
  auto before = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{before.get(), 1}}).ok());
  queue.native().fail_next = Status(StatusCode::kDeviceLost, "gone");
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  world.settle();
  EXPECT_TRUE(device.lost());
  EXPECT_EQ(code(before->query().status()), StatusCode::kDeviceLost);
  EXPECT_EQ(done->query().status().to_string(), device.status().to_string());
}

TEST(Rule26Loss, HarmsNoOtherDevice) {
  World world;
  auto& lost = world.device("lost");
  auto& fine = world.device("fine");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(fine, "b");
  a.native().stopped = true;
  auto x = world.semaphore(), y = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{x.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {}, {{y.get(), 1}}, 1).ok());
  lost.lose(kFault);
  world.settle();
  EXPECT_EQ(y->query().value(), 1u);
  EXPECT_EQ(b.lanes.size(), 1u) << "no quarantine without a dead wait";
}

TEST(Rule27Quarantine, ADeadWaitFailsAtOnceAndLaterWorkIsUnavailable) {
  World world;
  auto& lost = world.device("lost");
  auto& fine = world.device("fine");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(fine, "b");
  a.native().stopped = true;
  auto edge = world.semaphore(), before = world.semaphore(), dead = world.semaphore(),
       behind = world.semaphore(), fresh = world.semaphore();
  EXPECT_TRUE(world.submit(b, {}, {{before.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(a, {}, {{edge.get(), 1}}, 2).ok());
  EXPECT_TRUE(world.submit(b, {{edge.get(), 1}}, {{dead.get(), 1}}, 3).ok());
  EXPECT_TRUE(world.submit(b, {}, {{behind.get(), 1}}, 4).ok());
  EXPECT_EQ(b.native().waiting(), 3u);
  lost.lose(kFault);
  world.step_shells();
  EXPECT_EQ(code(dead->query().status()), StatusCode::kDeviceLost);
  EXPECT_EQ(code(behind->query().status()), StatusCode::kUnavailable);
  EXPECT_NE(behind->query().status().message().find("a"), std::string::npos);
  ASSERT_EQ(b.lanes.size(), 2u) << "a fresh lane is open";
  EXPECT_GE(world.resource.use_count(), 3) << "the old lane may still touch what 3 and 4 use";
  EXPECT_TRUE(world.submit(b, {}, {{fresh.get(), 1}}, 5).ok());
  world.settle();
  EXPECT_EQ(before->query().value(), 1u) << "in front of the dead wait";
  EXPECT_EQ(fresh->query().value(), 1u);
}

// Lanes whose progress is visible only at markers, on two devices. `a` has a fault that no thread
// has seen, and the library has released the waits for it.
struct LetGoWorld : World {
  QueueUnderTest& marked(const char* name) { return queue(device(name), name, kMarkers); }
  std::uint64_t run(QueueUnderTest& queue) {
    queue->flush();
    return static_cast<std::uint64_t>(queue.native().run());
  }
  QueueUnderTest& a = marked("a");
  QueueUnderTest& b = marked("b");
  QueueUnderTest& c = queue(*devices.back(), "c", kMarkers);
  HandleRef<Semaphore> edge = semaphore(), between = semaphore(), done = semaphore();
};

TEST(Rule27LetGo, WorkThatRanWithoutItsInputFails) {
  LetGoWorld world;
  EXPECT_TRUE(world.submit(world.a, {}, {{world.edge.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(world.b, {{world.edge.get(), 1}}, {{world.between.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(world.c, {{world.between.get(), 1}}, {{world.done.get(), 1}}).ok());
  world.b.native().lets_go = world.c.native().lets_go = true;
  world.a.native().stopped = true;
  world.a.native().fault = kFault;
  EXPECT_EQ(world.run(world.b), 1u);
  EXPECT_EQ(world.run(world.c), 1u);
  EXPECT_EQ(world.done->query().value(), 0u) << "its lane has passed it";
  EXPECT_EQ(world.between->query().value(), 0u);
  world.settle();
  EXPECT_EQ(code(world.edge->query().status()), StatusCode::kDeviceLost);
  EXPECT_EQ(code(world.between->query().status()), StatusCode::kDeviceLost);
  EXPECT_FALSE(world.done->query().ok());
}

TEST(Rule27LetGo, ALaneThatIsGivenUpMeanwhileIsNotLookedAtForEver) {
  LetGoWorld world;
  EXPECT_TRUE(world.submit(world.a, {}, {{world.edge.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(world.b, {{world.edge.get(), 1}}, {{world.done.get(), 1}}).ok());
  world.b.native().lets_go = true;
  world.a.native().stopped = true;
  EXPECT_EQ(world.run(world.b), 1u);
  EXPECT_EQ(world.done->query().value(), 0u);
  world.b->watch();
  world.devices[1]->lose(kFault);
  int steps = 0;
  while (world.step_shells() && steps < 100) ++steps;
  EXPECT_LT(steps, 100);
  EXPECT_EQ(code(world.done->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule27LetGo, WorkWhoseInputHasArrivedIsCompleteWithIt) {
  constexpr std::uint64_t kTurns = 100;
  LetGoWorld world;
  for (std::uint64_t i = 0; i < kTurns; ++i) {
    EXPECT_TRUE(world.submit(i % 2 == 0 ? world.a : world.b, {{world.done.get(), i}},
                             {{world.done.get(), i + 1}}).ok());
  }
  world.a->flush();
  world.b->flush();
  // No thread polls before all of it has run.
  for (std::uint64_t ran = 0; ran < kTurns;) {
    ran += static_cast<std::uint64_t>(world.a.native().run() + world.b.native().run());
  }
  const int polls = world.a.native().poll_calls + world.b.native().poll_calls;
  EXPECT_EQ(world.done->query().value(), kTurns);
  EXPECT_LE(world.a.native().poll_calls + world.b.native().poll_calls, polls + 4);
}

// Completes a lane whose end only another lane of the same device has shown. Returns the polls and
// notes.
struct Completed {
  int polls;
  std::uint64_t noted;
};
Completed complete_behind_another(const QueueCapabilities& capabilities) {
  World world;
  auto& device = world.device();
  auto& b = world.queue(device, "b", capabilities);
  auto& c = world.queue(device, "c", capabilities);
  auto between = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(b, {}, {{between.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(c, {{between.get(), 1}}, {{done.get(), 1}}).ok());
  c->flush();
  EXPECT_EQ(b.native().run(), 1);
  EXPECT_EQ(c.native().run(), 1);
  const int polls = b.native().poll_calls;
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(between->value(), 1u);
  return {b.native().poll_calls - polls, b.native().noted};
}

// A fault releases no wait within its own device, so a passed wait proves that the producer
// completed.
TEST(Rule27LetGo, ALaneOfTheSameDeviceIsCompletedWithoutAPoll) {
  const Completed completed = complete_behind_another(kMarkers);
  EXPECT_EQ(completed.polls, 0);
  EXPECT_EQ(completed.noted, 1u) << "it may use what stood at 1 again";
}

// The driver of such a lane learns only from polls which submissions have ended, so which resources
// it may reuse and which time stamps it can read.
TEST(Rule27LetGo, ALaneThatMarksEverySubmissionIsPolled) {
  const Completed completed = complete_behind_another({});
  EXPECT_EQ(completed.polls, 1);
  EXPECT_EQ(completed.noted, 0u);
}

// Its lane is dead, but its signals have not failed yet.
TEST(Rule27Quarantine, WhatIsSubmittedBehindADeadEntryFailsUnissued) {
  World world;
  auto& lost = world.device("lost");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(world.device("fine"), "b");
  auto edge = world.semaphore(), done = world.semaphore();
  a.native().stopped = true;
  EXPECT_TRUE(world.submit(a, {}, {{edge.get(), 1}}, 1).ok());
  bool told = false;
  world.work_source.on_wake = [&] {
    if (!a.native().abandoned || std::exchange(told, true)) return;
    EXPECT_TRUE(world.submit(b, {{edge.get(), 1}}, {{done.get(), 1}}, 2).ok());
  };
  lost.lose(kFault);
  world.settle();
  EXPECT_TRUE(told);
  EXPECT_EQ(b.lanes.size(), 1u) << "no lane that waits for it";
  EXPECT_EQ(b.native().issue_calls, 0);
  EXPECT_EQ(code(done->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule27Quarantine, SpreadsThroughEdgesFromTheDeadLane) {
  World world;
  auto& lost = world.device("lost");
  auto& second = world.device("second");
  auto& third = world.device("third");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(second, "b");
  auto& c = world.queue(third, "c");
  a.native().stopped = true;
  auto ab = world.semaphore(), bc = world.semaphore(), done = world.semaphore(),
       parked = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{ab.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {{ab.get(), 1}}, {{bc.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(c, {{bc.get(), 1}}, {{done.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(c, {{done.get(), 2}}, {{parked.get(), 1}}).ok());
  EXPECT_EQ(c.native().waiting(), 1u);
  lost.lose(kFault);
  world.settle();
  EXPECT_FALSE(done->query().ok());
  EXPECT_FALSE(parked->query().ok()) << "and through the semaphores";
  EXPECT_EQ(c.lanes.size(), 2u);
}

TEST(Rule27Quarantine, WorkThatTheFullOldLaneRefusedGoesToTheFreshOne) {
  World world;
  auto& lost = world.device("lost");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(world.device("fine"), "b", {.max_in_flight = 1});
  a.native().stopped = true;
  auto edge = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{edge.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {{edge.get(), 1}}, {}).ok());
  EXPECT_TRUE(world.submit(b, {}, {{done.get(), 1}}).ok());
  EXPECT_EQ(b.native().waiting(), 1u);
  lost.lose(kFault);
  world.settle();
  ASSERT_EQ(b.lanes.size(), 2u);
  EXPECT_EQ(done->query().value(), 1u);
}

TEST(Rule27Quarantine, WithoutAFreshLaneLaterWorkIsUnavailable) {
  World world;
  auto& lost = world.device("lost");
  auto& fine = world.device("fine");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(fine, "b");
  a.native().stopped = true;
  auto edge = world.semaphore(), dead = world.semaphore(), later = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{edge.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {{edge.get(), 1}}, {{dead.get(), 1}}).ok());
  b.open_error = Status(StatusCode::kResourceExhausted, "no more lanes");
  lost.lose(kFault);
  world.settle();
  EXPECT_TRUE(world.submit(b, {}, {{later.get(), 1}}).ok());
  world.settle();
  EXPECT_EQ(code(later->query().status()), StatusCode::kUnavailable);
}

// b has 1, then 2, which waits for `lost`. Neither has run when `lost` is lost.
struct QuarantinedWorld : World {
  Device& lost = device("lost");
  Device& fine = device("fine");
  QueueUnderTest& a = queue(lost, "a");
  QueueUnderTest& b = queue(fine, "b");
  HandleRef<Semaphore> edge = semaphore(), before = semaphore(), dead = semaphore();

  void quarantine(Submission** second = nullptr) {
    a.native().stopped = true;
    b.native().stopped = true;
    EXPECT_TRUE(submit(b, {}, {{before.get(), 1}}, 1).ok());
    EXPECT_TRUE(submit(a, {}, {{edge.get(), 1}}).ok());
    EXPECT_TRUE(submit(b, {{edge.get(), 1}}, {{dead.get(), 1}}, 2, second).ok());
    lost.lose(kFault);
    settle();
    ASSERT_EQ(b.lanes.size(), 2u);
    EXPECT_TRUE(before->query().ok());
  }
};

TEST(Rule27Quarantine, WorkThatTheOldLaneStillRunsStaysFailedAndIsReleased) {
  QuarantinedWorld world;
  Submission* second = nullptr;
  ASSERT_NO_FATAL_FAILURE(world.quarantine(&second));
  MemoryQueue& old = *world.b.lanes.front();
  old.stopped = false;
  old.ignores_waits = true;
  world.settle();
  world.b->flush();
  EXPECT_TRUE(world.b->idle());
  EXPECT_EQ(world.before->query().value(), 1u);
  EXPECT_EQ(code(world.dead->query().status()), StatusCode::kDeviceLost);
  EXPECT_EQ(second->state(), Submission::State::kFailed);
  EXPECT_EQ(world.resource.use_count(), 1);
  second->release_for_user();
}

TEST(Rule27Quarantine, TheDumpShowsExactlyWhatTheOldLaneHolds) {
  QuarantinedWorld world;
  ASSERT_NO_FATAL_FAILURE(world.quarantine());
  const auto old_lane = [&] {
    const std::string text = world.engine.dump_timelines();
    return text.substr(std::min(text.find("quarantined lane"), text.size()));
  };
  EXPECT_NE(old_lane().find("in flight as 1\n"), std::string::npos) << old_lane();
  EXPECT_NE(old_lane().find("failed, and held as 2\n"), std::string::npos) << old_lane();
  MemoryQueue& old = *world.b.lanes.front();
  old.stopped = false;
  old.ignores_waits = true;
  world.settle();
  EXPECT_EQ(world.before->query().value(), 1u);
  EXPECT_NE(old_lane().find("has retired 1, issued 2\n"), std::string::npos) << old_lane();
  EXPECT_EQ(old_lane().find(" as "), std::string::npos) << old_lane();
}

TEST(Rule27Quarantine, WorkInFrontOfTheDeadWaitFailsWithItsOwnDevice) {
  QuarantinedWorld world;
  world.quarantine();
  world.fine.lose(Status(StatusCode::kInternal, "ECC error"));
  world.settle();
  const Status failed = world.before->query().status();
  EXPECT_EQ(code(failed), StatusCode::kDeviceLost);
  EXPECT_NE(failed.message().find("ECC error"), std::string::npos) << failed.message();
  EXPECT_EQ(world.resource.use_count(), 1) << "1 and 2 have released it";
}

TEST(Rule27Quarantine, AQueueIsNotIdleWhileWorkInFrontOfTheDeadWaitRuns) {
  QuarantinedWorld world;
  world.quarantine();
  EXPECT_EQ(code(world.b->wait_idle(kNow)), StatusCode::kDeadlineExceeded);
  world.b.lanes[0]->stopped = false;
  world.settle();
  EXPECT_EQ(code(world.b->wait_idle(kNow)), StatusCode::kOk);
  EXPECT_EQ(world.before->value(), 1u);
}

TEST(Rule27Quarantine, DependentsOfWorkInFrontOfTheDeadWaitFailWithThatDevice) {
  QuarantinedWorld world;
  auto& third = world.device("third");
  auto& c = world.queue(third, "c");
  auto after = world.semaphore();
  world.quarantine();
  EXPECT_TRUE(world.submit(c, {{world.before.get(), 1}}, {{after.get(), 1}}).ok());
  world.settle();
  EXPECT_EQ(c.native().waiting(), 1u);
  world.fine.lose(Status(StatusCode::kInternal, "ECC error"));
  world.settle();
  EXPECT_EQ(code(after->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule27Quarantine, AClosedQueueEndsAlsoIfItsDeviceIsLostLater) {
  QuarantinedWorld world;
  world.quarantine();
  EXPECT_FALSE(world.b->idle());
  world.b->close(Status(StatusCode::kCancelled, "device closed"));
  world.fine.lose(kFault);
  for (int i = 0; i < 3 && !world.b->idle(); ++i) world.settle();
  EXPECT_TRUE(world.b->idle());
  EXPECT_EQ(code(world.before->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule27Quarantine, AClosedQueueEndsAlsoIfADeviceItWaitsForIsLostLater) {
  QuarantinedWorld world;
  auto& third = world.device("third");
  auto& c = world.queue(third, "c");
  c.native().stopped = true;
  auto from_c = world.semaphore(), on_c = world.semaphore();
  EXPECT_TRUE(world.submit(c, {}, {{from_c.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(world.b, {{from_c.get(), 1}}, {{on_c.get(), 1}}).ok());
  world.quarantine();
  world.b->close(Status(StatusCode::kCancelled, "device closed"));
  third.lose(kFault);
  world.b.lanes.front()->stopped = false;
  for (int i = 0; i < 3 && !world.b->idle(); ++i) world.settle();
  EXPECT_TRUE(world.b->idle());
  EXPECT_EQ(code(on_c->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule27Quarantine, ACallbackForWorkInFrontOfTheDeadWaitIsCalledWithoutAPoll) {
  QuarantinedWorld world;
  bool called = false;
  const auto call = [](void* at, const Status& status) {
    EXPECT_TRUE(status.ok()) << status.message();
    *static_cast<bool*>(at) = true;
  };
  Registration* const registration =
      Registration::create(*world.before.get(), 1, {&called, call, [](void*) {}}).value();
  world.quarantine();
  EXPECT_FALSE(called);
  world.b.lanes.front()->stopped = false;
  world.settle();
  EXPECT_TRUE(called);
  registration->drop();
}

// The engine has stopped neither lane: the work of `fine` waits natively for `lost`, whose fault no
// thread has seen.
struct UnseenLossWorld : World {
  Device& lost = device("lost");
  Device& fine = device("fine");
  QueueUnderTest& a = queue(lost, "a");
  QueueUnderTest& b = queue(fine, "b");
  HandleRef<Semaphore> edge = semaphore(), done = semaphore();

  UnseenLossWorld() {
    a.native().stopped = true;
    EXPECT_TRUE(submit(a, {}, {{edge.get(), 1}}).ok());
    EXPECT_TRUE(submit(b, {{edge.get(), 1}}, {{done.get(), 1}}).ok());
    a.native().probe_result = kFault;
  }
  // Lets a sleeping thread sleep until the next check of the lanes.
  void sleep_until_the_next_look() {
    work_source.asleep = [this] {
      ASSERT_LT(work_source.parks, 100) << "no thread sees the loss";
      work_source.clock_.time += Engine::kCheckInterval;
      settle();
    };
  }
};

TEST(Rule23Look, ALossIsSeenByAWaiterForDependentWorkOnAnotherDevice) {
  UnseenLossWorld world;
  world.sleep_until_the_next_look();
  EXPECT_EQ(code(world.done->wait(1, kForever)), StatusCode::kDeviceLost);
}

TEST(Rule23Look, ALossIsSeenByAWaiterUntilAnotherDevicesQueueIsIdle) {
  UnseenLossWorld world;
  world.sleep_until_the_next_look();
  EXPECT_TRUE(world.b->wait_idle(kForever).ok());
  EXPECT_EQ(code(world.done->query().status()), StatusCode::kDeviceLost);
}

// A lane that has no memory to arm with notifies at once, each time: no waiter ever sleeps.
struct SleeplessWorld : UnseenLossWorld {
  Deadline soon = Deadline::at(work_source.clock_.now() + 100 * Engine::kCheckInterval);

  SleeplessWorld() {
    b.native().arms_early = true;
    sleep_until_the_next_look();
    work_source.on_pause = [this] { work_source.clock_.time += Engine::kCheckInterval / 4; };
  }
};

TEST(Rule23Look, ALossIsSeenByAWaiterThatCannotSleep) {
  SleeplessWorld world;
  EXPECT_EQ(code(world.done->wait(1, world.soon)), StatusCode::kDeviceLost);
}

TEST(Rule23Look, ALossIsSeenByAWaiterThatCannotSleepUntilAQueueIsIdle) {
  SleeplessWorld world;
  EXPECT_TRUE(world.b->wait_idle(world.soon).ok());
  EXPECT_EQ(code(world.done->query().status()), StatusCode::kDeviceLost);
}

TEST(Rule23Look, ALossIsSeenByAClosingQueueThatWaitsForTheDevice) {
  UnseenLossWorld world;
  for (int i = 0; i < 8 && world.b->in_flight(); ++i) {
    world.b->watch();
    world.settle();
    world.work_source.clock_.time += Engine::kCheckInterval;
  }
  EXPECT_FALSE(world.b->in_flight());
  EXPECT_EQ(code(world.done->query().status()), StatusCode::kDeviceLost);
}

TEST(Close, AClosedQueueEndsAlsoIfItsDeviceIsLostLater) {
  World world;
  auto& device = world.device();
  auto& queue = world.queue(device, "queue");
  queue.native().stopped = true;
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  queue->close(Status(StatusCode::kCancelled, "device closed"));
  device.lose(kFault);
  for (int i = 0; i < 3 && !queue->idle(); ++i) world.settle();
  EXPECT_TRUE(queue->idle());
  EXPECT_EQ(code(done->query().status()), StatusCode::kDeviceLost);
}

TEST(Close, ALaneThatAThreadHasPinnedIsNotReleased) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  PinnedLanePoint lane = done->find_promise(1, kHostDomain);
  ASSERT_TRUE(lane) << "it pins the lane";
  queue.native().run();
  EXPECT_TRUE(lane->try_retire());
  const Status closed(StatusCode::kCancelled, "closed");
  queue->close(closed);
  world.settle();
  EXPECT_FALSE(queue->idle());
  EXPECT_FALSE(queue->release_lanes(closed));
  lane.reset();
  EXPECT_TRUE(queue->idle());
  EXPECT_TRUE(queue->release_lanes(closed));
}

TEST(Close, CancelsParkedWorkIncludingACycle) {
  World world;
  auto& queue = world.queue();
  auto a = world.semaphore(), b = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {{a.get(), 1}}, {{b.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(queue, {{b.get(), 1}}, {{a.get(), 1}}).ok());
  EXPECT_FALSE(queue->idle());
  queue->close(Status(StatusCode::kCancelled, "device closed"));
  world.settle();
  EXPECT_TRUE(queue->idle());
  EXPECT_EQ(code(a->query().status()), StatusCode::kCancelled);
  EXPECT_EQ(code(world.submit(queue, {}, {})), StatusCode::kCancelled);
}

}  // namespace
}  // namespace halyard::timeline::testing
