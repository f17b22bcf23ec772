// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The serial lane against the contract of timeline::NativeQueue.
#include "drivers/serial/lane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/failing_calls.h"
#include "base/parker.h"
#include "counts/allocations.h"
#include "drivers/serial/allocator.h"
#include "drivers/serial/command_buffer.h"
#include "hal/recording/command.h"
#include "halyard/base/clock.h"
#include "trace/ticking_clock.h"

namespace halyard::serial {
namespace {

using timeline::Edge;

class CountingNotify final : public base::Notify {
 public:
  void notify() noexcept override { ++count; }
  std::atomic<int> count{0};
};

std::unique_ptr<Lane> make_lane() { return Lane::create().value(); }

timeline::IssueResult issue(Lane& lane, const hal::Operation& operation, std::uint64_t sequence,
                            const std::vector<Edge>& waits = {}, trace::Stamps* stamps = nullptr) {
  const timeline::Issue issue{.waits = waits,
                              .operation = &operation,
                              .sequence = sequence,
                              .want_marker = false,
                              .stamps = stamps};
  return lane.issue({&issue, 1}, timeline::Doorbell::kRing);
}

// Sleeps until the lane has reached `sequence`, as a waiter of the engine does.
void wait_until(Lane& lane, std::uint64_t sequence) {
  base::Parker& parker = base::ParkerPool::acquire();
  for (;;) {
    const std::uint32_t epoch = parker.prepare();
    if (lane.poll().sequence >= sequence) break;
    ASSERT_TRUE(lane.arm(sequence, parker).ok());
    parker.park(epoch, Deadline::kForeverTime);
  }
  base::ParkerPool::release(parker);
}

hal::Operation command(const hal::Command& command) {
  hal::Operation operation;
  operation.kind = hal::OperationKind::kCommand;
  operation.command = command;
  return operation;
}

hal::Operation fill(const Ref<hal::Memory>& memory, std::uint32_t pattern) {
  return command(
      hal::Command(hal::FillCommand{{{memory.get(), 0, memory->size()}}, pattern, sizeof pattern}));
}

const hal::Operation kBarrier;

TEST(SerialLane, RunsIssuedWorkInOrder) {
  const auto lane = make_lane();
  const auto a = allocate(64, hal::MemoryType::kDeviceLocal, nullptr).value();
  const auto b = allocate(64, hal::MemoryType::kHostVisible, nullptr).value();
  const hal::CommandRange whole_a{{a.get(), 0, 64}};
  const hal::CommandRange whole_b{{b.get(), 0, 64}};
  const hal::Operation first = fill(a, 0x0403'0201);
  const hal::Operation second = command(hal::Command(hal::CopyCommand{whole_a, whole_b}));
  const hal::Operation third = fill(a, 0);
  ASSERT_EQ(issue(*lane, first, 1).count, 1u);
  ASSERT_EQ(issue(*lane, second, 2).count, 1u);
  ASSERT_EQ(issue(*lane, third, 3).count, 1u);
  wait_until(*lane, 3);
  EXPECT_EQ(b->host_pointer()[0], std::byte{1});
  EXPECT_EQ(b->host_pointer()[63], std::byte{4});
  EXPECT_EQ(a->host_pointer()[63], std::byte{0});
}

// No host thread polls the producer, so only the device can wake the consumer.
TEST(SerialLane, WaitsForAnEdgeWithoutTheHost) {
  const auto producer = make_lane(), consumer = make_lane();
  ASSERT_EQ(issue(*consumer, kBarrier, 1, {Edge{producer.get(), 2}}).count, 1u);
  ASSERT_EQ(issue(*producer, kBarrier, 1).count, 1u);
  wait_until(*producer, 1);
  EXPECT_EQ(consumer->poll().sequence, 0u);
  ASSERT_EQ(issue(*producer, kBarrier, 2).count, 1u);
  wait_until(*consumer, 1);
  EXPECT_EQ(producer->poll().sequence, 2u);
}

TEST(SerialLane, RunsLanesWithEdgesBothWays) {
  const auto first = make_lane(), second = make_lane();
  constexpr std::uint64_t kLinks = kMaxInFlight;
  for (std::uint64_t i = 1; i <= kLinks; ++i) {
    ASSERT_EQ(issue(*first, kBarrier, i, {Edge{second.get(), i - 1}}).count, 1u);
    ASSERT_EQ(issue(*second, kBarrier, i, {Edge{first.get(), i}}).count, 1u);
  }
  wait_until(*second, kLinks);
}

TEST(SerialLane, IsBusyWhenFullAndTakesTheRestLater) {
  const auto gate = make_lane(), lane = make_lane();
  ASSERT_EQ(issue(*lane, kBarrier, 1, {Edge{gate.get(), 1}}).count, 1u);
  for (std::uint64_t i = 2; i <= kMaxInFlight; ++i) ASSERT_EQ(issue(*lane, kBarrier, i).count, 1u);
  const auto refused = issue(*lane, kBarrier, kMaxInFlight + 1);
  EXPECT_EQ(refused.count, 0u);
  EXPECT_TRUE(refused.busy);
  EXPECT_TRUE(refused.status.ok());
  ASSERT_EQ(issue(*gate, kBarrier, 1).count, 1u);
  wait_until(*lane, kMaxInFlight);
  ASSERT_EQ(issue(*lane, kBarrier, kMaxInFlight + 1).count, 1u);
  wait_until(*lane, kMaxInFlight + 1);
}

TEST(SerialLane, ArmWithoutMemoryNotifiesAtOnce) {
  const auto lane = make_lane();
  CountingNotify notify;
  const testing::FailingCalls failing("array.resize");
  EXPECT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(notify.count, 1);
}

TEST(SerialLane, ArmNotifiesOnceTheEarliestIsReached) {
  const auto lane = make_lane();
  CountingNotify notify;
  ASSERT_TRUE(lane->arm(9, notify).ok());
  ASSERT_TRUE(lane->arm(2, notify).ok());
  ASSERT_TRUE(lane->arm(5, notify).ok());
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(notify.count, 0);
  ASSERT_EQ(issue(*lane, kBarrier, 2).count, 1u);
  // The lane notifies in the order of arming, so `notify` may come a moment after this wait.
  wait_until(*lane, 2);
  while (notify.count == 0) base::spin_pause();
  ASSERT_TRUE(lane->arm(2, notify).ok());  // reached already: at once
  EXPECT_EQ(notify.count, 2);
}

// A slow notification of 2 is under way, and the next for 2 is pending, when a third arms for 5.
TEST(SerialLane, APendingNotificationHidesNoLaterArming) {
  struct Blocking final : base::Notify {
    void notify() noexcept override {
      called.store(1);
      called.notify_one();
      may_return.wait(0);
    }
    std::atomic<int> called{0}, may_return{0};
  } first;
  const auto lane = make_lane();
  CountingNotify notify;
  ASSERT_TRUE(lane->arm(2, first).ok());
  ASSERT_TRUE(lane->arm(2, notify).ok());
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  ASSERT_EQ(issue(*lane, kBarrier, 2).count, 1u);
  first.called.wait(0);
  ASSERT_TRUE(lane->arm(5, notify).ok());
  first.may_return.store(1);
  first.may_return.notify_one();
  // A lane that has run this sequence has delivered all notifications of earlier ones.
  const auto run = [&](std::uint64_t sequence) {
    ASSERT_EQ(issue(*lane, kBarrier, sequence).count, 1u);
    wait_until(*lane, sequence);
  };
  run(3), run(4);
  const int early = notify.count;
  run(5), run(6);
  EXPECT_EQ(notify.count, early + 1);
}

TEST(SerialLane, AbandonDropsWhatHasNotRunAndReportsTheCause) {
  const auto never = make_lane(), lane = make_lane();
  const auto memory = allocate(64, hal::MemoryType::kDeviceLocal, nullptr).value();
  std::fill_n(memory->host_pointer(), 64, std::byte{0});
  const hal::Operation write = fill(memory, ~0u);
  ASSERT_EQ(issue(*lane, kBarrier, 1).count, 1u);
  wait_until(*lane, 1);
  ASSERT_EQ(issue(*lane, write, 2, {Edge{never.get(), 1}}).count, 1u);
  (void)lane->abandon(Status(StatusCode::kDeviceLost, "gone"), 0);
  ASSERT_EQ(issue(*never, kBarrier, 1).count, 1u);
  wait_until(*never, 1);
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_EQ(lane->poll().fault.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(lane->probe().message(), "gone");
  const auto refused = issue(*lane, kBarrier, 3);
  EXPECT_EQ(refused.count, 0u);
  EXPECT_FALSE(refused.busy);
  EXPECT_EQ(refused.status.message(), "gone");
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
}

TEST(SerialLane, AnAbandonedLaneStopsWithTheWorkThatRunsAndTouchesNothingAfterwards) {
  const auto lane = make_lane();
  const auto memory = allocate(1u << 20, hal::MemoryType::kDeviceLocal, nullptr).value();
  std::vector<hal::Operation> operations(kMaxInFlight, fill(memory, 7));
  for (std::uint64_t i = 1; i <= kMaxInFlight; ++i) {
    ASSERT_EQ(issue(*lane, operations[i - 1], i).count, 1u);
  }
  wait_until(*lane, 1);
  const Status gone(StatusCode::kDeviceLost, "gone");
  while (lane->abandon(gone, 0) == timeline::Abandoned::kStopping) std::this_thread::yield();
  const std::uint64_t reached = lane->poll().sequence;
  operations = {};
  std::fill_n(memory->host_pointer(), memory->size(), std::byte{0});
  EXPECT_EQ(lane->poll().sequence, reached);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
}

TEST(SerialLane, AbandonedProducerLeavesItsConsumerToTheEngine) {
  auto producer = make_lane();
  const auto consumer = make_lane();
  ASSERT_EQ(issue(*consumer, kBarrier, 1, {Edge{producer.get(), 1}}).count, 1u);
  (void)producer->abandon(Status(StatusCode::kDeviceLost, "gone"), 0);
  EXPECT_EQ(consumer->poll().sequence, 0u);
  EXPECT_TRUE(consumer->probe().ok());
  (void)consumer->abandon(Status(StatusCode::kCancelled, "closed"), 0);
  producer.reset();  // now the edge dangles, and no thread follows it
  EXPECT_EQ(consumer->poll().sequence, 0u);
}

TEST(SerialLane, AllocatesNothingOnceItsSlotsHaveHeldAnEdge) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer counts its own";
  const auto first = make_lane(), second = make_lane();
  // Each lane has notified a parker before, whichever lane is faster below.
  base::Parker& parker = base::ParkerPool::acquire();
  for (const auto& lane : {first.get(), second.get()}) ASSERT_TRUE(lane->arm(1, parker).ok());
  std::uint64_t next = 1;
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kMaxInFlight; ++i, ++next) {
      const Edge edge{first.get(), next};
      const timeline::Issue issues[] = {{.waits = {},
                                         .operation = const_cast<hal::Operation*>(&kBarrier),
                                         .sequence = next,
                                         .want_marker = false},
                                        {.waits = {&edge, 1},
                                         .operation = const_cast<hal::Operation*>(&kBarrier),
                                         .sequence = next,
                                         .want_marker = false}};
      ASSERT_EQ(first->issue({&issues[0], 1}, timeline::Doorbell::kRing).count, 1u);
      ASSERT_EQ(second->issue({&issues[1], 1}, timeline::Doorbell::kRing).count, 1u);
      wait_until(*second, next);
    }
  };
  round();
  const std::uint64_t before = counts::allocations();
  round();
  EXPECT_EQ(counts::allocations() - before, 0u);
  base::ParkerPool::release(parker);
}

TEST(SerialLane, NotesTheCommandsOfATracedSubmission) {
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
  const auto memory = allocate(64, hal::MemoryType::kDeviceLocal, nullptr).value();
  const hal::Operation single = fill(memory, 1);
  const hal::Command commands[] = {single.command, hal::Command(), single.command};
  const trace::Label labels[] = {{.name = 70}, {.name = 71}, {.name = 72, .group = 73}};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .labels = labels};
  const CommandBuffer native(recording);
  hal::Operation execute;
  execute.kind = hal::OperationKind::kExecute;
  execute.native = &native;
  {
    const auto lane = make_lane();
    ASSERT_EQ(issue(*lane, single, 1, {}, &stamps[0]).count, 1u);
    ASSERT_EQ(issue(*lane, execute, 2, {}, &stamps[1]).count, 1u);
    wait_until(*lane, 2);
  }
  tracer.drain(kept, /*last=*/true);
  std::vector<trace::Name> names;
  for (const trace::Record& record : kept.records) {
    EXPECT_EQ(record.kind, trace::Record::Kind::kCommand);
    const trace::Stamps& own = stamps[names.empty() ? 0 : 1];
    EXPECT_EQ(record.id, own.id);
    EXPECT_LE(own.begin, record.begin);
    EXPECT_LE(record.begin, record.end);
    EXPECT_LE(record.end, own.end);
    names.push_back(record.name);
  }
  EXPECT_EQ(names, (std::vector<trace::Name>{trace::kFill, 70, 72}));
}

TEST(SerialLane, DoesNotTimeTheAllocationOfAThreadsFirstNote) {
  trace::testing::TickingClock clock;
  trace::Tracer tracer(clock);
  clock.tracer = &tracer;
  trace::Stamps stamps;
  stamps.tracer = &tracer;
  const auto memory = allocate(64, hal::MemoryType::kDeviceLocal, nullptr).value();
  const hal::Operation operation = fill(memory, 1);
  const auto lane = make_lane();
  ASSERT_EQ(issue(*lane, operation, 1, {}, &stamps).count, 1u);
  wait_until(*lane, 1);
  EXPECT_EQ(stamps.end - stamps.begin, 2) << "the command's end, the submission's end";
}

}  // namespace
}  // namespace halyard::serial
