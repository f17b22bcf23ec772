// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The serial lane.
#include "drivers/serial/lane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "counts/allocations.h"
#include "drivers/serial/device.h"
#include "lanes/lane_contract.h"
#include "trace/ticking_clock.h"

namespace halyard::testing {
namespace {

struct SerialLanes : ::testing::Test {
  static constexpr bool kDropsWork = true;
  static std::unique_ptr<hal::DeviceImpl> open_device() {
    return std::make_unique<serial::Device>(hal::DeviceInfo(), nullptr);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Serial, LaneContract, SerialLanes);

using SerialLane = OpenLanes<SerialLanes>;

// A slow notification of 2 is under way, and the next for 2 is pending, when a third arms for 5.
TEST_F(SerialLane, APendingNotificationHidesNoLaterArming) {
  struct Blocking final : base::Notify {
    void notify() noexcept override {
      called.store(1);
      called.notify_one();
      may_return.wait(0);
    }
    std::atomic<int> called{0}, may_return{0};
  } first;
  const OpenLane& lane = this->lane();
  CountingNotify notify;
  ASSERT_TRUE(lane->arm(2, first).ok());
  ASSERT_TRUE(lane->arm(2, notify).ok());
  lane.give(kBarrier, 1);
  lane.give(kBarrier, 2);
  first.called.wait(0);
  ASSERT_TRUE(lane->arm(5, notify).ok());
  first.may_return.store(1);
  first.may_return.notify_one();
  // A lane that has run this sequence has delivered all notifications of earlier ones.
  const auto run = [&](std::uint64_t sequence) {
    lane.give(kBarrier, sequence);
    lane.wait_until(sequence);
  };
  run(3), run(4);
  const int early = notify.count;
  run(5), run(6);
  EXPECT_EQ(notify.count, early + 1);
}

TEST_F(SerialLane, AllocatesNothingOnceItsSlotsHaveHeldAnEdge) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer counts its own";
  const OpenLane &first = lane(), &second = lane();
  // Each lane has notified a parker before, whichever lane is faster below.
  base::Parker& parker = base::ParkerPool::acquire();
  for (const OpenLane* each : {&first, &second}) ASSERT_TRUE((*each)->arm(1, parker).ok());
  std::uint64_t next = 1;
  const auto round = [&] {
    for (std::uint32_t i = 0; i < serial::kMaxInFlight; ++i, ++next) {
      const Edge edge = first.at(next);
      const timeline::Issue issues[] = {
          {.operation = &kBarrier, .sequence = next, .want_marker = false},
          {.waits = {&edge, 1}, .operation = &kBarrier, .sequence = next, .want_marker = false}};
      ASSERT_EQ(first.issue({&issues[0], 1}).count, 1u);
      ASSERT_EQ(second.issue({&issues[1], 1}).count, 1u);
      second.wait_until(next);
    }
  };
  round();
  const std::uint64_t before = counts::allocations();
  round();
  EXPECT_EQ(counts::allocations() - before, 0u);
  base::ParkerPool::release(parker);
}

TEST_F(SerialLane, DoesNotTimeTheAllocationOfAThreadsFirstNote) {
  trace::testing::TickingClock clock;
  trace::Tracer tracer(clock);
  clock.tracer = &tracer;
  trace::Stamps stamps;
  stamps.tracer = &tracer;
  const hal::Operation operation = fill(memory(64), 1);
  const OpenLane& lane = this->lane();
  lane.give(operation, 1, {}, &stamps);
  lane.wait_until(1);
  EXPECT_EQ(stamps.end - stamps.begin, 2) << "the command's end, the submission's end";
}

}  // namespace
}  // namespace halyard::testing
