// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MarkerTable over events that are numbers.
#include "drivers/stream/marker_table.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace halyard::stream {
namespace {

struct NumberedEvents {
  enum class Stream : int {};
  using Event = int;
  static constexpr std::string_view kDriver = "numbered";

  Status create_stream(Stream&, int) const noexcept { return {}; }
  void finish(Stream) const noexcept {}
  timeline::Abandoned stop(Stream) const noexcept { return timeline::Abandoned::kStopped; }
  Status query(Stream) const noexcept { return {}; }
  Status create_event(Event& event) const noexcept {
    if (*left == 0) return Status(StatusCode::kResourceExhausted, "no more events");
    --*left;
    event = ++*made;
    return {};
  }
  void destroy(Stream) const noexcept {}
  void destroy(Event) const noexcept { ++*destroyed; }
  Status record(Event, Stream) const noexcept { return {}; }
  Result<bool> query(Event) const noexcept { return true; }
  Status wait(Stream, Event) const noexcept { return {}; }
  Status call_host(Stream, HostFunction, void*) const noexcept { return {}; }
  Status check_capture(Stream) const noexcept { return {}; }

  int* left;
  int* made;
  int* destroyed;
};

template <class Table>
auto* oldest(Table& table) {
  std::uint32_t place = 1;
  return table.live(place);
}

class MarkerTableTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kCapacity = 4;

  MarkerTableTest() { check(table.open()); }

  // Records a marker after `sequence`. Returns its event.
  int record(std::uint64_t sequence) {
    auto* const marker = table.take().value();
    table.add(*marker, sequence);
    return marker->event();
  }
  void pass() { table.pass(oldest(table)->sequence()); }

  int left = 100, made = 0, destroyed = 0;
  MarkerTable<NumberedEvents> table{NumberedEvents{&left, &made, &destroyed}, kCapacity};
};

TEST_F(MarkerTableTest, GivesTheNewestWhereThereAreFewer_AndPassesAllUpToOne) {
  for (const std::uint64_t sequence : {3, 7, 9}) record(sequence);
  std::uint32_t place = 2;
  EXPECT_EQ(table.live(place)->sequence(), 7u);
  place = 4;
  auto* const newest = table.live(place);
  EXPECT_EQ(newest->sequence(), 9u);
  EXPECT_EQ(place, 3u);
  place = 2;
  table.pass(table.live(place)->sequence());
  EXPECT_EQ(table.passed(), 7u);
  EXPECT_EQ(oldest(table), newest);
  table.pass(newest->sequence());
  EXPECT_EQ(table.live(place), nullptr);
  for (const std::uint64_t sequence : {10, 11, 12}) record(sequence);
  EXPECT_EQ(made, 3) << "those that were passed are used again";
}

TEST_F(MarkerTableTest, FindsTheMarkerBehindExactlyOneSequence) {
  const int first = record(3), second = record(7);
  auto* const held = table.hold(3);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->event(), first);
  EXPECT_EQ(table.hold(5), nullptr);
  EXPECT_EQ(table.hold(8), nullptr);
  auto* const later = table.hold_from(4);
  ASSERT_NE(later, nullptr);
  EXPECT_EQ(later->event(), second);
  table.release(*held);
  table.release(*later);
}

TEST_F(MarkerTableTest, ASequenceThatIsInNoTableAnyMoreHasPassed) {
  record(3);
  record(7);
  pass();
  EXPECT_EQ(table.passed(), 3u);
  EXPECT_EQ(table.hold(3), nullptr);
  EXPECT_EQ(oldest(table)->sequence(), 7u);
}

TEST_F(MarkerTableTest, RecordsAgainWhatHasPassed) {
  const int event = record(1);
  pass();
  EXPECT_EQ(record(2), event);
  EXPECT_EQ(made, 1);
}

TEST_F(MarkerTableTest, RecordsNothingAgainThatIsHeld) {
  const int event = record(1);
  auto* const held = table.hold(1);
  pass();
  EXPECT_NE(record(2), event);
  EXPECT_EQ(held->sequence(), 1u);
  table.release(*held);
  EXPECT_EQ(record(3), event);
}

TEST_F(MarkerTableTest, RecordsNothingAgainThatSomeStillHold) {
  const int event = record(1);
  auto* const first = table.hold(1);
  auto* const second = table.hold(1);
  pass();
  table.release(*first);
  EXPECT_NE(record(2), event);
  table.release(*second);
  EXPECT_EQ(record(3), event);
}

TEST_F(MarkerTableTest, RecordsNothingAgainThatIsReleasedBeforeItHasPassed) {
  const int event = record(1);
  table.release(*table.hold(1));
  EXPECT_NE(record(2), event);
}

TEST_F(MarkerTableTest, KeepsItsOrderAroundTheEndOfItsRing) {
  for (std::uint64_t i = 1; i <= kCapacity; ++i) record(i);
  for (std::uint64_t i = kCapacity + 1; i <= 5 * kCapacity; ++i) {
    pass();
    record(i);
    auto* const held = table.hold(i - 2);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(held->sequence(), i - 2);
    table.release(*held);
  }
  EXPECT_EQ(made, static_cast<int>(kCapacity));
}

TEST_F(MarkerTableTest, IsExhaustedWhereAllAreLiveAndWhereNoEventCanBeMade) {
  for (std::uint64_t i = 1; i <= kCapacity; ++i) record(i);
  EXPECT_EQ(table.take().status().code(), StatusCode::kResourceExhausted);
  auto* const held = table.hold(1);
  pass();
  left = 0;
  EXPECT_EQ(table.take().status().message(), "no more events");
  table.release(*held);
  EXPECT_TRUE(table.take().ok());
}

TEST_F(MarkerTableTest, UsesAgainWhatCouldNotBeRecorded) {
  auto* const marker = table.take().value();
  table.give_back(*marker);
  EXPECT_EQ(table.take().value(), marker);
}

TEST(MarkerTable, DestroysEachEventOnce) {
  int left = 100, made = 0, destroyed = 0;
  {
    MarkerTable<NumberedEvents> table(NumberedEvents{&left, &made, &destroyed}, 4);
    check(table.open());
    for (std::uint64_t i = 1; i <= 3; ++i) table.add(*table.take().value(), i);
    table.pass(oldest(table)->sequence());
  }
  EXPECT_EQ(made, 3);
  EXPECT_EQ(destroyed, 3);
}

}  // namespace
}  // namespace halyard::stream
