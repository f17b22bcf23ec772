// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The progress that a poll of a lane finds, and how many events it queries, with events that the
// test steps.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>

#include "drivers/stream/lane.h"

namespace halyard::stream {
namespace {

struct SteppedEvents {
  enum class Stream : int {};
  using Event = int;
  static constexpr std::string_view kDriver = "stepped";
  struct State {
    std::map<int, int> recorded;  // the event's place in the stream
    int events = 0, records = 0, reached = 0, queries = 0;
  };

  Status create_stream(Stream& stream, int) const noexcept { return stream = Stream{1}, Status(); }
  void finish(Stream) const noexcept {}
  timeline::Abandoned stop(Stream) const noexcept { return timeline::Abandoned::kStopped; }
  void destroy(Stream) const noexcept {}
  Status query(Stream) const noexcept { return {}; }
  Status create_event(Event& event) const noexcept { return event = ++state->events, Status(); }
  void destroy(Event) const noexcept {}
  Status record(Event event, Stream) const noexcept {
    return state->recorded[event] = ++state->records, Status();
  }
  Result<bool> query(Event event) const noexcept {
    ++state->queries;
    return state->recorded[event] <= state->reached;
  }
  Status wait(Stream, Event) const noexcept { return {}; }
  Status call_host(Stream, HostFunction, void*) const noexcept { return {}; }
  Status check_capture(Stream) const noexcept { return {}; }

  State* state;
};

struct Nothing {
  static bool is_empty(const timeline::Issue&) noexcept { return true; }
  Status put(const SteppedEvents&, SteppedEvents::Stream, const timeline::Issue&, bool&) noexcept {
    return {};
  }
};

// A lane with `markers` markers, which no poll has queried yet.
struct MarkedLane {
  explicit MarkedLane(int markers) {
    check(lane.open());
    for (int i = 1; i <= markers; ++i) {
      const timeline::Issue issue{
          .operation = nullptr, .sequence = static_cast<std::uint64_t>(i), .want_marker = true};
      EXPECT_EQ(lane.issue({&issue, 1}, timeline::Doorbell::kRing).count, 1u);
    }
  }
  ~MarkedLane() { (void)lane.abandon(Status(StatusCode::kCancelled, "the test is over"), 0); }

  SteppedEvents::State state;
  Lane<SteppedEvents, Nothing> lane{SteppedEvents{&state}, Nothing(), nullptr, 1024};
};

TEST(StreamPoll, FindsAllThatIsReached_HoweverManyThereAre) {
  for (int markers = 0; markers <= 40; ++markers) {
    for (int reached = 0; reached <= markers; ++reached) {
      MarkedLane it(markers);
      it.state.reached = reached;
      EXPECT_EQ(it.lane.poll().sequence, static_cast<std::uint64_t>(reached)) << "of " << markers;
    }
  }
}

TEST(StreamPoll, AsksForFewOfThem) {
  for (const int reached : {0, 1, 2, 3, 10, 100, 999, 1000}) {
    MarkedLane it(1000);
    it.state.reached = reached;
    (void)it.lane.poll();
    const int doublings = std::bit_width(static_cast<unsigned>(reached));
    EXPECT_LE(it.state.queries, reached < 2 ? reached + 1 : 2 * doublings + 2) << reached;
  }
}

TEST(StreamPoll, GoesOnWhereTheLastOneEnded) {
  MarkedLane it(1000);
  for (const int reached : {1, 5, 6, 500, 501, 1000}) {
    it.state.reached = reached;
    EXPECT_EQ(it.lane.poll().sequence, static_cast<std::uint64_t>(reached));
  }
}

}  // namespace
}  // namespace halyard::stream
