// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metal lane against its contract, and against Apple's documents, whose violations the
// simulated framework reports.
#include "drivers/metal/lane.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/failing_calls.h"
#include "base/leak.h"
#include "drivers/metal/device.h"
#include "drivers/metal/functions.h"
#include "lanes/lane_contract.h"
#include "metal/metal_test_util.h"
#include "trace/tracer.h"

namespace halyard::metal {
namespace {

using MetalLane = MetalTest;

sim::metal::Options options_of(bool is_adverse) {
  sim::metal::Options options;
  if (is_adverse) options.adversities = sim::metal::Adversities::all();
  return options;
}

template <bool kAdverse>
struct MetalLanes : MetalTest {
  static constexpr bool kDropsWork = false;
  void SetUp() override { begin(options_of(kAdverse)); }
  static std::unique_ptr<hal::DeviceImpl> open_device() {
    auto guard = Ref<timeline::EntryGuard>::adopt(new PoolGuard);
    return Device::create({}, Native::physical(0), std::move(guard), {}, Native::kOptions).value();
  }
};

// Runs once without adversities and once with all of them.
class MetalOrder : public MetalTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override { begin(options_of(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(Of, MetalOrder, ::testing::Bool(), [](const auto& which) {
  return std::string(which.param ? "AnAdverseDevice" : "ADevice");
});

TEST_P(MetalOrder, WaitsForEachOfSeveralEdges) {
  Gate first(native()), second(native()), third(native());
  const auto lane = native().lane();
  const auto memory = native().memory(4);
  std::fill_n(memory->host_pointer(), 4, std::byte{0});
  const hal::Operation write = fill(memory, ~0u);
  ASSERT_EQ(issue(*lane, write, 1, {first.at(1), second.at(1), third.at(1)}).count, 1u);
  first.open(1);
  third.open(1);
  // Time for the device to begin too early.
  for (std::uint64_t i = 2; i <= 50; ++i) {
    first.open(i);
    wait_until(first.lane(), i);
  }
  EXPECT_EQ(lane->poll().sequence, 0u);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
  second.open(1);
  wait_until(*lane, 1);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0xff});
}

TEST_F(MetalLane, LanesEndWithArmingsThatAreNeverReached) {
  for (int i = 0; i < 50; ++i) {
    CountingNotify notify;
    const auto lane = native().lane();
    ASSERT_TRUE(lane->arm(7, notify).ok());
    if (i % 2 == 0) sched_yield();
    EXPECT_EQ(notify.count, 0);
  }
}

// Metal cannot cancel a block.
TEST_F(MetalLane, EndsOnceNoBlockUsesIt) {
  struct Used final : Watched {
    std::uint64_t look() noexcept override {
      is_used = true;
      while (!may_go) sched_yield();
      return 1;
    }
    bool ended() const noexcept override { return false; }
    std::atomic<bool> is_used{false}, may_go{false};
  } lane;
  NativeDevice& device = native().device();
  const Ref<Watch> watch = device.notifier().add(lane, new_shared_event(device.handle())).value();
  CountingNotify notify;
  watch->arm(1, notify);
  raise(watch->event(), 1);
  while (!lane.is_used) sched_yield();
  std::atomic<bool> is_detached{false};
  std::thread ends([&] {
    const ScopedPool pool;
    device.notifier().remove(*watch);
    watch->detach();
    is_detached = true;
  });
  for (int i = 0; i < 1000; ++i) sched_yield();
  EXPECT_FALSE(is_detached);
  lane.may_go = true;
  ends.join();
}

// The lane's device is not lost, but the lane may wait for a lost device, and other lanes for this
// lane.
TEST_F(MetalLane, WhatWaitsForAnAbandonedLaneThatDoesNotEndIsLetGo) {
  sets_events_ = true;
  sim::metal::Options options;
  options.wait_timeout = 100'000'000'000;  // longer than the test
  begin(options);
  {
    Gate gate(native());
    const auto lane = native().lane(), behind = native().lane();
    ASSERT_EQ(issue(*lane, kBarrier, 1, {gate.at(1)}).count, 1u);
    ASSERT_EQ(issue(*behind, kBarrier, 1, {Edge{lane.get(), 1}}).count, 1u);
    EXPECT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopping);
    EXPECT_EQ(lane->abandon({}, 1), timeline::Abandoned::kStopping);
    EXPECT_EQ(stop(*behind), timeline::Abandoned::kStopped);
    gate.open(1);
    EXPECT_EQ(stop(*lane), timeline::Abandoned::kStopped);
  }
}

TEST_F(MetalLane, WorkThatDoesNotEndIsLeftRunningAndNotifiesNoMore) {
  sets_events_ = true;
  auto gate = std::make_unique<Gate>(native());
  auto lane = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1, {gate->at(1)}).count, 1u);
  CountingNotify notify;
  EXPECT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopping);
  EXPECT_EQ(lane->abandon({}, Lane::kPatience), timeline::Abandoned::kStillRunning);
  EXPECT_EQ(notify.count, 1) << "early: nothing of it is armed any more";
  // The work must end here, because the test shares its process with others.
  gate->open(1);
  wait_until(gate->lane(), 1);
  sim::metal::drain_process();
}

TEST_F(MetalLane, ARefusedSubmissionHasNoEffect) {
  const auto lane = native().lane();
  const auto memory = native().memory(64);
  std::fill_n(memory->host_pointer(), 64, std::byte{0});
  const hal::Operation write = fill(memory, ~0u);
  const hal::Operation odd = command(hal::Command(hal::FillCommand{range(memory, 1, 3), 0xff, 1}));
  const struct {
    const char* site;
    const hal::Operation& operation;
  } rows[] = {{"metal.commandBufferWithUnretainedReferences", write},
              {"metal.blitCommandEncoder", write},
              {"metal.computeCommandEncoderWithDispatchType", odd}};
  for (const auto& [site, operation] : rows) {
    const halyard::testing::FailingCalls failing(site);
    const timeline::Issue batch[] = {{.operation = &operation, .sequence = 1, .want_marker = false},
                                     {.operation = &kBarrier, .sequence = 2, .want_marker = false}};
    const auto result = lane->issue(batch, timeline::Doorbell::kRing);
    EXPECT_EQ(result.count, 0u) << site;
    EXPECT_FALSE(result.busy || result.left != timeline::Left::kNothing) << site;
    EXPECT_EQ(result.status.code(), StatusCode::kResourceExhausted) << site;
    EXPECT_EQ(failing.failed(), 1) << site;
  }
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u) << "its sequence is given to the next one";
  wait_until(*lane, 1);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
}

// On macOS blits copy only whole words; the driver's kernels do the rest.
TEST_P(MetalOrder, FillsAndCopiesAtEveryAlignment) {
  const auto lane = native().lane();
  const auto from = native().memory(64), to = native().memory(64);
  std::uint64_t sequence = 0;
  for (std::uint64_t offset = 0; offset < 5; ++offset) {
    for (std::uint64_t length : {0, 1, 2, 3, 4, 5, 8, 17}) {
      for (std::uint32_t pattern_size : {1, 2, 4}) {
        std::fill_n(from->host_pointer(), 64, std::byte{0xee});
        std::fill_n(to->host_pointer(), 64, std::byte{0xdd});
        const std::uint64_t whole = length / pattern_size * pattern_size;
        const hal::Operation write = command(
            hal::Command(hal::FillCommand{range(from, offset, whole), 0x0403'0201, pattern_size}));
        // Both offsets are multiples of a word, or neither is.
        const std::uint64_t begin = offset % 4 == 0 ? 8 - offset : 7 - offset;
        const hal::Operation copy = command(
            hal::Command(hal::CopyCommand{range(from, offset, length), range(to, begin, length)}));
        ASSERT_EQ(issue(*lane, write, ++sequence).count, 1u);
        ASSERT_EQ(issue(*lane, copy, ++sequence).count, 1u);
        wait_until(*lane, sequence);
        for (std::uint64_t i = 0; i < 64; ++i) {
          const bool filled = i >= offset && i < offset + whole;
          const auto byte = filled ? std::byte((i - offset) % pattern_size + 1) : std::byte{0xee};
          ASSERT_EQ(from->host_pointer()[i], byte) << offset << ' ' << length << ' ' << i;
          const bool copied = i >= begin && i < begin + length;
          ASSERT_EQ(to->host_pointer()[i],
                    copied ? from->host_pointer()[i - begin + offset] : std::byte{0xdd})
              << offset << ' ' << length << ' ' << i;
        }
      }
    }
  }
}

TEST_F(MetalLane, StampsATracedSubmissionWithTheTimesOfItsBuffer) {
  trace::Tracer tracer(Clock::steady());
  const auto lane = native().lane();
  const auto memory = native().memory(64);
  const hal::Operation write = fill(memory, 0);
  trace::Stamps stamps;
  stamps.tracer = &tracer;
  const Nanoseconds before = host_time();
  ASSERT_EQ(issue(*lane, write, 1, {}, &stamps).count, 1u);
  wait_until(*lane, 1);
  // A double of seconds is good to a microsecond.
  EXPECT_GE(stamps.begin + 1000, before);
  EXPECT_GE(stamps.end, stamps.begin);
  EXPECT_LE(stamps.end, host_time() + 1000);
}

}  // namespace
}  // namespace halyard::metal

namespace halyard::testing {
using MetalLanes = ::testing::Types<metal::MetalLanes<false>, metal::MetalLanes<true>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Metal, LaneContract, MetalLanes);
}  // namespace halyard::testing
