// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metal lane when command buffers fail.
#include <gtest/gtest.h>
#include <sched.h>

#include "drivers/metal/command_buffer.h"
#include "metal/metal_test_util.h"

namespace halyard::metal {
namespace {

using sim::metal::FailedSignals;
using sim::metal::Options;

constexpr int kPageFault = 3, kAccessRevoked = 4, kOutOfMemory = 8;

// Whether a failed buffer signals its events, which Apple does not document.
class MetalLoss : public MetalTest, public ::testing::WithParamInterface<FailedSignals> {
 protected:
  void SetUp() override {}
  // The committed buffer with this number fails.
  void fail(std::uint64_t number, int code) {
    sets_events_ = true;
    Options options;
    options.failed_buffers = {{number, code}};
    options.failed_signals = GetParam();
    options.adversities.slow_completion = true;
    options.adversities.out_of_order = true;
    options.faults_until_revoked = 0;
    options.wait_timeout = 100'000'000'000;  // longer than a test: a wait that nothing ends hangs
    begin(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Of, MetalLoss,
                         ::testing::Values(FailedSignals::kNever, FailedSignals::kAlways),
                         [](const auto& which) {
                           return std::string(which.param == FailedSignals::kNever
                                                  ? "ABufferThatDoesNotSignal"
                                                  : "ABufferThatSignals");
                         });

TEST_P(MetalLoss, IsAFaultWithItsNativeName) {
  fail(2, kPageFault);
  const auto lane = native().lane(), other = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  wait_until(*lane, 1);
  CountingNotify notify;
  ASSERT_TRUE(other->arm(1, notify).ok());
  ASSERT_EQ(issue(*lane, kBarrier, 2).count, 1u);
  EXPECT_EQ(fault_of(*lane).native_error(), "MTLCommandBufferErrorPageFault");
  EXPECT_EQ(notify.count, 1) << "a waiter of another lane is woken, too";
  for (Lane* each : {lane.get(), other.get()}) {
    EXPECT_EQ(each->poll().fault.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(each->probe().code(), StatusCode::kDeviceLost);
    EXPECT_EQ(each->arm(9, notify).code(), StatusCode::kDeviceLost);
    EXPECT_EQ(issue(*each, kBarrier, 3).status.code(), StatusCode::kDeviceLost);
  }
  EXPECT_EQ(lane->poll().sequence, 1u) << "what was done before stays done";
  EXPECT_EQ(stop(*lane), timeline::Abandoned::kStopped);
  EXPECT_EQ(stop(*other), timeline::Abandoned::kStopped);
}

TEST_P(MetalLoss, WorkThatWaitedForWhatFailedIsNeverDone) {
  fail(1, kOutOfMemory);
  const auto producer = native().lane(), between = native().lane(), consumer = native().lane();
  ASSERT_EQ(issue(*producer, kBarrier, 1).count, 1u);
  ASSERT_EQ(issue(*between, kBarrier, 1, {Edge{producer.get(), 1}}).count, 1u);
  ASSERT_EQ(issue(*consumer, kBarrier, 1, {Edge{between.get(), 1}}).count, 1u);
  // No thread polls the producer.
  EXPECT_EQ(fault_of(*consumer).native_error(), "MTLCommandBufferErrorOutOfMemory");
  EXPECT_EQ(consumer->poll().sequence, 0u);
  EXPECT_EQ(between->poll().sequence, 0u);
  // A lane's waits end when the lane that it waits for is abandoned.
  const Status gone(StatusCode::kDeviceLost, "gone");
  (void)consumer->abandon(gone, 0);
  (void)between->abandon(gone, 0);
  for (Lane* each : {producer.get(), between.get(), consumer.get()}) {
    EXPECT_EQ(stop(*each), timeline::Abandoned::kStopped);
  }
}

TEST_P(MetalLoss, NoWaiterOfTheDeviceIsLeftBehindTheLostLane) {
  fail(1, kPageFault);
  const auto producer = native().lane(), consumer = native().lane();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(issue(*producer, kBarrier, i).count, 1u);
    ASSERT_EQ(issue(*consumer, kBarrier, i, {Edge{producer.get(), i}}).count, 1u);
  }
  (void)fault_of(*consumer);
  EXPECT_EQ(stop(*producer), timeline::Abandoned::kStopped);
  EXPECT_EQ(stop(*consumer), timeline::Abandoned::kStopped);
}

// The first buffer fails. The last buffer is released by a signal or by the host, and completes.
TEST_P(MetalLoss, ASubmissionOfSeveralBuffersIsDoneByNoneOfThem) {
  fail(1, kPageFault);
  Native in_parts({.page = 16384, .split_after = 1});
  const auto memory = in_parts.memory(64);
  const hal::Command commands[] = {
      hal::Command(hal::FillCommand{range(memory, 0, 16), 1, 4}), hal::Command(),
      hal::Command(hal::FillCommand{range(memory, 16, 16), 2, 4}), hal::Command(),
      hal::Command(hal::FillCommand{range(memory, 32, 16), 3, 4})};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}};
  const auto prepared = CommandBuffer::create(in_parts.heap(), recording).value();
  hal::Operation replay;
  replay.kind = hal::OperationKind::kExecute;
  replay.native = prepared.get();
  const auto lane = in_parts.lane();
  timeline::Issue issue{.waits = {}, .operation = &replay, .sequence = 1, .want_marker = false};
  issue.commands = {.first = 0, .count = 3};
  ASSERT_EQ(lane->issue({&issue, 1}, timeline::Doorbell::kRing).count, 1u);
  EXPECT_EQ(fault_of(*lane).native_error(), "MTLCommandBufferErrorPageFault");
  EXPECT_EQ(lane->poll().sequence, 0u);
  EXPECT_EQ(stop(*lane), timeline::Abandoned::kStopped);
}

TEST_P(MetalLoss, OfAnotherDeviceHoldsWorkBackUntilThatIsStopped) {
  fail(1, kPageFault);
  Native other;
  const auto producer = other.lane(), consumer = native().lane();
  ASSERT_EQ(issue(*producer, kBarrier, 1).count, 1u);
  ASSERT_EQ(issue(*consumer, kBarrier, 1, {Edge{producer.get(), 1}}).count, 1u);
  (void)fault_of(*producer);
  EXPECT_EQ(stop(*producer), timeline::Abandoned::kStopped);
  sim::metal::drain_process();
  EXPECT_EQ(consumer->poll().sequence, 0u) << "it has run, but not with what it waited for";
  EXPECT_TRUE(consumer->poll().fault.ok()) << "only the other device is lost";
  EXPECT_EQ(stop(*consumer), timeline::Abandoned::kStopped);
}

TEST_P(MetalLoss, MemoryOutlivesALostDevice) {
  fail(1, kPageFault);
  auto memory = native().memory(4096);
  const auto lane = native().lane();
  ASSERT_EQ(issue(*lane, fill(memory, 1), 1).count, 1u);
  (void)fault_of(*lane);
  EXPECT_EQ(stop(*lane), timeline::Abandoned::kStopped);
}

TEST_P(MetalLoss, ARevokedProcessCannotOpenTheDeviceAgain) {
  fail(1, kAccessRevoked);
  const auto lane = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  EXPECT_EQ(fault_of(*lane).native_error(), "MTLCommandBufferErrorAccessRevoked");
  EXPECT_TRUE(native().device().physical().gone());
  EXPECT_EQ(stop(*lane), timeline::Abandoned::kStopped);
}

}  // namespace
}  // namespace halyard::metal
