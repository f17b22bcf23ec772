// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lane of markers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "counts/allocations.h"
#include "lanes/lane_contract.h"
#include "simulation/stream/device.h"
#include "stream/opened_lane.h"
#include "stream/stream_gate.h"

namespace halyard::stream {
namespace {

struct StreamLanes : ::testing::Test {
  static constexpr bool kDropsWork = true;
  static std::unique_ptr<hal::DeviceImpl> open_device() {
    return FakeDevice::create({}, 0, {}, CommandBufferMode::kStream).value();
  }
  static std::unique_ptr<testing::Gate> open_gate(hal::DeviceImpl&) {
    return std::make_unique<testing::StreamGate<FakeApi>>(
        FakeApi(), ContextGuard<FakeApi>::create(FakeApi(), 1).value());
  }
};

// --- markers and edges ---------------------------------------------------------------------------

TEST(StreamLane, ShowsNoProgressBehindItsLastMarker) {
  OpenedContext context;
  OpenedLane<> lane(context);
  lane.issue(kBarrier, 1);
  EXPECT_EQ(lane.issue({.operation = &kBarrier, .sequence = 2, .want_marker = false}).count, 1u);
  lane.wait_until(1);
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_TRUE(lane->mark().ok());
  lane.wait_until(2);
}

TEST(StreamLane, RunsLanesOfTwoDevicesWithEdgesBothWays) {
  OpenedContext first_context(0), second_context(1);
  OpenedLane<> first(first_context), second(second_context);
  constexpr std::uint64_t kLinks = 50;
  for (std::uint64_t i = 1; i <= kLinks; ++i) {
    first.issue(kBarrier, i, i > 1 ? std::vector{second.at(i - 1)} : std::vector<Edge>());
    second.issue(kBarrier, i, {first.at(i)});
  }
  second.wait_until(kLinks);
}

TEST(StreamLane, AnEdgeThatHasPassedNeedsNoNativeWait) {
  OpenedContext context;
  OpenedLane<> producer(context), consumer(context);
  producer.issue(kBarrier, 1);
  producer.wait_until(1);
  producer.issue(kBarrier, 2);
  const FailingCalls failing("stream.wait");
  consumer.issue(kBarrier, 1, {producer.at(1)});
  EXPECT_EQ(failing.failed(), 0);
}

TEST(StreamLane, NeedsItsGuardForWhatCallsTheLibrary) {
  OpenedContext context;
  OpenedLane<> producer(context), lane(context);
  const auto a = context.allocate(64);
  const hal::Operation filled = fill(a, 1);
  const Edge edge = producer.at(1);
  const auto needs_guard = [&](const hal::Operation& operation, std::span<const Edge> waits,
                               bool want_marker) {
    return lane->needs_guard({.waits = waits, .operation = &operation, .want_marker = want_marker});
  };
  EXPECT_FALSE(needs_guard(kBarrier, {}, false));
  EXPECT_TRUE(needs_guard(kBarrier, {}, true)) << "the marker is recorded";
  EXPECT_TRUE(needs_guard(kBarrier, {&edge, 1}, false)) << "the stream waits";
  EXPECT_TRUE(needs_guard(filled, {}, false));
}

TEST(StreamLane, RecordsNoSecondMarkerAtTheSameSequence) {
  OpenedContext context;
  OpenedLane<> lane(context);
  lane.issue(kBarrier, 1);
  const FailingCalls failing("stream.record");
  EXPECT_TRUE(lane->mark().ok());
  EXPECT_EQ(failing.failed(), 0);
}

TEST(StreamLane, AllocatesNothingInTheSteadyState) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer counts its own";
  OpenedContext context;
  OpenedLane<> first(context), second(context);
  base::Parker& parker = base::ParkerPool::acquire();
  std::uint64_t next = 1;
  const auto round = [&] {
    for (std::uint32_t i = 0; i < 32; ++i, ++next) {
      const Edge edge = first.at(next);
      ASSERT_EQ(first.issue({.operation = &kBarrier, .sequence = next, .want_marker = true}).count,
                1u);
      ASSERT_EQ(second
                    .issue({.waits = {&edge, 1},
                            .operation = &kBarrier,
                            .sequence = next,
                            .want_marker = true})
                    .count,
                1u);
    }
    second.wait_until(next - 1);
    first.wait_until(next - 1);
  };
  // The number of submissions in flight depends on which thread is faster. Memory that was needed
  // once is kept.
  constexpr int kSteady = 20;
  int steady = 0;
  for (int i = 0; i < 2000 && steady < kSteady; ++i) {
    const std::uint64_t before = counts::allocations();
    round();
    steady = counts::allocations() == before ? steady + 1 : 0;
  }
  EXPECT_EQ(steady, kSteady);
  base::ParkerPool::release(parker);
}

// --- failures ------------------------------------------------------------------------------------

TEST(StreamLane, SaysThatAWantedMarkerWasNotRecorded) {
  for (const char* site : {"stream.record", "stream.create_event"}) {
    OpenedContext context;
    OpenedLane<> lane(context);
    lane.issue(kBarrier, 1);  // the first event is there already
    timeline::IssueResult result;
    {
      const FailingCalls failing(site, 1);
      result = lane.issue({.operation = &kBarrier, .sequence = 2, .want_marker = true});
    }
    EXPECT_EQ(result.count, 1u) << site;
    EXPECT_TRUE(result.status.ok()) << site;
    EXPECT_TRUE(result.unmarked) << site;
    EXPECT_TRUE(lane->mark().ok()) << site;
    lane.wait_until(2);
  }
}

TEST(StreamLane, IsExhaustedWithoutAnEventAndLostWhereOneCannotBeRecorded) {
  OpenedContext context;
  OpenedLane<> lane(context);
  lane.issue(kBarrier, 1);
  EXPECT_EQ(lane.issue({.operation = &kBarrier, .sequence = 2, .want_marker = false}).count, 1u);
  {
    const FailingCalls failing("stream.create_event", 1);
    EXPECT_EQ(lane->mark().code(), StatusCode::kResourceExhausted);
  }
  {
    const FailingCalls failing("stream.record", 1);
    const Status lost = lane->mark();
    EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(lost.native_error(), "FAKE_ERROR_OUT_OF_MEMORY");
  }
  lane.wait_until(1);
  const FailingCalls failing("stream.create_event");
  EXPECT_TRUE(lane->mark().ok()) << "one that has passed is recorded again";
}

TEST(StreamLane, ReportsWhatWasCompleteBeforeAFaultOnceItWasSeen) {
  OpenedContext context(2);
  OpenedLane<> lane(context);
  lane.issue(kBarrier, 1);
  lane.wait_until(1);
  lane.issue(kBarrier, 2);
  fake::fault(2);
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_EQ(lane->poll().fault.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(lane->probe().code(), StatusCode::kDeviceLost);
}

TEST(StreamLane, FailsAloneBeforeItsFirstNativeCall) {
  OpenedContext context;
  OpenedLane<> lane(context);
  const auto memory = context.allocate(64);
  const hal::Operation failing_fill = fill(memory, 1), later = fill(memory, 2);
  timeline::IssueResult result;
  {
    const FailingCalls failing("stream.fill", 1);
    result = lane.issue({.operation = &failing_fill, .sequence = 1, .want_marker = true});
  }
  EXPECT_EQ(result.count, 0u);
  EXPECT_EQ(result.status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(result.left, timeline::Left::kNothing);
  lane.issue(later, 1);
  lane.wait_until(1);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{2});
}

// The awaited work may be lost with its device. Then the engine must know of the wait.
TEST(StreamLane, KeepsItsSequenceWhenItFailsBehindANativeWait) {
  OpenedContext context;
  OpenedLane<> producer(context), lane(context);
  const auto memory = context.allocate(64);
  const hal::Operation failing_fill = fill(memory, 1);
  const auto issue = [&](std::uint64_t waits_for, std::uint64_t sequence) {
    const Edge edge = producer.at(waits_for);
    const FailingCalls failing("stream.fill", 1);
    return lane.issue({.waits = {&edge, 1},
                       .operation = &failing_fill,
                       .sequence = sequence,
                       .want_marker = true});
  };
  producer.issue(kBarrier, 1);
  const timeline::IssueResult failed = issue(1, 1);
  EXPECT_EQ(failed.left, timeline::Left::kWaits);
  EXPECT_TRUE(lane->mark().ok());
  lane.wait_until(1);
  producer.wait_until(1);
  EXPECT_EQ(issue(1, 2).left, timeline::Left::kNothing) << "what has passed is not waited for";
}

TEST(StreamLane, KeepsItsSequenceWhenItFailsBehindItsFirstNativeCall) {
  OpenedContext context;
  OpenedLane<> lane(context);
  const auto memory = context.allocate(64);
  std::fill_n(memory->host_pointer(), 64, std::byte{0});
  const Fills fills(memory, 3);
  timeline::IssueResult result;
  {
    const FailingCalls failing("stream.fill", 2);
    result = lane.issue(
        {.operation = &fills.operation, .sequence = 1, .want_marker = true, .commands = {0, 3}});
  }
  EXPECT_EQ(result.count, 0u);
  EXPECT_EQ(result.status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(result.left, timeline::Left::kStarted);
  EXPECT_EQ(lane->poll().sequence, 0u);
  EXPECT_TRUE(lane->mark().ok()) << "the lane passes it with the next marker";
  lane.wait_until(1);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{1}) << "what had been issued has run";
  EXPECT_EQ(memory->host_pointer()[1], std::byte{0});
  lane.issue(fills.operation, 2);
  lane.wait_until(2);
}

// --- recordings ----------------------------------------------------------------------------------

TEST(StreamLane, IssuesTheNativeCommandsOfAPartAlone) {
  OpenedContext context;
  OpenedLane<> lane(context);
  const auto memory = context.allocate(64);
  std::fill_n(memory->host_pointer(), 64, std::byte{0});
  const Fills fills(memory, 5);
  EXPECT_EQ(fills.native->depth(), 5u);
  const auto part = [&](std::uint64_t sequence, std::uint32_t first, std::uint32_t count) {
    EXPECT_EQ(lane.issue({.operation = &fills.operation,
                          .sequence = sequence,
                          .want_marker = true,
                          .commands = {first, count}})
                  .count,
              1u);
    lane.wait_until(sequence);
  };
  part(1, 0, 2);
  EXPECT_EQ(memory->host_pointer()[1], std::byte{2});
  EXPECT_EQ(memory->host_pointer()[2], std::byte{0});
  part(2, 2, 3);
  EXPECT_EQ(memory->host_pointer()[4], std::byte{5});
}

TEST(StreamLane, CountsNoCommandThatOnlyOrdersOthersAndAtLeastOne) {
  const hal::Command barriers[2];
  const hal::RecordedCommands recording{.commands = barriers, .edges = {}};
  EXPECT_EQ(CommandBuffer::create(recording, FakeApi::kDriver).value()->depth(), 1u);
  OpenedContext context;
  OpenedLane<> lane(context);
  const auto native = CommandBuffer::create(recording, FakeApi::kDriver).value();
  hal::Operation operation;
  operation.kind = hal::OperationKind::kExecute;
  operation.native = native.get();
  lane.issue(operation, 1);
  lane.wait_until(1);
}

// --- the end -------------------------------------------------------------------------------------

class StreamLaneEnd : public ::testing::Test {
 protected:
  explicit StreamLaneEnd(OpenedContext opened = OpenedContext()) : context(std::move(opened)) {
    std::fill_n(bytes, 64, std::byte{0});
    gates.target = memory->device_address();
  }

  OpenedContext context;
  const Ref<hal::Memory> memory = context.allocate(64);
  std::byte* const bytes = memory->host_pointer();
  Gates gates;
};

TEST_F(StreamLaneEnd, AbandonedProducerLeavesItsConsumerToTheEngine) {
  GatedLane gate(context), consumer(context);
  gate.issue(kGate, 1);
  {
    GatedLane producer(context);
    producer.issue(kBarrier, 1, {gate.at(1)});
    consumer.issue(kBarrier, 1, {producer.at(1)});
  }  // from now on the edge leads nowhere
  gates.open = true;
  gate.wait_until(1);
  EXPECT_EQ(consumer->poll().sequence, 0u);
  EXPECT_TRUE(consumer->probe().ok());
}

class StreamLaneUnstoppable : public StreamLaneEnd {
 protected:
  StreamLaneUnstoppable() : StreamLaneEnd(OpenedContext(3, {.unstoppable = true})) {}
};

TEST_F(StreamLaneUnstoppable, WhatRunsGoesOnWithWhatItWasGiven) {
  {
    GatedLane lane(context);
    lane.issue(kGate, 1);
    lane.issue(kBarrier, 2);
    while (gates.entered == 0) base::spin_pause();
    EXPECT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopping);
    EXPECT_EQ(lane->abandon({}, kPatience - 1), timeline::Abandoned::kStopping);
    EXPECT_EQ(lane->abandon({}, kPatience), timeline::Abandoned::kStillRunning);
    EXPECT_EQ(lane->poll().fault.message(), "gone");
  }
  gates.open = true;
  while (std::atomic_ref(bytes[63]).load() != std::byte{1}) base::spin_pause();
}

TEST_F(StreamLaneUnstoppable, WhatRunsNotifiesNothingOnceItIsAbandoned) {
  CountingNotify notify;
  {
    GatedLane lane(context);
    lane.issue(kGate, 1);
    while (gates.entered == 0) base::spin_pause();
    EXPECT_TRUE(lane->arm(1, notify).ok());
    EXPECT_EQ(notify.count, 0);
    EXPECT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopping);
    EXPECT_EQ(notify.count, 1);
  }
  gates.open = true;
  while (std::atomic_ref(bytes[63]).load() != std::byte{1}) base::spin_pause();
  EXPECT_EQ(notify.count, 1);
}

TEST_F(StreamLaneUnstoppable, WhatHasEndedIsStopped) {
  for (int i = 0; i < 100; ++i) {
    GatedLane lane(context);
    lane.issue(kBarrier, 1);
    lane.wait_until(1);
    ASSERT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopped);
  }
}

}  // namespace
}  // namespace halyard::stream

namespace halyard::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Stream, LaneContract, stream::StreamLanes);
}
