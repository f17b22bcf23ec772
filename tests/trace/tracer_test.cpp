// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace halyard::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct SharedClock final : Clock {
  std::atomic<Nanoseconds> time{100};
  Nanoseconds now() noexcept override { return time; }
};

struct Collected final : Sink {
  std::vector<std::uint64_t> ids;
  std::vector<Track> threads;
  std::uint64_t dropped = 0;
  void take(Track thread, const Record& record) override {
    ids.push_back(record.id);
    threads.push_back(thread);
  }
  void drained(std::uint64_t count) override { dropped += count; }
};

Record record(std::uint64_t id, Nanoseconds at) {
  Record made;
  made.id = id;
  made.at = at;
  return made;
}

TEST(Tracer, ABatchThatDoesNotFitIsDroppedWhole) {
  SharedClock clock;
  Tracer tracer(clock, 4);
  for (std::uint64_t id = 1; id <= 3; ++id) note(tracer, record(id, 1));
  {
    Notes notes(tracer);
    notes.add(record(8, 1));
    notes.add(record(9, 1));
  }
  note(tracer, record(4, 1));
  Collected collected;
  tracer.drain(collected);
  EXPECT_THAT(collected.ids, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(collected.dropped, 2u);
  note(tracer, record(5, 1));
  tracer.drain(collected);
  EXPECT_EQ(collected.ids.back(), 5u) << "there is room again";
}

TEST(Tracer, ADrainLeavesWhatIsYoungerThanItself) {
  SharedClock clock;
  Tracer tracer(clock, 4);
  note(tracer, record(1, 100));
  note(tracer, record(2, 101));
  Collected collected;
  tracer.drain(collected);
  EXPECT_THAT(collected.ids, ElementsAre(1));
  clock.time = 101;
  tracer.drain(collected);
  EXPECT_THAT(collected.ids, ElementsAre(1, 2));
}

TEST(Tracer, EachThreadHasItsRowAndLeavesItsRecordsBehind) {
  SharedClock clock;
  Tracer tracer(clock, 64);
  note(tracer, record(1, 1));
  std::thread([&] { note(tracer, record(2, 1)); }).join();
  Collected collected;
  tracer.drain(collected);
  EXPECT_THAT(collected.ids, ElementsAre(1, 2));
  EXPECT_NE(collected.threads[0], collected.threads[1]);
  EXPECT_TRUE(tracer.track(collected.threads[1]).is_thread);
}

TEST(Tracer, TwoTracersDoNotMix) {
  SharedClock clock;
  Tracer tracer(clock, 4);
  Tracer other(clock, 4);
  note(tracer, record(1, 1));
  note(other, record(2, 1));
  note(tracer, record(3, 1));
  Collected collected;
  tracer.drain(collected);
  EXPECT_THAT(collected.ids, ElementsAre(1, 3));
}

TEST(Tracer, EqualTextsHaveEqualNamesAndTheirNumberIsBounded) {
  SharedClock clock;
  Tracer tracer(clock, 4);
  EXPECT_EQ(tracer.add_name("saxpy"), tracer.add_name("saxpy"));
  EXPECT_EQ(tracer.add_name("fill"), kFill);
  for (std::size_t i = 0; i < Tracer::kMostNames; ++i) (void)tracer.add_name(std::to_string(i));
  EXPECT_EQ(tracer.add_name("one more"), kNoName);
}

TEST(Tracer, ThreadsMayRecordWhileItIsDrained) {
  SharedClock clock;
  Tracer tracer(clock, 64);
  constexpr std::uint64_t kEach = 20000;
  std::vector<std::thread> threads;
  std::atomic<int> running{3};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t id = 1; id <= kEach; ++id) note(tracer, record(id, 1));
      --running;
    });
  }
  Collected collected;
  while (running != 0) tracer.drain(collected);
  for (std::thread& thread : threads) thread.join();
  tracer.drain(collected, true);
  EXPECT_EQ(collected.ids.size() + collected.dropped, 3 * kEach);
  std::vector<std::uint64_t> last(collected.threads.empty() ? 0 : 16);
  for (std::size_t i = 0; i < collected.ids.size(); ++i) {
    EXPECT_GT(collected.ids[i], last.at(collected.threads[i])) << "in a thread's own order";
    last.at(collected.threads[i]) = collected.ids[i];
  }
}

TEST(ClockMap, IsTheLineThroughTwoReadings) {
  EXPECT_EQ(ClockMap().to_host(1234), 1234);
  const ClockMap map({.host = 1'000'000, .device = 77}, {.host = 3'000'000, .device = 1077});
  EXPECT_EQ(map.to_host(77), 1'000'000);
  EXPECT_EQ(map.to_host(577), 2'000'000);
  EXPECT_EQ(map.to_host(1077), 3'000'000);
  EXPECT_EQ(map.to_host(76), 998'000) << "before the first";
  const ClockMap offset({.host = 100, .device = 7}, {.host = 200, .device = 7});
  EXPECT_EQ(offset.to_host(9), 102) << "two readings of one tick tell the offset only";
}

}  // namespace
}  // namespace halyard::trace
