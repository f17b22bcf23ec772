// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rule 10 of timelines.md: a failure after the first native call, which cannot be undone.
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

TEST(Rule10StartedFailure, FailsItsSignalsAtOnceAndKeepsWhatItTouchesUntilTheLanePasses) {
  World world;
  auto& queue = world.queue();
  auto failed = world.semaphore(), later = world.semaphore();
  queue.native().stopped = true;
  queue.native().fail_next = kNoMemory;
  queue.native().fails_started = true;
  EXPECT_TRUE(world.submit(queue, {}, {{failed.get(), 1}}, 1).ok());
  EXPECT_TRUE(failed_with(failed, StatusCode::kResourceExhausted));
  EXPECT_EQ(world.resource.use_count(), 2) << "the device may still touch it";
  EXPECT_TRUE(world.submit(queue, {}, {{later.get(), 1}}, 2).ok()) << "the lane goes on";
  queue.native().stopped = false;
  world.settle();
  EXPECT_EQ(later->query().value(), 1u);
  EXPECT_EQ(world.resource.use_count(), 1);
  EXPECT_TRUE(queue->wait_idle(kNow).ok());
}

TEST(Rule10StartedFailure, NeverCovers) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  auto between = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(b, {{between.get(), 1}}, {{done.get(), 1}}, 2).ok());
  a.native().fail_next = kNoMemory;
  a.native().fails_started = true;
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}, 1).ok());
  EXPECT_EQ(b.native().waiting(), 0u);
  EXPECT_TRUE(failed_with(done, StatusCode::kResourceExhausted));
}

TEST(Rule10StartedFailure, OnALaneWithMarkersIsKeptUntilTheNextMarkerHasPassed) {
  World world;
  auto& queue = world.queue(world.device(), "q", kMarkers);
  auto failed = world.semaphore();
  queue.native().fail_next = kNoMemory;
  queue.native().fails_started = true;
  EXPECT_TRUE(world.submit(queue, {}, {{failed.get(), 1}}, 1).ok());
  EXPECT_EQ(queue.native().run(), 1);
  (void)failed->query();
  EXPECT_EQ(world.resource.use_count(), 2) << "no marker stands behind it";
  EXPECT_FALSE(queue->in_flight()) << "has one recorded, which has passed";
  EXPECT_EQ(world.resource.use_count(), 1);
}

TEST(Rule10StartedFailure, EndsWithItsDevice) {
  World world;
  auto& device = world.device();
  auto& queue = world.queue(device, "q");
  queue.native().stopped = true;
  queue.native().fail_next = kNoMemory;
  queue.native().fails_started = true;
  EXPECT_TRUE(world.submit(queue, {}, {}, 1).ok());
  EXPECT_EQ(world.resource.use_count(), 2);
  device.lose(kIllegalAddress);
  world.settle();
  EXPECT_EQ(world.resource.use_count(), 1);
}

TEST(Rule10StartedFailure, ThatIsALossKeepsWhatItTouchesUntilTheLaneIsAbandoned) {
  World world;
  auto& queue = world.queue();
  auto done = world.semaphore();
  queue.native().stopped = true;
  queue.native().fail_next = Status(StatusCode::kDeviceLost, "gone");
  queue.native().fails_started = true;
  long kept_as_it_is_abandoned = 0;
  queue.native().on_abandon = [&] { kept_as_it_is_abandoned = world.resource.use_count(); };
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  world.settle();
  EXPECT_TRUE(failed_with(done, StatusCode::kDeviceLost));
  EXPECT_EQ(kept_as_it_is_abandoned, 2);
  EXPECT_EQ(world.resource.use_count(), 1);
}

// Some of its waits may be missing.
TEST(Rule10StartedFailure, BehindWaitsAloneItUsesNothingAndOrdersNothing) {
  World world;
  auto& device = world.device();
  auto& a = world.queue(device, "a");
  auto& b = world.queue(device, "b");
  a.native().stopped = true;
  auto edge = world.semaphore();
  struct Seen {
    LanePoint waited_for;
    int issued = 0, undone = 0;
    IssueSite::Order order{};
  } seen;
  struct Payload : Operation {
    explicit Payload(Seen& to) : seen(to) {}
    Seen& seen;
  };
  static constexpr Gate kGate{
      .ask =
          [](void* payload, IssueSite& site, Status&) noexcept {
            Seen& at = static_cast<Payload*>(payload)->seen;
            at.order = site.order_after(at.waited_for);
            return Gate::Answer::kGo;
          },
      .issued = [](void* payload,
                   const LanePoint&) noexcept { ++static_cast<Payload*>(payload)->seen.issued; },
      .undo = [](void* payload) noexcept { ++static_cast<Payload*>(payload)->seen.undone; },
  };
  const auto submit_gated = [&](const SubmitOptions& info) {
    Submission* const gated = b->allocate().value();
    gated->emplace<Payload>(seen);
    gated->set_gate(kGate);
    return b->submit(*gated, info, nullptr);
  };
  Submission* const first = a->allocate().value();
  first->emplace<Operation>();
  const Point signal{edge.get(), 1};
  EXPECT_TRUE(a->submit(*first, {.signals = {&signal, 1}}, nullptr, &seen.waited_for).ok());
  b.native().fail_next = kNoMemory;
  b.native().fails_behind_waits = true;
  EXPECT_TRUE(submit_gated({.waits = {&signal, 1}}).ok());
  EXPECT_EQ(seen.order, IssueSite::Order::kWaited) << "by itself";
  EXPECT_EQ(seen.issued, 0);
  EXPECT_EQ(seen.undone, 1);
  EXPECT_TRUE(submit_gated({}).ok());
  EXPECT_EQ(seen.order, IssueSite::Order::kEdge);
  a.native().stopped = false;
  world.settle();
  EXPECT_TRUE(b->wait_idle(kNow).ok());
}

// Its native wait stays in the lane, before later submissions.
TEST(Rule10StartedFailure, ItsWaitForALostDeviceIsADeadWait) {
  for (const QueueCapabilities& capabilities : {QueueCapabilities(), kMarkers}) {
    World world;
    auto& lost = world.device("lost");
    auto& a = world.queue(lost, "a", capabilities);
    auto& b = world.queue(world.device("fine"), "b", capabilities);
    a.native().stopped = true;
    auto edge = world.semaphore(), failed = world.semaphore(), behind = world.semaphore(),
         fresh = world.semaphore();
    EXPECT_TRUE(world.submit(a, {}, {{edge.get(), 1}}).ok());
    b.native().fail_next = kNoMemory;
    b.native().fails_behind_waits = true;
    EXPECT_TRUE(world.submit(b, {{edge.get(), 1}}, {{failed.get(), 1}}, 1).ok());
    EXPECT_TRUE(failed_with(failed, StatusCode::kResourceExhausted));
    EXPECT_TRUE(world.submit(b, {}, {{behind.get(), 1}}, 2).ok());
    lost.lose(kIllegalAddress);
    world.settle();
    EXPECT_TRUE(failed_with(behind, StatusCode::kUnavailable));
    EXPECT_EQ(b.lanes.size(), 2u);
    EXPECT_TRUE(world.submit(b, {}, {{fresh.get(), 1}}, 3).ok());
    world.settle();
    EXPECT_EQ(fresh->query().value(), 1u);
  }
}

}  // namespace
}  // namespace halyard::timeline::testing
