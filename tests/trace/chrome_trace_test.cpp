// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records become events, on a clock that the test controls.
#include "trace/chrome_trace.h"

#include <fmt/format.h>

#include "trace/events.h"

namespace halyard::trace {
namespace {

using testing::arrows;
using ::testing::ElementsAre;
using testing::events_of;
using testing::expect_well_formed;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::json;
using testing::nanos;
using testing::only;
using testing::slices;

struct TestClock final : Clock {
  Nanoseconds time = 1000;
  Nanoseconds now() noexcept override { return time; }
};

struct TwoReadings final : DeviceClock {
  ClockPair pair;
  Result<ClockPair> read() noexcept override { return pair; }
};

struct ChromeTraceTest : ::testing::Test {
  TestClock clock;
  Tracer tracer{clock, 64};
  std::string text;
  ChromeTrace events{tracer, text};
  Track queue = tracer.add_track("fake://0 compute");

  Record record(Record::Kind kind, std::uint64_t id, Nanoseconds at) {
    Record made;
    made.kind = kind;
    made.id = id;
    made.at = at;
    return made;
  }
  Record submission(std::uint64_t id, Nanoseconds begin, Nanoseconds end) {
    Record made = record(Record::Kind::kSubmission, id, end + 5);
    made.track = queue;
    made.name = kExecute;
    made.submitted = begin - 20;
    made.issued = begin - 10;
    made.begin = begin;
    made.end = end;
    return made;
  }
  Record point(Record::Kind kind, const Record& whole, std::uint64_t semaphore,
               std::uint64_t value) {
    Record made = record(kind, whole.id, whole.at);
    made.semaphore = semaphore;
    made.value = value;
    return made;
  }
  void note(const Record& whole, std::vector<Record> points = {}) {
    Notes notes(tracer);
    notes.add(whole);
    for (const Record& each : points) notes.add(each);
  }
  json drained() {
    tracer.drain(events, true);
    std::string closed = text;
    closed.erase(closed.rfind(','));
    return json::parse(closed + "]");
  }
};

TEST_F(ChromeTraceTest, AnEmptyTraceIsAnArrayWithTheClockInItsHeader) {
  tracer.drain(events, true);
  events.close();
  const json trace = json::parse(text);
  EXPECT_EQ(trace[0]["args"]["clock"], "CLOCK_MONOTONIC");
  EXPECT_EQ(trace.back()["args"]["events"], 0);
}

TEST_F(ChromeTraceTest, ASubmissionIsParkedThenIssuedAndRunsOnItsQueuesRow) {
  const Record it = submission(7, 2000, 2500);
  note(it, {point(Record::Kind::kWait, it, 3, 1), point(Record::Kind::kSignal, it, 4, 2)});
  const json trace = drained();
  expect_well_formed(trace);
  std::vector<std::string> spans;
  for (const json& event : trace) {
    if (event["ph"] != "b" && event["ph"] != "e") continue;
    spans.push_back(fmt::format("{}{} {}", event["ph"].get<std::string>(), nanos(event["ts"]),
                                event["name"].get<std::string>()));
  }
  EXPECT_THAT(spans, ElementsAre("b1980 fake://0 compute", "b1980 parked", "e1990 parked",
                                 "b1990 issued", "e2505 issued", "e2505 fake://0 compute"));
  const json args = events_of(trace, "b")[0]["args"];
  EXPECT_EQ(args["operation"], "execute");
  EXPECT_EQ(args["outcome"], "complete");
  EXPECT_EQ(args["waits"], json::array({"semaphore 3 >= 1"}));
  EXPECT_EQ(args["signals"], json::array({"semaphore 4 = 2"}));
  const json slice = only(slices(trace, "submission"));
  EXPECT_EQ(nanos(slice["ts"]), 2000);
  EXPECT_EQ(nanos(slice["dur"]), 500);
}

TEST_F(ChromeTraceTest, AnArrowComesFromTheSmallestValueThatIsEnough) {
  const Record one = submission(1, 2000, 2100);
  const Record two = submission(2, 2200, 2300);
  const Record four = submission(3, 2400, 2500);
  const Record waits = submission(4, 2600, 2700);
  note(waits, {point(Record::Kind::kWait, waits, 9, 2)});  // recorded first, even if it ran last
  note(four, {point(Record::Kind::kSignal, four, 9, 4)});
  note(one, {point(Record::Kind::kSignal, one, 9, 1)});
  note(two, {point(Record::Kind::kSignal, two, 9, 3)});
  const json trace = drained();
  expect_well_formed(trace);
  const auto found = arrows(trace);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first["args"]["submission"], 2);
  EXPECT_EQ(found[0].second["args"]["submission"], 4);
}

TEST_F(ChromeTraceTest, AWaitFindsASignalOfALaterDrain) {
  const Record waits = submission(1, 2600, 2700);
  note(waits, {point(Record::Kind::kWait, waits, 9, 2)});
  EXPECT_THAT(arrows(drained()), IsEmpty());
  const Record signals = submission(2, 2000, 2100);
  note(signals, {point(Record::Kind::kSignal, signals, 9, 2)});
  EXPECT_EQ(arrows(drained()).size(), 1u);
}

TEST_F(ChromeTraceTest, NoArrowPointsBackInTime) {
  const Record waits = submission(1, 2000, 2100);  // its signal was dropped
  note(waits, {point(Record::Kind::kWait, waits, 9, 2)});
  const Record later = submission(2, 3000, 3100);
  note(later, {point(Record::Kind::kSignal, later, 9, 5)});
  EXPECT_THAT(arrows(drained()), IsEmpty());
}

TEST_F(ChromeTraceTest, AFailedSubmissionHasASpanAndNoSlice) {
  Record it = submission(1, 0, 0);
  it.submitted = 1500;
  it.issued = 0;
  it.outcome = Record::Outcome::kCancelled;
  it.at = 1600;
  note(it);
  const json trace = drained();
  expect_well_formed(trace);
  EXPECT_EQ(events_of(trace, "b")[0]["args"]["outcome"], "cancelled");
  EXPECT_EQ(events_of(trace, "b")[1]["name"], "parked");
  EXPECT_THAT(events_of(trace, "X"), IsEmpty());
}

TEST_F(ChromeTraceTest, ACommandHasItsNameAndItsGroups) {
  note(submission(5, 2000, 2500));
  Record command = record(Record::Kind::kCommand, 5, 2400);
  command.track = queue;
  command.name = tracer.add_name("matmul \"4x4\"\n");
  command.group = tracer.add_name("step 1 / layer 2");
  command.begin = 2100;
  command.end = 2400;
  note(command);
  const json trace = drained();
  expect_well_formed(trace);
  const json slice = only(slices(trace, "command"));
  EXPECT_EQ(slice["name"], "matmul \"4x4\"\n");
  EXPECT_EQ(slice["args"]["group"], "step 1 / layer 2");
  EXPECT_EQ(nanos(slice["dur"]), 300);
}

TEST_F(ChromeTraceTest, AnyBytesBecomeAValidName) {
  EXPECT_EQ(tracer.text(tracer.add_name("\xff\xc0\x80 gr\xc3\xbc\xc3\x9f \xed\xa0\x80")),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd gr\xc3\xbc\xc3\x9f "
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(ChromeTraceTest, MemoryIsACounter) {
  for (const std::uint64_t bytes : {4096u, 0u}) {
    Record memory = record(Record::Kind::kMemory, 0, clock.time++);
    memory.name = tracer.add_name("fake://0");
    memory.value = bytes;
    note(memory);
  }
  const auto counters = events_of(drained(), "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0]["name"], "memory fake://0");
  EXPECT_EQ(counters[0]["args"]["bytes"], 4096);
  EXPECT_EQ(counters[1]["args"]["bytes"], 0);
}

TEST_F(ChromeTraceTest, TimesOfAnotherClockComeOutOnTheTracersOwn) {
  TwoReadings device;
  device.pair = {.host = 1000, .device = 500'000};
  queue = tracer.add_track("fake://1 compute", &device);
  device.pair = {.host = 3000, .device = 501'000};  // a tick is two nanoseconds
  Record it = submission(1, 500'250, 500'750);
  it.submitted = 1100;
  it.issued = 1200;
  it.at = 2900;
  note(it);
  clock.time = 3000;
  const json trace = drained();
  expect_well_formed(trace);
  const json slice = only(slices(trace, "submission"));
  EXPECT_EQ(nanos(slice["ts"]), 1500);
  EXPECT_EQ(nanos(slice["dur"]), 1000);
  EXPECT_THAT(text, HasSubstr("mapped by pairs of readings"));
}

TEST_F(ChromeTraceTest, AClockThatHasEndedIsReadNoMore) {
  TwoReadings device;
  device.pair = {.host = 1000, .device = 0};
  queue = tracer.add_track("fake://1 compute", &device);
  device.pair = {.host = 2000, .device = 500};
  tracer.end_clock(device);
  device.pair = {.host = 9000, .device = 501};
  EXPECT_EQ(drained(), drained());
  EXPECT_EQ(tracer.clock_map(queue).to_host(250), 1500) << "it was read as it ended";
}

TEST_F(ChromeTraceTest, DroppedEventsAreCountedInTheFile) {
  for (int i = 0; i < 70; ++i) note(submission(1, 2000, 2001));
  const json trace = drained();
  EXPECT_EQ(only(events_of(trace, "i"))["args"]["dropped"], 6);
  EXPECT_EQ(slices(trace, "submission").size(), 64u);
  events.close();
  EXPECT_THAT(text, HasSubstr("\"dropped\":6}}\n]\n"));
}

}  // namespace
}  // namespace halyard::trace
