// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu lane. Most tests step it with help().
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cpu_test_util.h"
#include "drivers/cpu/lane.h"
#include "lanes/lane_contract.h"
#include "trace/ticking_clock.h"

namespace halyard::cpu {
namespace {

using timeline::Edge;

struct CpuLanes : ::testing::Test {
  static constexpr bool kDropsWork = true;
  static std::unique_ptr<hal::DeviceImpl> open_device() { return device_with(1); }
};

TEST(CpuLane, ExecutesWhatIsIssuedAndReportsItsSequence) {
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  hal::Operation barrier;
  EXPECT_EQ(issue(lane, barrier, 1).count, 1u);
  EXPECT_EQ(lane.poll().sequence, 0u);
  EXPECT_TRUE(lane.help(1));
  EXPECT_EQ(lane.poll().sequence, 1u);
  EXPECT_TRUE(lane.poll().fault.ok());
  EXPECT_FALSE(lane.help(1));
}

TEST(CpuLane, RunsFillUpdateAndCopyInOrder) {
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  const Ref<hal::Memory> a = allocate(*device, 64), b = allocate(*device, 64);
  const std::uint32_t bytes = 0x0102'0304;
  hal::Operation operations[3];
  for (hal::Operation& operation : operations) operation.kind = hal::OperationKind::kCommand;
  operations[0].command = fill(whole(a), 0xaaaa'aaaa);
  operations[1].command.kind = hal::CommandKind::kUpdate;
  operations[1].command.update = {{{a.get(), 4, 4}}, reinterpret_cast<const std::byte*>(&bytes)};
  operations[2].command = copy(whole(a), whole(b));
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(issue(lane, operations[i], i + 1).count, 1u);
  help_all(lane);
  const auto* words = reinterpret_cast<const std::uint32_t*>(b->host_pointer());
  EXPECT_EQ(words[0], 0xaaaa'aaaau);
  EXPECT_EQ(words[1], bytes);
  EXPECT_EQ(words[15], 0xaaaa'aaaau);
}

TEST(CpuLane, HoldsItsLimitOfSubmissionsWithAnEdgeEach) {
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  auto& other = lane_of(*device);
  hal::Operation barrier;
  const std::uint32_t limit = lane.capabilities().max_in_flight;
  for (std::uint64_t i = 1; i <= limit; ++i) {
    ASSERT_EQ(issue(lane, barrier, i, {Edge{&other, i}}).count, 1u) << i;
  }
  for (std::uint64_t i = 1; i <= limit; ++i) {
    ASSERT_EQ(issue(other, barrier, i).count, 1u);
  }
  help_all(lane);
  EXPECT_EQ(lane.poll().sequence, limit);
}

TEST(CpuLane, IsBusyWhereASubmissionFitsWithoutItsEdgesOnly) {
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  auto& other = lane_of(*device);
  hal::Operation barrier;
  const std::vector<Edge> edges(8, Edge{&other, 1});
  std::uint64_t issued = 0;
  timeline::IssueResult result;
  while ((result = issue(lane, barrier, issued + 1, edges)).count == 1) ++issued;
  EXPECT_TRUE(result.busy);
  ASSERT_EQ(issue(other, barrier, 1).count, 1u);
  help_all(other);
  help_all(lane);
  EXPECT_EQ(lane.poll().sequence, issued) << "nothing was overwritten";
}

TEST(CpuLane, WaitsForAnEdgeOfAnotherDevicesLane) {
  auto first = stepped_device(), second = stepped_device();
  EXPECT_EQ(first->wait_domain(), second->wait_domain());
  auto& producer = lane_of(*first);
  auto& consumer = lane_of(*second);
  hal::Operation barrier;
  EXPECT_EQ(issue(producer, barrier, 1).count, 1u);
  EXPECT_EQ(issue(consumer, barrier, 1, {Edge{&producer, 1}}).count, 1u);
  help_all(consumer);
  EXPECT_EQ(consumer.poll().sequence, 0u);
  help_all(producer);
  help_all(consumer);
  EXPECT_EQ(consumer.poll().sequence, 1u);
}

TEST(CpuLane, TakesAnyNumberOfEdgesInOneSubmission) {
  auto device = stepped_device();
  auto& consumer = lane_of(*device);
  hal::Operation barrier;
  std::vector<timeline::NativeQueue*> producers;
  std::vector<Edge> edges;
  for (int i = 0; i < 40; ++i) {
    producers.push_back(&lane_of(*device));
    ASSERT_EQ(issue(*producers.back(), barrier, 1).count, 1u);
    edges.push_back({producers.back(), 1});
  }
  edges.push_back({producers[7], 2});
  ASSERT_EQ(issue(consumer, barrier, 1, edges).count, 1u);
  help_all(consumer);  // runs the others as well
  EXPECT_EQ(consumer.poll().sequence, 0u);
  ASSERT_EQ(issue(*producers[7], barrier, 2).count, 1u);
  help_all(consumer);
  EXPECT_EQ(consumer.poll().sequence, 1u);
}

TEST(CpuLane, BlockedLaneDoesNotStopAnother) {
  auto device = stepped_device();
  auto& blocked = lane_of(*device);
  auto& other = lane_of(*device, hal::QueueKind::kCopy);
  hal::Operation barrier;
  ASSERT_EQ(issue(blocked, barrier, 1, {Edge{&other, 2}}).count, 1u);
  ASSERT_EQ(issue(other, barrier, 1).count, 1u);
  help_all(blocked);
  EXPECT_EQ(other.poll().sequence, 1u);
  EXPECT_EQ(blocked.poll().sequence, 0u);
}

TEST(CpuLane, ArmRingsTheDoorbellOfASilentIssue) {
  auto device = device_with(1);
  auto& lane = lane_of(*device);
  hal::Operation barrier;
  ASSERT_EQ(issue(lane, barrier, 1, {}, timeline::Doorbell::kDefer).count, 1u);
  static base::Parker parker;  // a worker may still be in wake() when the test ends
  for (;;) {
    const std::uint32_t epoch = parker.prepare();
    ASSERT_TRUE(lane.arm(1, parker).ok());
    if (lane.poll().sequence >= 1) break;
    parker.park(epoch, Deadline::kForeverTime);
  }
}

TEST(CpuLane, HelperThatLeavesWakesAWorkerForTheRestOfItsPackets) {
  auto device = device_with(1);
  auto& lane = lane_of(*device);
  const Ref<hal::Memory> memory = allocate(*device, 8u << 20);
  hal::Operation large, barrier;
  large.kind = hal::OperationKind::kCommand;
  large.command = fill(whole(memory), 7);
  ASSERT_EQ(issue(lane, large, 1, {}, timeline::Doorbell::kDefer).count, 1u);
  lane.help(1);  // one chunk: the lane is attended, so the next doorbell wakes no worker
  ASSERT_EQ(issue(lane, barrier, 2).count, 1u);
  lane.help(1);
  while (lane.poll().sequence < 2) std::this_thread::yield();
}

TEST(CpuLane, WorkersRunLanesWithEdgesBothWays) {
  auto first = device_with(1), second = device_with(2);
  timeline::NativeQueue* lanes[] = {&lane_of(*first), &lane_of(*second)};
  hal::Operation barrier;
  constexpr std::uint64_t kLinks = 500;
  for (std::uint64_t i = 1; i <= kLinks; ++i) {
    ASSERT_EQ(issue(*lanes[0], barrier, i, {Edge{lanes[1], i - 1}}).count, 1u);
    ASSERT_EQ(issue(*lanes[1], barrier, i, {Edge{lanes[0], i}}).count, 1u);
  }
  static base::Parker parker;  // a worker may still be in wake() when the test ends
  while (lanes[1]->poll().sequence < kLinks) {
    const std::uint32_t epoch = parker.prepare();
    ASSERT_TRUE(lanes[1]->arm(kLinks, parker).ok());
    if (lanes[1]->poll().sequence >= kLinks) break;
    parker.park(epoch, Deadline::kForeverTime);
  }
}

// A late or lost notification would hang this test; one thread issues, one retires and waits.
TEST(CpuLane, NoArmedSequenceIsMissedUnderConcurrency) {
  auto device = device_with(2);
  auto& lane = lane_of(*device);
  hal::Operation barrier;
  constexpr std::uint64_t kLast = 5000;
  std::atomic<std::uint64_t> retired{0};
  std::thread issuer([&] {
    for (std::uint64_t i = 1; i <= kLast;) {
      if (issue(lane, barrier, i).count == 1) {
        ++i;
      } else {
        std::this_thread::yield();
      }
      while (i > retired.load() + 100) std::this_thread::yield();
    }
  });
  static base::Parker parker;  // a worker may still be in wake() when the test ends
  for (std::uint64_t want = 1; want <= kLast; want = retired.load() + 1) {
    const std::uint32_t epoch = parker.prepare();
    ASSERT_TRUE(lane.arm(want, parker).ok());
    if (want % 3 == 0) lane.help(want);
    if (lane.poll().sequence < want) parker.park(epoch, Deadline::kForeverTime);
    // The issuer stays ahead of `retired`, so the next awaited value follows from it.
    retired.store(lane.poll().sequence);
  }
  issuer.join();
}

TEST(CpuLane, DoesNotMeasureTheSetUpOfAThreadsFirstRecord) {
  trace::testing::TickingClock clock;
  trace::Tracer tracer(clock);
  clock.tracer = &tracer;
  trace::Stamps stamps;
  stamps.tracer = &tracer;
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  const Ref<hal::Memory> memory = allocate(*device, 64);
  hal::Operation operation;
  operation.kind = hal::OperationKind::kCommand;
  operation.command = fill(whole(memory), 1);
  const timeline::Issue one{
      .operation = &operation, .sequence = 1, .want_marker = false, .stamps = &stamps};
  ASSERT_EQ(lane.issue({&one, 1}, timeline::Doorbell::kRing).count, 1u);
  help_all(lane);
  EXPECT_EQ(stamps.end - stamps.begin, 3) << "its command's begin and end, the submission's end";
}

}  // namespace
}  // namespace halyard::cpu

namespace halyard::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, LaneContract, cpu::CpuLanes);
}
