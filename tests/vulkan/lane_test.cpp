// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vulkan lane against the contract of timeline::NativeQueue, and against the rules of Vulkan's
// specification for callers (vulkan/fake_vulkan.h).
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
#include "trace/tracer.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

const Status kGone(StatusCode::kDeviceLost, "gone");

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

TEST_F(VulkanLane, RunsIssuedWorkInOrder) {
  const auto lane = native().lane();
  const auto a = native().memory(64), b = native().memory(64);
  const hal::Operation first = fill(a, 0x0403'0201);
  const hal::Operation second =
      command(hal::Command(hal::CopyCommand{range(a, 0, 64), range(b, 0, 64)}));
  const hal::Operation third = fill(a, 0);
  ASSERT_EQ(issue(*lane, first, 1).count, 1u);
  ASSERT_EQ(issue(*lane, second, 2).count, 1u);
  ASSERT_EQ(issue(*lane, third, 3).count, 1u);
  wait_until(*lane, 3);
  EXPECT_EQ(b->host_pointer()[0], std::byte{1});
  EXPECT_EQ(b->host_pointer()[63], std::byte{4});
  EXPECT_EQ(a->host_pointer()[63], std::byte{0});
}

TEST_F(VulkanLane, TakesABatchWithOneSubmission) {
  const auto lane = native().lane();
  Gate gate(native());
  const Edge edge = gate.at(1);
  const auto memory = native().memory(64);
  const hal::Operation write = fill(memory, 0x0101'0101);
  std::vector<timeline::Issue> batch;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    batch.push_back(
        {.operation = i % 2 == 0 ? &kBarrier : &write, .sequence = i, .want_marker = false});
  }
  batch[20].waits = {&edge, 1};
  const Calls submits("vulkan.vkQueueSubmit2");
  ASSERT_EQ(lane->issue(batch, timeline::Doorbell::kRing).count, batch.size());
  EXPECT_EQ(submits.count(), 1);
  wait_until(*lane, 20);
  EXPECT_EQ(lane->poll().sequence, 20u);
  gate.open(1);
  wait_until(*lane, 40);
}

TEST_F(VulkanLane, AnEdgeHoldsWorkBack) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto memory = native().memory(4);
  std::fill_n(memory->host_pointer(), 4, std::byte{0});
  const hal::Operation write = fill(memory, ~0u);
  ASSERT_EQ(issue(*lane, kBarrier, 1, {gate.at(1)}).count, 1u);
  ASSERT_EQ(issue(*lane, write, 2, {gate.at(2)}).count, 1u);
  gate.open(1);
  wait_until(*lane, 1);
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
  gate.open(2);
  wait_until(*lane, 2);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0xff});
}

TEST_F(VulkanLane, WaitsForEachOfSeveralEdges) {
  Gate first(native()), second(native()), third(native());
  const auto lane = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1, {first.at(1), second.at(1), third.at(1)}).count, 1u);
  first.open(1);
  third.open(1);
  EXPECT_EQ(lane->poll().sequence, 0u);
  second.open(1);
  wait_until(*lane, 1);
}

TEST_F(VulkanLane, RunsLanesWithEdgesBothWays) {
  const auto first = native().lane(), second = native().lane();
  constexpr std::uint64_t kLinks = kMaxInFlight;
  for (std::uint64_t i = 1; i <= kLinks; ++i) {
    ASSERT_EQ(issue(*first, kBarrier, i, {Edge{second.get(), i - 1}}).count, 1u);
    ASSERT_EQ(issue(*second, kBarrier, i, {Edge{first.get(), i}}).count, 1u);
  }
  wait_until(*second, kLinks);
}

TEST_F(VulkanLane, IsBusyWhenFullAndTakesTheRestLater) {
  Gate gate(native());
  const auto lane = native().lane();
  EXPECT_EQ(lane->capabilities().max_in_flight, kMaxInFlight);
  EXPECT_TRUE(lane->capabilities().marks_every_submission);
  ASSERT_EQ(issue(*lane, kBarrier, 1, {gate.at(1)}).count, 1u);
  std::vector<timeline::Issue> batch;
  for (std::uint64_t i = 2; i <= kMaxInFlight + 3; ++i) {
    batch.push_back({.operation = &kBarrier, .sequence = i, .want_marker = false});
  }
  const auto first = lane->issue(batch, timeline::Doorbell::kRing);
  EXPECT_EQ(first.count, kMaxInFlight - 1);
  EXPECT_TRUE(first.busy);
  EXPECT_TRUE(first.status.ok());
  const auto refused = issue(*lane, kBarrier, kMaxInFlight + 1);
  EXPECT_EQ(refused.count, 0u);
  EXPECT_TRUE(refused.busy);
  gate.open(1);
  wait_until(*lane, kMaxInFlight);
  ASSERT_EQ(issue(*lane, kBarrier, kMaxInFlight + 1).count, 1u);
  wait_until(*lane, kMaxInFlight + 1);
}

TEST_P(VulkanWaking, ArmNotifiesAtOnceForWhatIsReached) {
  const auto lane = native().lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  while (lane->poll().sequence < 1) sched_yield();  // nobody has armed a notification
  CountingNotify notify;
  ASSERT_TRUE(lane->arm(1, notify).ok());
  while (notify.count == 0) sched_yield();
  EXPECT_EQ(notify.count, 1);
  ASSERT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(notify.count, 2) << "on the calling thread, now that the list has seen it";
}

TEST_F(VulkanLane, ArmWithoutMemoryNotifiesAtOnce) {
  const auto lane = native().lane();
  CountingNotify notify;
  const halyard::testing::FailingCalls failing("array.resize");
  EXPECT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(notify.count, 1);
}

TEST_P(VulkanWaking, ArmNotifiesOnceTheEarliestIsReached) {
  Gate gate(native());
  CountingNotify notify, probe;
  ASSERT_TRUE(gate.lane().arm(9, notify).ok());
  ASSERT_TRUE(gate.lane().arm(2, notify).ok());
  ASSERT_TRUE(gate.lane().arm(5, notify).ok());
  ASSERT_TRUE(gate.lane().arm(1, probe).ok());
  gate.open(1);
  while (probe.count == 0) sched_yield();
  EXPECT_EQ(notify.count, 0);
  gate.open(2);
  while (notify.count == 0) sched_yield();
  ASSERT_TRUE(gate.lane().arm(2, notify).ok());
  while (notify.count < 2) sched_yield();
  EXPECT_EQ(notify.count, 2);
}

// The value is lower than the one that the sleeping thread waits for, so the thread must restart
// its wait.
TEST_P(VulkanWaking, AnArmingBeforeWhatTheThreadWaitsForIsNotLost) {
  Gate gate(native()), other(native());
  for (std::uint64_t i = 1; i <= 60; ++i) {
    CountingNotify late, early, elsewhere;
    ASSERT_TRUE(gate.lane().arm(2 * i, late).ok());
    if (i % 3 == 0) sched_yield();  // perhaps the thread sleeps by now
    ASSERT_TRUE(gate.lane().arm(2 * i - 1, early).ok());
    ASSERT_TRUE(other.lane().arm(i, elsewhere).ok());
    gate.open(2 * i - 1);
    while (early.count == 0) sched_yield();
    EXPECT_EQ(late.count, 0);
    other.open(i);
    while (elsewhere.count == 0) sched_yield();
    gate.open(2 * i);
    while (late.count == 0) sched_yield();
  }
}

// Each wait parks without a deadline: a lost notification hangs.
TEST_P(VulkanWaking, NoArmingIsLostWhileWorkEnds) {
  const auto first = native().lane(), second = native().lane();
  const auto serve = [](Lane& lane) {
    for (std::uint64_t i = 1; i <= 1500; ++i) {
      ASSERT_EQ(issue(lane, kBarrier, i).count, 1u);
      wait_until(lane, i);
    }
  };
  std::thread other([&] { serve(*second); });
  serve(*first);
  other.join();
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

TEST_F(VulkanLane, AnAbandonedLaneStopsWithTheWorkThatRunsAndTouchesNothingAfterwards) {
  Gate gate(native());
  const auto lane = native().lane();
  const auto memory = native().memory(1u << 16);
  std::fill_n(memory->host_pointer(), memory->size(), std::byte{0});
  const hal::Operation write = fill(memory, 0x0707'0707);
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  wait_until(*lane, 1);
  ASSERT_EQ(issue(*lane, write, 2, {gate.at(1)}).count, 1u);
  EXPECT_EQ(lane->abandon(kGone, 0), timeline::Abandoned::kStopping);
  EXPECT_EQ(lane->abandon({}, Lane::kPatience - 1), timeline::Abandoned::kStopping);
  gate.open(1);
  while (lane->abandon({}, 0) == timeline::Abandoned::kStopping) sched_yield();
  EXPECT_EQ(lane->abandon({}, 0), timeline::Abandoned::kStopped);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{7}) << "stopped, but the device had not written";
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_EQ(lane->poll().fault.message(), "gone");
  const auto refused = issue(*lane, kBarrier, 3);
  EXPECT_EQ(refused.count, 0u);
  EXPECT_FALSE(refused.busy);
  EXPECT_EQ(refused.status.message(), "gone");
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
  EXPECT_EQ(lane->abandon(kGone, Lane::kPatience), timeline::Abandoned::kStillRunning);
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

TEST_F(VulkanLane, NotesTheCommandsOfATracedSubmission) {
  struct Kept final : trace::Sink {
    void take(trace::Track, const trace::Record& record) override { records.push_back(record); }
    void drained(std::uint64_t) override {}
    std::vector<trace::Record> records;
  } kept;
  trace::Tracer tracer(Clock::steady());
  trace::Stamps stamps[2];
  for (trace::Stamps& each : stamps) {
    each.tracer = &tracer;
    each.id = tracer.next_id();
  }
  const auto memory = native().memory(64);
  const hal::Operation single = fill(memory, 1);
  const hal::Command commands[] = {single.command, hal::Command(), single.command};
  const trace::Label labels[] = {{.name = 70}, {.name = 71}, {.name = 72, .group = 73}};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .labels = labels};
  const auto prepared = CommandBuffer::create(native().heap(), recording).value();
  hal::Operation execute;
  execute.kind = hal::OperationKind::kExecute;
  execute.native = prepared.get();
  {
    const auto lane = native().lane();
    ASSERT_EQ(issue(*lane, single, 1, {}, &stamps[0]).count, 1u);
    ASSERT_EQ(issue(*lane, execute, 2, {}, &stamps[1]).count, 1u);
    wait_until(*lane, 1);
    EXPECT_NE(stamps[0].end, 0) << "stamped before the lane says that it is done";
    wait_until(*lane, 2);
    EXPECT_NE(stamps[1].end, 0);
  }
  tracer.drain(kept, /*last=*/true);
  std::vector<trace::Name> names;
  for (const trace::Record& record : kept.records) {
    EXPECT_EQ(record.kind, trace::Record::Kind::kCommand);
    const trace::Stamps& own = stamps[names.empty() ? 0 : 1];
    EXPECT_EQ(record.id, own.id);
    EXPECT_NE(record.begin, 0);
    EXPECT_LE(own.begin, record.begin);
    EXPECT_LE(record.begin, record.end);
    EXPECT_LE(record.end, own.end);
    names.push_back(record.name);
  }
  EXPECT_EQ(names, (std::vector<trace::Name>{trace::kFill, 70, 72}));
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
