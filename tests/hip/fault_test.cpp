// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which errors of HIP mean the loss of a device, and which devices they affect.
#include <gtest/gtest.h>

#include <memory>

#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/lane.h"
#include "hal/recording/command.h"
#include "hip_test_util.h"

namespace halyard::hip {
namespace {

const HipApi::Function kFunction{.handle = nullptr, .workgroup_size = {64, 1, 1}};

Status launch(const HipApi& api) {
  const std::byte arguments[8] = {};
  return api.launch(a_stream(), kFunction, {1, 1, 1}, arguments);
}

TEST(HipFault, ARefusedLaunchIsNoLoss) {
  FakeTable hip;
  FakeTable::state.of_launch = hipErrorLaunchFailure;
  const Status status = launch(hip.api());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.native_error(), "hipErrorLaunchFailure (719)");
  EXPECT_EQ(FakeTable::state.queries, 1) << "the stream was asked";
}

TEST(HipFault, IsOfAllDevicesSinceHip7AndEndsAllCalls) {
  FakeTable hip;
  FakeTable::state.of_launch = FakeTable::state.of_query = hipErrorLaunchFailure;
  EXPECT_EQ(launch(hip.api()).code(), StatusCode::kDeviceLost);
  PhysicalDevice other;
  const HipApi of_the_other = HipApi::of(hip.table, other, false);
  std::uint64_t address = 0;
  EXPECT_EQ(of_the_other.allocate(address, 64).code(), StatusCode::kDeviceLost);
  EXPECT_EQ(FakeTable::state.allocations, 0) << "no call is made any more";
}

TEST(HipFault, UpToHip6IsOfItsDeviceAlone) {
  FakeTable hip;
  hip.table.version = 6'04'00000;
  FakeTable::state.of_launch = FakeTable::state.of_query = hipErrorLaunchFailure;
  EXPECT_EQ(launch(hip.api()).code(), StatusCode::kDeviceLost);
  std::uint64_t address = 0;
  EXPECT_EQ(hip.api().allocate(address, 64).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(FakeTable::state.allocations, 1);
}

TEST(HipFault, AStreamThatIsCapturedIsNotQueried) {
  FakeTable hip;
  FakeTable::state.of_launch = hipErrorUnknown;
  FakeTable::state.capturing = true;
  EXPECT_EQ(launch(hip.api()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FakeTable::state.queries, 0);
}

class HipLane : public ::testing::Test {
 protected:
  using Lane = stream::Lane<HipApi, stream::StreamCommands<HipApi>>;

  HipLane()
      : lane_(hip_.api(), stream::StreamCommands<HipApi>(), nullptr, 4,
              stream::CompletionMode::kEvent) {
    EXPECT_TRUE(lane_.open().ok());
    issue_.sequence = 1;
    issue_.operation = &operation_;
    issue_.want_marker = true;
  }
  ~HipLane() override {
    FakeTable::state = {};
    hip_.table.fault.store(hipSuccess, std::memory_order_relaxed);
    EXPECT_EQ(lane_.abandon(Status(StatusCode::kCancelled, "over"), 0),
              timeline::Abandoned::kStopped);
  }
  timeline::IssueResult issue() { return lane_.issue({&issue_, 1}, timeline::Doorbell::kRing); }

  FakeTable hip_;
  hal::Operation operation_;
  timeline::Issue issue_;
  Lane lane_;
};

TEST_F(HipLane, AHandleThatIsRefusedOnceIsNoLoss) {
  FakeTable::state.of_event = hipErrorContextIsDestroyed;
  EXPECT_EQ(issue().count, 1u);
  EXPECT_TRUE(lane_.poll().fault.ok());
  EXPECT_EQ(lane_.poll().sequence, 0u);
  FakeTable::state.of_event = hipSuccess;
  EXPECT_EQ(lane_.poll().sequence, 1u);
}

TEST_F(HipLane, AnErrorThatDoesNotEndIsLossAtLast) {
  FakeTable::state.of_event = hipErrorContextIsDestroyed;
  EXPECT_EQ(issue().count, 1u);
  int polls = 0;
  while (lane_.poll().fault.ok() && polls < 1000) ++polls;
  EXPECT_EQ(polls, 64);
}

TEST_F(HipLane, AFaultThatTheStreamConfirmsIsLoss) {
  EXPECT_EQ(issue().count, 1u);
  FakeTable::state.of_event = FakeTable::state.of_query = hipErrorIllegalAddress;
  const timeline::Progress progress = lane_.poll();
  EXPECT_EQ(progress.fault.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(progress.fault.native_error(), "hipErrorIllegalAddress (700)");
}

TEST_F(HipLane, AMarkerThatCannotBeRecordedIsAskedForAgain) {
  FakeTable::state.of_record = hipErrorContextIsDestroyed;
  const timeline::IssueResult result = issue();
  EXPECT_EQ(result.count, 1u);
  EXPECT_TRUE(result.unmarked);
  EXPECT_EQ(lane_.mark().code(), StatusCode::kResourceExhausted);
  FakeTable::state.of_record = hipSuccess;
  EXPECT_TRUE(lane_.mark().ok());
  EXPECT_EQ(lane_.poll().sequence, 1u);
}

}  // namespace
}  // namespace halyard::hip
