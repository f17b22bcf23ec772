// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rule 16: the depth of a lane in native commands. Submissions that are deeper are issued in parts.
#include "memory_queue.h"

namespace halyard::timeline::testing {
namespace {

constexpr QueueCapabilities kFour{.max_in_flight = 4};

TEST(Rule16Depth, CountsNativeCommandsAndNotSubmissions) {
  World world;
  auto& queue = world.queue(world.device(), "q", kFour);
  queue.native().stopped = true;
  EXPECT_TRUE(world.submit(queue, {}, {}, 1, nullptr, 3).ok());
  EXPECT_TRUE(world.submit(queue, {}, {}, 2, nullptr, 2).ok());
  EXPECT_EQ(queue.native().waiting(), 1u) << "3 + 2 are more than 4";
  queue.native().stopped = false;
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2}));
}

TEST(Rule16Depth, WhatIsDeeperThanAnEmptyLaneGoesInParts) {
  World world;
  auto& queue = world.queue(world.device(), "q", kFour);
  auto done = world.semaphore(), behind = world.semaphore();
  queue.native().stopped = true;
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1, nullptr, 10).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{behind.get(), 1}}, 2).ok());
  EXPECT_EQ(queue.native().waiting(), 1u) << "the first part";
  queue.native().stopped = false;
  EXPECT_EQ(queue.native().run(1), 1);
  EXPECT_TRUE(world.submit(queue, {}, {}, 3).ok()) << "when there is room again";
  world.settle();
  const auto& parts = queue.native().parts;
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0].first, 0u);
  EXPECT_EQ(parts[0].count, 4u);
  EXPECT_EQ(parts[1].first, 4u);
  EXPECT_EQ(parts[1].count, 4u);
  EXPECT_EQ(parts[2].first, 8u);
  EXPECT_EQ(parts[2].count, 2u);
  EXPECT_EQ(world.log, (std::vector<int>{1, 1, 1, 2, 3})) << "nothing comes between";
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(behind->query().value(), 1u);
  EXPECT_EQ(world.resource.use_count(), 1);
}

TEST(Rule16Depth, WhatNeedsMoreThanHalfOfALaneIsAskedForAgainOnlyOnceItFits) {
  World world;
  auto& queue = world.queue(world.device(), "q", kFour);
  EXPECT_TRUE(world.submit(queue, {}, {}, 1, nullptr, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {}, 2, nullptr, 1).ok());
  EXPECT_TRUE(world.submit(queue, {}, {}, 3, nullptr, 4).ok());
  world.engine.step_completion();
  int wakes = 0;
  world.work_source.on_wake = [&] { ++wakes; };
  for (int look = 0; look < 5; ++look) world.engine.step_completion();
  EXPECT_EQ(queue.native().run(1), 1);
  for (int look = 0; look < 5; ++look) world.engine.step_completion();
  EXPECT_EQ(wakes, 0) << "the completion shell may sleep";
  EXPECT_EQ(queue.native().run(1), 1);
  world.engine.step_completion();
  EXPECT_EQ(queue.native().waiting(), 1u);
  world.work_source.on_wake = nullptr;
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 2, 3}));
}

// The queue has been notified of room, but no thread has drained it yet.
TEST(Rule16Depth, WhatIsSubmittedAsThereIsRoomGoesBehindTheParts) {
  World world;
  auto& queue = world.queue(world.device(), "q", kFour);
  EXPECT_TRUE(world.submit(queue, {}, {}, 1, nullptr, 10).ok());
  EXPECT_EQ(queue.native().run(1), 1);
  EXPECT_TRUE(queue->in_flight());
  EXPECT_TRUE(world.submit(queue, {}, {}, 2).ok());
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 1, 1, 2}));
}

TEST(Rule16Depth, PartsSignalWithTheLastOneAndCoverNothingBefore) {
  World world;
  auto& device = world.device();
  auto& queue = world.queue(device, "q", kFour);
  auto& other = world.queue(device, "other");
  auto done = world.semaphore();
  queue.native().stopped = true;
  EXPECT_TRUE(world.submit(other, {{done.get(), 1}}, {}, 2).ok());
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1, nullptr, 5).ok());
  EXPECT_EQ(other.native().waiting(), 0u);
  queue.native().stopped = false;
  EXPECT_EQ(queue.native().run(1), 1);
  EXPECT_EQ(done->query().value(), 0u);
  EXPECT_NE(world.engine.dump_timelines().find("in parts"), std::string::npos);
  world.settle();
  EXPECT_EQ(world.log, (std::vector<int>{1, 1, 2}));
}

TEST(Rule16Depth, PartsGoOnBehindMarkers) {
  World world;
  auto& queue =
      world.queue(world.device(), "q", {.marks_every_submission = false, .max_in_flight = 4});
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1, nullptr, 100).ok());
  world.settle();
  EXPECT_TRUE(queue->wait_idle(kNow).ok());
  EXPECT_EQ(done->query().value(), 1u);
  EXPECT_EQ(queue.native().parts.size(), 25u);
}

TEST(Rule16Depth, PartsGoOnHoweverOftenOneThreadFindsRoomForThem) {
  World world;
  auto& queue = world.queue(world.device(), "q", {.max_in_flight = 1});
  auto done = world.semaphore();
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}).ok());
  PinnedLanePoint lane = done->find_promise(1, kHostDomain);
  ASSERT_TRUE(lane);
  // As soon as the issuer finds the lane full the device runs the part, and another thread retires
  // it; that thread finds the role taken and leaves the remaining parts to the issuer.
  world.work_source.on_wake = [&] {
    if (queue.native().run() == 0) return;
    std::thread([&] {
      EffectScope scope(world.engine, EffectScope::Mode::kShell);
      (void)lane->try_retire();
    }).join();
  };
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 2}}, 1, nullptr, /*depth=*/1000).ok());
  world.work_source.on_wake = nullptr;
  world.settle();
  EXPECT_EQ(done->query().value(), 2u);
  lane.reset();
}

TEST(Rule16Depth, PartsEndWithTheLossOfTheirDevice) {
  for (const bool some_have_run : {false, true}) {
    World world;
    auto& device = world.device();
    auto& queue = world.queue(device, "q", kFour);
    auto done = world.semaphore();
    queue.native().stopped = true;
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1, nullptr, 10).ok());
    if (some_have_run) {
      queue.native().stopped = false;
      EXPECT_EQ(queue.native().run(), 1);
      queue.native().stopped = true;
    }
    device.lose(kIllegalAddress);
    world.settle();
    EXPECT_TRUE(failed_with(done, StatusCode::kDeviceLost));
    EXPECT_EQ(world.resource.use_count(), 1);
    EXPECT_TRUE(queue->wait_idle(kNow).ok());
  }
}

// A queue with a part of a submission in flight: one command of submission 2, which has 6. When
// submission 1 has run there is room for the second part.
struct WithAPartInFlight {
  WithAPartInFlight() {
    queue.native().stopped = true;
    EXPECT_TRUE(world.submit(queue, {}, {}, 1, nullptr, 3).ok());
    EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 2, nullptr, 6).ok());
    EXPECT_TRUE(world.submit(queue, {}, {{behind.get(), 1}}, 3).ok());
    EXPECT_EQ(queue.native().parts.back().count, 1u);
    queue.native().stopped = false;
    EXPECT_EQ(queue.native().run(1), 1);
    queue.native().stopped = true;
  }
  void offer_the_next() { (void)done->query(), world.step_shells(); }

  World world;
  QueueUnderTest& queue = world.queue(world.device(), "q", kFour);
  HandleRef<Semaphore> done = world.semaphore(), behind = world.semaphore();
};

TEST(Rule16Depth, ASubmissionWithAFailedPartIsKeptUntilTheOthersHavePassed) {
  WithAPartInFlight it;
  it.queue.native().fail_next = kNoMemory;
  it.offer_the_next();
  EXPECT_TRUE(failed_with(it.done, StatusCode::kResourceExhausted));
  EXPECT_EQ(it.world.resource.use_count(), 3) << "the first part may use it";
  it.queue.native().stopped = false;
  it.world.settle();
  EXPECT_EQ(it.behind->query().value(), 1u);
  EXPECT_EQ(it.world.log, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(it.world.resource.use_count(), 1);
}

TEST(Rule16Depth, APartThatIsRefusedIsOfferedAgainBeforeAllOtherWork) {
  WithAPartInFlight it;
  it.queue.native().capacity = 1;
  it.offer_the_next();
  EXPECT_EQ(it.queue.native().parts.size(), 2u);
  EXPECT_TRUE(it.world.submit(it.queue, {}, {}, 4).ok());
  it.queue.native().capacity = 100;
  it.queue.native().stopped = false;
  it.world.settle();
  EXPECT_EQ(it.queue.native().parts[2].first, 1u);
  EXPECT_EQ(it.world.log.front(), 1);
  EXPECT_EQ(it.world.log.back(), 4);
  EXPECT_EQ(it.done->query().value(), 1u);
  EXPECT_EQ(it.behind->query().value(), 1u);
}

TEST(Rule16Depth, ItsGateIsToldOnceOfItsPlaceHoweverItEnds) {
  enum class End { kComplete, kAPartFails, kLoss };
  for (const End end : {End::kComplete, End::kAPartFails, End::kLoss}) {
    struct Payload : Operation {
      explicit Payload(int& count) : told(count) {}
      int& told;
    };
    static constexpr Gate kGate{
        .ask = [](void*, IssueSite&, Status&) noexcept { return Gate::Answer::kGo; },
        .issued = [](void* payload,
                     const LanePoint&) noexcept { ++static_cast<Payload*>(payload)->told; },
    };
    World world;
    auto& device = world.device();
    auto& queue = world.queue(device, "q", kFour);
    queue.native().stopped = true;
    int told = 0;
    Submission* const gated = queue->allocate().value();
    gated->emplace<Payload>(told);
    gated->set_gate(kGate);
    gated->set_depth(10);
    EXPECT_TRUE(queue->submit(*gated, {}, nullptr).ok());
    EXPECT_EQ(queue.native().waiting(), 1u) << "the first part";
    if (end == End::kAPartFails) queue.native().fail_next = kNoMemory;
    if (end == End::kLoss) device.lose(kIllegalAddress);
    queue.native().stopped = false;
    world.settle();
    EXPECT_TRUE(queue->wait_idle(kNow).ok());
    EXPECT_EQ(told, 1);
  }
}

TEST(Rule16Depth, WhatAnEmptyLaneRefusesFails) {
  World world;
  auto& queue = world.queue(world.device(), "q", kFour);
  auto done = world.semaphore(), other = world.semaphore();
  queue.native().capacity = 0;
  EXPECT_TRUE(world.submit(queue, {}, {{done.get(), 1}}, 1).ok());
  EXPECT_TRUE(failed_with(done, StatusCode::kResourceExhausted));
  EXPECT_NE(done->query().status().message().find("q: the submission does not fit an empty lane"),
            std::string_view::npos);
  queue.native().capacity = 1;
  EXPECT_TRUE(world.submit(queue, {}, {{other.get(), 1}}, 2).ok());
  world.settle();
  EXPECT_EQ(other->query().value(), 1u) << "the queue goes on";
}

TEST(Rule27Parts, BehindADeadWaitAreHeldWithTheirLane) {
  World world;
  auto& lost = world.device("lost");
  auto& a = world.queue(lost, "a");
  auto& b = world.queue(world.device("alive"), "b", kFour);
  auto between = world.semaphore(), done = world.semaphore(), fresh = world.semaphore();
  a.native().stopped = true;
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}, 1).ok());
  EXPECT_TRUE(world.submit(b, {{between.get(), 1}}, {{done.get(), 1}}, 2, nullptr, 10).ok());
  EXPECT_EQ(b.native().waiting(), 1u);
  MemoryQueue& old = b.native();
  lost.lose(kIllegalAddress);
  while (world.step_shells()) {
  }
  EXPECT_TRUE(failed_with(done, StatusCode::kDeviceLost));
  EXPECT_EQ(world.resource.use_count(), 2) << "the old lane may still touch it";
  EXPECT_TRUE(world.submit(b, {}, {{fresh.get(), 1}}, 3).ok());
  world.settle();
  EXPECT_EQ(fresh->query().value(), 1u) << "a fresh lane has taken over";
  old.ignores_waits = true;
  EXPECT_EQ(old.run(), 1);
  EXPECT_FALSE(b->in_flight());
  EXPECT_EQ(world.resource.use_count(), 1);
}

TEST(Rule27LetGo, PartsThatRanWithoutTheirInputFail) {
  World world;
  auto& lost = world.device("lost");
  auto& a = world.queue(lost, "a", {.marks_every_submission = false});
  auto& b = world.queue(world.device("alive"), "b",
                        {.marks_every_submission = false, .max_in_flight = 1});
  auto between = world.semaphore(), done = world.semaphore();
  EXPECT_TRUE(world.submit(a, {}, {{between.get(), 1}}).ok());
  EXPECT_TRUE(world.submit(b, {{between.get(), 1}}, {{done.get(), 1}}, 1, nullptr, 3).ok());
  a.native().stopped = true;
  b.native().lets_go = true;
  b.native().run();
  lost.lose(kIllegalAddress);
  int steps = 0;
  while (world.step_shells() && steps < 100) ++steps;
  EXPECT_LT(steps, 100);
  EXPECT_TRUE(failed_with(done, StatusCode::kDeviceLost));
}

}  // namespace
}  // namespace halyard::timeline::testing
