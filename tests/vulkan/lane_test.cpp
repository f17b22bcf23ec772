// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vulkan lane against its contract, and against the rules of Vulkan's specification for callers
// (vulkan/fake_vulkan.h).
#include "drivers/vulkan/lane.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/failing_calls.h"
#include "base/leak.h"
#include "drivers/vulkan/device.h"
#include "lanes/lane_contract.h"
#include "trace/tracer.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

// The thread that wakes waiters waits for all lanes at once, or for one lane after the other.
template <bool kSleepsForAny>
struct VulkanLanes : VulkanTest {
  static constexpr bool kDropsWork = false;
  VulkanLanes() { sleeps_for_any_ = kSleepsForAny; }
  std::unique_ptr<hal::DeviceImpl> open_device() {
    return Device::create({}, open.get(Library::open().value(), 0).value(), this, {}).value();
  }
  static std::unique_ptr<halyard::testing::Gate> open_gate(hal::DeviceImpl& device) {
    const auto kind = hal::QueueKind::kCompute;
    return std::make_unique<SemaphoreGate>(
        *device.open_lane(kind, hal::QueuePriority::kNormal).value());
  }
  OpenDevices open;
};

class VulkanLane : public VulkanTest {
 protected:
  void TearDown() override {
    close();
    VulkanTest::TearDown();
  }
  Native& native() {
    if (native_ == nullptr) native_ = std::make_unique<Native>();
    return *native_;
  }

  void close() { native_.reset(); }

 private:
  std::unique_ptr<Native> native_;
};

// The thread that wakes waiters waits for all lanes at once, or for one lane after the other.
class VulkanWaking : public VulkanLane, public ::testing::WithParamInterface<bool> {
 protected:
  VulkanWaking() { sleeps_for_any_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Of, VulkanWaking, ::testing::Bool(), [](const auto& which) {
  return std::string(which.param ? "AllLanes" : "OneLaneAtATime");
});

TEST_F(VulkanLane, TakesABatchWithOneSubmission) {
  const auto lane = native().lane();
  const auto memory = native().memory(64);
  const hal::Operation write = fill(memory, 1);
  const timeline::Issue batch[] = {{.operation = &kBarrier, .sequence = 1, .want_marker = false},
                                   {.operation = &write, .sequence = 2, .want_marker = false}};
  const Calls submits("vulkan.vkQueueSubmit2");
  ASSERT_EQ(lane->issue(batch, timeline::Doorbell::kRing).count, 2u);
  EXPECT_EQ(submits.count(), 1);
  wait_until(*lane, 2);
}

TEST_P(VulkanWaking, LanesEndWhileTheThreadWaitsForThem) {
  const auto steady = native().lane();
  std::atomic<bool> ending{false};
  std::thread other([&] {
    for (std::uint64_t i = 1; !ending; ++i) {
      ASSERT_EQ(issue(*steady, kBarrier, i).count, 1u);
      wait_until(*steady, i);
    }
  });
  for (int i = 0; i < 300; ++i) {
    CountingNotify notify;
    const auto lane = native().lane();
    ASSERT_TRUE(lane->arm(7, notify).ok());
    if (i % 2 == 0) sched_yield();
  }  // never reached; its semaphore is destroyed (TearDown: not while a thread waits for it)
  ending = true;
  other.join();
}

TEST_F(VulkanLane, EndsWhenTheThreadHasReadItForTheLastTime) {
  CountingNotify notify;
  auto lane = native().lane();
  ASSERT_TRUE(lane->arm(7, notify).ok());
  while (fake().watched != 2) sched_yield();
  fake().slow = true;
  lane.reset();  // its semaphore is destroyed
}

// The thread would notice it anyway when its sleep ends, so only the calls prove the wake-up.
TEST_F(VulkanLane, AnArmingBelowWhatTheThreadWaitsForCallsIt) {
  CountingNotify late, later, early;
  const auto lane = native().lane();
  ASSERT_TRUE(lane->arm(9, late).ok());
  while (fake().watched != 2) sched_yield();
  const Calls signals("vulkan.vkSignalSemaphore");
  ASSERT_TRUE(lane->arm(10, later).ok());
  EXPECT_EQ(signals.count(), 0);
  ASSERT_TRUE(lane->arm(5, early).ok());
  EXPECT_EQ(signals.count(), 1);
}

// If there is no memory to wake the thread, the lane, the device and the thread still end.
TEST_F(VulkanLane, EndsWithoutMemoryForACall) {
  {
    CountingNotify notify;
    auto lane = native().lane();
    ASSERT_TRUE(lane->arm(7, notify).ok());
    while (fake().watched != 2) sched_yield();
    Calls signals("vulkan.vkSignalSemaphore");
    signals.fail(1);
    lane.reset();
    EXPECT_EQ(signals.failed(), 1);
  }
  while (fake().watched != 1) sched_yield();
  Calls signals("vulkan.vkSignalSemaphore");
  signals.fail(1);
  close();
  EXPECT_EQ(signals.failed(), 1);
}

TEST_F(VulkanLane, ArmWithoutMemoryForACallNotifiesAtOnce) {
  const auto lane = native().lane();
  while (fake().watched != 1) sched_yield();
  CountingNotify notify;
  Calls signals("vulkan.vkSignalSemaphore");
  signals.fail(1);
  EXPECT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(signals.failed(), 1);
  EXPECT_EQ(notify.count, 1);
}

// Lavapipe's thread still uses the semaphores that a batch has waited for after it has signalled.
TEST_P(VulkanWaking, ALaneEndsOnceWhatWaitedForItHasPassed) {
  Gate gate(native());
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    auto producer = native().lane();
    const auto consumer = native().lane();
    ASSERT_EQ(issue(*producer, kBarrier, 1, {gate.at(i)}).count, 1u);
    ASSERT_EQ(issue(*consumer, kBarrier, 1, {Edge{producer.get(), 1}}).count, 1u);
    gate.open(i);
    while (consumer->poll().sequence < 1) base::spin_pause();
    producer.reset();
  }
}

TEST_F(VulkanLane, WorkThatDoesNotEndIsLeftRunningAndNotifiesNoMore) {
  Gate gate(native());
  auto lane = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1, {gate.at(1)}).count, 1u);
  CountingNotify notify;
  EXPECT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(lane->abandon(kGone, Lane::kPatience - 1), timeline::Abandoned::kStopping);
  EXPECT_EQ(lane->abandon({}, Lane::kPatience), timeline::Abandoned::kStillRunning);
  EXPECT_EQ(notify.count, 1) << "early: nothing of it is armed any more";
  gate.open(1);  // so that lavapipe can end the work
  base::leak(std::move(lane));
}

TEST_F(VulkanLane, WorkOfADeviceThatIsLostBeforeItEndsIsStopped) {
  Gate gate(native());
  const auto lane = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1, {gate.at(1)}).count, 1u);
  fake().lost = fake().was_lost = true;
  EXPECT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopped);
  fake().lost = false;
  gate.open(1);  // so that lavapipe can end the work
}

TEST_F(VulkanLane, LossIsAFaultWithItsNativeName) {
  Gate gate(native());
  const auto lane = native().lane(), other = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  wait_until(*lane, 1);
  CountingNotify notify;
  ASSERT_TRUE(gate.lane().arm(1, notify).ok());
  fake().lost = fake().was_lost = true;
  while (notify.count == 0) sched_yield();  // the thread was woken, too
  for (Lane* each : {lane.get(), other.get(), &gate.lane()}) {
    EXPECT_EQ(each->poll().fault.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(each->poll().fault.native_error(), "VK_ERROR_DEVICE_LOST");
    EXPECT_EQ(each->probe().code(), StatusCode::kDeviceLost);
    EXPECT_EQ(each->arm(9, notify).code(), StatusCode::kDeviceLost);
    EXPECT_EQ(issue(*each, kBarrier, 2).status.code(), StatusCode::kDeviceLost);
  }
  EXPECT_EQ(lane->poll().sequence, 1u);
}

// Section 5.2.3: other calls may still succeed after the loss.
TEST_F(VulkanLane, LossThatOneLaneSawIsTheLossOfAll) {
  const auto first = native().lane(), second = native().lane();
  ASSERT_EQ(issue(*second, kBarrier, 1).count, 1u);
  wait_until(*second, 1);
  {
    Calls submits("vulkan.vkQueueSubmit2");
    submits.fail(1);
    EXPECT_EQ(issue(*first, kBarrier, 1).status.code(), StatusCode::kDeviceLost);
  }
  CountingNotify notify;
  EXPECT_EQ(second->probe().code(), StatusCode::kDeviceLost);
  EXPECT_EQ(second->probe().native_error(), "VK_ERROR_DEVICE_LOST");
  EXPECT_EQ(second->poll().fault.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(second->poll().sequence, 1u);
  EXPECT_EQ(second->arm(2, notify).code(), StatusCode::kDeviceLost);
  EXPECT_EQ(issue(*second, kBarrier, 2).status.code(), StatusCode::kDeviceLost);
}

TEST_F(VulkanLane, ARefusedSubmissionHasNoEffect) {
  const auto lane = native().lane();
  const auto memory = native().memory(64);
  std::fill_n(memory->host_pointer(), 64, std::byte{0});
  const hal::Operation write = fill(memory, ~0u);
  for (const char* site : {"vulkan.vkAllocateCommandBuffers", "vulkan.vkBeginCommandBuffer",
                           "vulkan.vkEndCommandBuffer"}) {
    Calls calls(site);
    calls.fail(1);
    const timeline::Issue batch[] = {{.operation = &write, .sequence = 1, .want_marker = false},
                                     {.operation = &kBarrier, .sequence = 2, .want_marker = false}};
    const auto result = lane->issue(batch, timeline::Doorbell::kRing);
    EXPECT_EQ(result.count, 0u) << site;
    EXPECT_FALSE(result.busy || result.left != timeline::Left::kNothing) << site;
    EXPECT_EQ(result.status.code(), StatusCode::kResourceExhausted) << site;
    EXPECT_EQ(calls.failed(), 1) << site;
  }
  {
    Calls calls("vulkan.vkQueueSubmit2");
    calls.fail(1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    const auto result = issue(*lane, write, 1);
    EXPECT_EQ(result.count, 0u);
    EXPECT_EQ(result.status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(result.status.native_error(), "VK_ERROR_OUT_OF_DEVICE_MEMORY");
  }
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u) << "its sequence is given to the next one";
  wait_until(*lane, 1);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
}

// Imported memory begins in the middle of a page, and a fill at any byte.
TEST_F(VulkanLane, FillsEveryAlignmentOfImportedMemory) {
  const auto lane = native().lane();
  alignas(4096) static std::byte pages[3 * 4096];
  std::uint64_t sequence = 0;
  for (const std::uint64_t skew : {0u, 16u, 4080u}) {
    const auto lent =
        DeviceMemory::import(Ref<NativeDevice>(&native().device()), pages + skew, 64, nullptr)
            .value();
    for (std::uint64_t offset = 0; offset < 9; ++offset) {
      for (std::uint64_t length = 0; length < 14; ++length) {
        for (const std::uint8_t size : {1, 2, 4}) {
          if (offset % size != 0 || length % size != 0) continue;
          std::ranges::fill(pages, std::byte{0xee});
          const std::uint32_t pattern = 0x4433'2211;
          const hal::Operation write = command(
              hal::Command(hal::FillCommand{range(Ref(lent), offset, length), pattern, size}));
          ASSERT_EQ(issue(*lane, write, ++sequence).count, 1u);
          while (lane->poll().sequence < sequence) sched_yield();
          for (std::uint64_t i = 0; i < sizeof pages; ++i) {
            const std::uint64_t at = i - skew - offset;  // wraps around before it
            const auto expected = i >= skew + offset && at < length
                                      ? static_cast<std::byte>(pattern >> 8 * (at % size))
                                      : std::byte{0xee};
            ASSERT_EQ(pages[i], expected) << "skew " << skew << " offset " << offset << " length "
                                          << length << " size " << int{size} << " at " << i;
          }
        }
      }
    }
  }
}

// The device has a family of queues that only copies, which do not support vkCmdResetQueryPool.
TEST_F(VulkanLane, ATracedCopyLaneUsesWhatItsQueuesHave) {
  fake().discrete = true;
  trace::Tracer tracer(Clock::steady());
  trace::Stamps stamps;
  stamps.tracer = &tracer;
  const auto memory = native().memory(64);
  const hal::Operation write = fill(memory, 1);
  const auto lane = native().lane(hal::QueueKind::kCopy);
  ASSERT_EQ(issue(*lane, write, 1, {}, &stamps).count, 1u);
  wait_until(*lane, 1);
  EXPECT_LE(stamps.begin, stamps.end);
}

}  // namespace
}  // namespace halyard::vulkan

namespace halyard::testing {
using VulkanLanes = ::testing::Types<vulkan::VulkanLanes<true>, vulkan::VulkanLanes<false>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Vulkan, LaneContract, VulkanLanes);
}  // namespace halyard::testing
