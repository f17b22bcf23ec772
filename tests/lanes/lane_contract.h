// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaneContract: what timeline::NativeQueue (native_queue.h) asks of every driver's lanes. A
// driver's test program instantiates it with a fixture that says how its device is opened
// (open_lanes.h):
//
//     INSTANTIATE_TYPED_TEST_SUITE_P(Serial, LaneContract, SerialLanes);
#pragma once

#include "base/failing_calls.h"
#include "lanes/open_lanes.h"
#include "trace/tracer.h"

namespace halyard::testing {

template <class Fixture>
class LaneContract : public OpenLanes<Fixture> {};
TYPED_TEST_SUITE_P(LaneContract);

// --- order and edges -----------------------------------------------------------------------------

TYPED_TEST_P(LaneContract, RunsWhatIsIssuedInOrder) {
  const OpenLane& lane = this->lane();
  const auto &a = this->memory(64), &b = this->memory(64);
  lane.give(this->keep(fill(a, 0x0403'0201)), 1);
  const hal::CopyCommand copy{range(a, 0, 64), range(b, 0, 64)};
  lane.give(this->keep(command(hal::Command(copy))), 2);
  lane.give(this->keep(fill(a, 0)), 3);
  lane.wait_until(3);
  EXPECT_EQ(b->host_pointer()[0], std::byte{1});
  EXPECT_EQ(b->host_pointer()[63], std::byte{4});
  EXPECT_EQ(a->host_pointer()[63], std::byte{0});
}

TYPED_TEST_P(LaneContract, TakesABatchWithOneDoorbell) {
  Gate& gate = this->gate();
  const OpenLane& lane = this->lane();
  const hal::Operation& write = this->keep(fill(this->memory(64), 1));
  const Edge edge = gate.at(1);
  std::vector<timeline::Issue> batch;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    batch.push_back(
        {.operation = i % 2 == 0 ? &kBarrier : &write, .sequence = i, .want_marker = true});
  }
  batch[20].waits = {&edge, 1};
  ASSERT_EQ(lane.issue(batch).count, batch.size());
  lane.wait_until(20);
  EXPECT_EQ(lane->poll().sequence, 20u);
  gate.open(1);
  lane.wait_until(40);
}

TYPED_TEST_P(LaneContract, AnEdgeHoldsWorkBack) {
  Gate& gate = this->gate();
  const OpenLane& lane = this->lane();
  const auto& memory = this->memory(4);
  lane.give(kBarrier, 1, {gate.at(1)});
  lane.give(this->keep(fill(memory, ~0u)), 2, {gate.at(2)});
  EXPECT_EQ(lane->poll().sequence, 0u);
  gate.open(1);
  lane.wait_until(1);
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
  gate.open(2);
  lane.wait_until(2);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0xff});
}

TYPED_TEST_P(LaneContract, WaitsForEachOfSeveralEdges) {
  Gate &first = this->gate(), &second = this->gate(), &third = this->gate();
  const OpenLane& lane = this->lane();
  const auto& memory = this->memory(4);
  lane.give(this->keep(fill(memory, ~0u)), 1, {first.at(1), second.at(1), third.at(1)});
  first.open(1);
  third.open(1);
  EXPECT_EQ(lane->poll().sequence, 0u);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0});
  second.open(1);
  lane.wait_until(1);
  EXPECT_EQ(memory->host_pointer()[0], std::byte{0xff});
}

TYPED_TEST_P(LaneContract, AnEdgeThatHasPassedHoldsNothingBack) {
  const OpenLane &producer = this->lane(), &consumer = this->lane();
  producer.give(kBarrier, 1);
  producer.give(kBarrier, 2);
  producer.wait_until(2);
  consumer.give(kBarrier, 1, {producer.at(1), producer.at(2)});
  consumer.wait_until(1);
}

// No host thread polls the producer, so only the device can wake the consumer.
TYPED_TEST_P(LaneContract, WaitsForAnEdgeWithoutTheHost) {
  Gate& gate = this->gate();
  const OpenLane &producer = this->lane(), &consumer = this->lane();
  producer.give(kBarrier, 1, {gate.at(1)});
  consumer.give(kBarrier, 1, {producer.at(1)});
  EXPECT_EQ(consumer->poll().sequence, 0u);
  gate.open(1);
  consumer.wait_until(1);
  EXPECT_EQ(producer->poll().sequence, 1u);
}

TYPED_TEST_P(LaneContract, RunsLanesWithEdgesBothWays) {
  const OpenLane &first = this->lane(), &second = this->lane();
  const std::uint64_t links = std::min(first->capabilities().max_in_flight, 256u);
  for (std::uint64_t i = 1; i <= links; ++i) {
    first.give(kBarrier, i, i > 1 ? std::vector{second.at(i - 1)} : std::vector<Edge>());
    second.give(kBarrier, i, {first.at(i)});
  }
  second.wait_until(links);
}

TYPED_TEST_P(LaneContract, MarkShowsWhatWasIssuedWithoutAMarker) {
  const OpenLane& lane = this->lane();
  lane.give(kBarrier, 1);
  const timeline::Issue unmarked{.operation = &kBarrier, .sequence = 2, .want_marker = false};
  EXPECT_EQ(lane.issue({&unmarked, 1}).count, 1u);
  if (!lane->capabilities().marks_every_submission) {
    EXPECT_TRUE(lane->mark().ok());
  }
  lane.wait_until(2);
}

// --- back-pressure -------------------------------------------------------------------------------

// Each submission writes a word of its own, so one that is overwritten or left out is seen. A
// native stream that is full blocks, so a lane with markers is given no more than its limit.
TYPED_TEST_P(LaneContract, IsBusyWhenFullAndTakesTheRestLater) {
  Gate& gate = this->gate();
  const OpenLane& lane = this->lane();
  const timeline::QueueCapabilities its = lane->capabilities();
  const std::uint32_t limit = its.max_in_flight;
  const std::uint32_t count = its.marks_every_submission ? 4 * limit : limit;
  const auto& memory = this->memory(4 * count);
  const Edge edge = gate.at(1);
  std::vector<timeline::Issue> batch;
  for (std::uint32_t i = 0; i < count; ++i) {
    const hal::Operation& write = this->keep(fill(range(memory, 4 * i, 4), i + 1));
    batch.push_back({.operation = &write, .sequence = i + 1, .want_marker = true});
  }
  batch[0].waits = {&edge, 1};
  std::size_t issued = 0;
  const auto issue_rest = [&] {
    const auto result = lane.issue(std::span<const timeline::Issue>(batch).subspan(issued));
    issued += result.count;
    EXPECT_TRUE(result.status.ok()) << result.status.to_string();
    EXPECT_EQ(result.busy, issued < count);
    return result.count;
  };
  EXPECT_GE(issue_rest(), limit);
  if (issued < count) {
    EXPECT_EQ(issue_rest(), 0u) << "none has ended";
  }
  gate.open(1);
  for (lane.wait_until(issued); issued < count; lane.wait_until(issued)) {
    ASSERT_GT(issue_rest(), 0u);
  }
  const auto* const words = reinterpret_cast<const std::uint32_t*>(memory->host_pointer());
  for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(words[i], i + 1);
}

// --- arming --------------------------------------------------------------------------------------

TYPED_TEST_P(LaneContract, ArmNotifiesForWhatIsReached) {
  const OpenLane& lane = this->lane();
  lane.give(kBarrier, 1);
  while (lane->poll().sequence < 1) std::this_thread::yield();  // nobody has armed a notification
  CountingNotify& notify = this->notify();
  ASSERT_TRUE(lane->arm(1, notify).ok());
  notify.wait_for(1);
  ASSERT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(notify.count, 2) << "at once, now that the lane has seen it";
}

TYPED_TEST_P(LaneContract, ArmWithoutMemoryNotifiesAtOnce) {
  const OpenLane& lane = this->lane();
  CountingNotify& notify = this->notify();
  const FailingCalls failing("array.resize");
  EXPECT_TRUE(lane->arm(1, notify).ok());
  EXPECT_EQ(notify.count, 1);
}

TYPED_TEST_P(LaneContract, ArmNotifiesOnceTheEarliestIsReached) {
  const OpenLane& lane = this->lane();
  CountingNotify& notify = this->notify();
  for (const std::uint64_t sequence : {9u, 2u, 5u}) ASSERT_TRUE(lane->arm(sequence, notify).ok());
  lane.give(kBarrier, 1);
  lane.wait_until(1);
  EXPECT_EQ(notify.count, 0);
  lane.give(kBarrier, 2);
  notify.wait_for(1);
  ASSERT_TRUE(lane->arm(4, notify).ok());
  lane.give(kBarrier, 3);
  lane.wait_until(3);
  EXPECT_EQ(notify.count, 1);
  lane.give(kBarrier, 4);
  notify.wait_for(2);
}

TYPED_TEST_P(LaneContract, NotifiesEachThatIsArmedAtItsSequence) {
  const OpenLane& lane = this->lane();
  CountingNotify* notifies[] = {&this->notify(), &this->notify(), &this->notify()};
  for (const std::uint64_t sequence : {2u, 3u, 1u}) {
    ASSERT_TRUE(lane->arm(sequence, *notifies[sequence - 1]).ok());
  }
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    lane.give(kBarrier, sequence);
    notifies[sequence - 1]->wait_for(1);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(notifies[i - 1]->count, i <= sequence ? 1 : 0) << i << " at " << sequence;
    }
  }
}

// A thread may sleep for `late` already, perhaps one that serves the other lane as well.
TYPED_TEST_P(LaneContract, AnArmingBelowAnEarlierOneIsNotLost) {
  const OpenLane &lane = this->lane(), &other = this->lane();
  for (std::uint64_t i = 1; i <= 50; ++i) {
    CountingNotify &late = this->notify(), &early = this->notify(), &elsewhere = this->notify();
    ASSERT_TRUE(lane->arm(2 * i, late).ok());
    if (i % 3 == 0) std::this_thread::yield();
    ASSERT_TRUE(lane->arm(2 * i - 1, early).ok());
    ASSERT_TRUE(other->arm(i, elsewhere).ok());
    lane.give(kBarrier, 2 * i - 1);
    early.wait_for(1);
    EXPECT_EQ(late.count, 0);
    other.give(kBarrier, i);
    elsewhere.wait_for(1);
    lane.give(kBarrier, 2 * i);
    late.wait_for(1);
    lane.wait_until(2 * i);
    other.wait_until(i);
  }
}

// Each wait parks without a deadline: a lost notification hangs.
TYPED_TEST_P(LaneContract, NoArmingIsLostWhileWorkEnds) {
  const OpenLane &first = this->lane(), &second = this->lane();
  const auto serve = [](const OpenLane& lane) {
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      lane.give(kBarrier, i);
      lane.wait_until(i);
    }
  };
  std::thread other([&] { serve(second); });
  serve(first);
  other.join();
}

TYPED_TEST_P(LaneContract, EndsWithAnArmingThatIsNeverReached) {
  const OpenLane& lane = this->lane();
  ASSERT_TRUE(lane->arm(7, this->notify()).ok());
  lane.give(kBarrier, 1);
  lane.wait_until(1);
  this->close();
}

// --- the end -------------------------------------------------------------------------------------

TYPED_TEST_P(LaneContract, AnAbandonedLaneReportsTheCauseAndTakesNoMore) {
  Gate& gate = this->gate();
  const OpenLane& lane = this->lane();
  const auto& memory = this->memory(64);
  lane.give(kBarrier, 1);
  lane.wait_until(1);
  lane.give(this->keep(fill(memory, ~0u)), 2, {gate.at(1)});
  if (TypeParam::kDropsWork) {
    lane.stop();
    gate.open(1);
  } else {
    EXPECT_EQ(lane->abandon(kGone, 0), Abandoned::kStopping);
    gate.open(1);
    lane.stop();
  }
  EXPECT_EQ(memory->host_pointer()[0], std::byte(TypeParam::kDropsWork ? 0 : 0xff));
  EXPECT_EQ(lane->abandon({}, 0), Abandoned::kStopped);
  EXPECT_EQ(lane->poll().sequence, 1u);
  EXPECT_EQ(lane->poll().fault.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(lane->poll().fault.message(), "gone");
  EXPECT_EQ(lane->probe().message(), "gone");
  const timeline::Issue next{.operation = &kBarrier, .sequence = 3, .want_marker = true};
  const auto refused = lane.issue({&next, 1});
  EXPECT_EQ(refused.count, 0u);
  EXPECT_FALSE(refused.busy);
  EXPECT_EQ(refused.status.message(), "gone");
}

// It may write until it has stopped. After that its operations and memory are the engine's.
TYPED_TEST_P(LaneContract, AnAbandonedLaneTouchesNothingOnceItHasStopped) {
  Gate& gate = this->gate();
  const OpenLane& lane = this->lane();
  const auto& memory = this->memory(4u << 20);
  auto* const words = reinterpret_cast<std::uint32_t*>(memory->host_pointer());
  std::uint32_t& last_word = words[memory->size() / sizeof *words - 1];
  hal::Operation& write = this->keep(fill(memory, 7));
  for (std::uint64_t i = 1; i <= 8; ++i) lane.give(write, i);
  lane.give(write, 9, {gate.at(1)});
  while (lane->poll().sequence == 0) std::this_thread::yield();
  (void)lane->abandon(kGone, 0);
  gate.open(1);
  lane.stop();
  last_word = 0;
  write = {};
  const std::uint64_t reached = lane->poll().sequence;
  EXPECT_LE(reached, 8u);
  EXPECT_EQ(lane->poll().sequence, reached);
  this->close();  // ends its threads
  EXPECT_EQ(last_word, 0u);
}

TYPED_TEST_P(LaneContract, AnAbandonedProducerLeavesItsConsumerToTheEngine) {
  Gate& gate = this->gate();
  const OpenLane &producer = this->lane(), &consumer = this->lane();
  producer.give(kBarrier, 1, {gate.at(1)});
  consumer.give(kBarrier, 1, {producer.at(1)});
  (void)producer->abandon(kGone, 0);
  EXPECT_EQ(consumer->poll().sequence, 0u);
  EXPECT_TRUE(consumer->poll().fault.ok());
  EXPECT_TRUE(consumer->probe().ok());
}

// --- traces --------------------------------------------------------------------------------------

TYPED_TEST_P(LaneContract, NotesTheCommandsOfATracedSubmission) {
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
  const hal::Operation& single = this->keep(fill(this->memory(64), 1));
  const hal::Command commands[] = {single.command, hal::Command(), single.command};
  const trace::Label labels[] = {{.name = 70}, {.name = 71}, {.name = 72, .group = 73}};
  const hal::RecordedCommands recording{.commands = commands, .edges = {}, .labels = labels};
  auto native = this->device()->prepare(recording).value();
  hal::Operation execute;
  execute.kind = hal::OperationKind::kExecute;
  execute.native = native.get();
  const OpenLane& lane = this->lane();
  lane.give(single, 1, {}, &stamps[0]);
  lane.give(execute, 2, {}, &stamps[1]);
  for (const std::uint64_t sequence : {1u, 2u}) {
    lane.wait_until(sequence);
    EXPECT_NE(stamps[sequence - 1].end, 0) << "stamped before the lane says that it is done";
  }
  native.reset();
  this->close();
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

REGISTER_TYPED_TEST_SUITE_P(
    LaneContract, RunsWhatIsIssuedInOrder, TakesABatchWithOneDoorbell, AnEdgeHoldsWorkBack,
    WaitsForEachOfSeveralEdges, AnEdgeThatHasPassedHoldsNothingBack, WaitsForAnEdgeWithoutTheHost,
    RunsLanesWithEdgesBothWays, MarkShowsWhatWasIssuedWithoutAMarker,
    IsBusyWhenFullAndTakesTheRestLater, ArmNotifiesForWhatIsReached, ArmWithoutMemoryNotifiesAtOnce,
    ArmNotifiesOnceTheEarliestIsReached, NotifiesEachThatIsArmedAtItsSequence,
    AnArmingBelowAnEarlierOneIsNotLost, NoArmingIsLostWhileWorkEnds,
    EndsWithAnArmingThatIsNeverReached, AnAbandonedLaneReportsTheCauseAndTakesNoMore,
    AnAbandonedLaneTouchesNothingOnceItHasStopped, AnAbandonedProducerLeavesItsConsumerToTheEngine,
    NotesTheCommandsOfATracedSubmission);

}  // namespace halyard::testing
