// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The explorer finds known faults and runs no order twice.
#include "simulation/explore/explorer.h"

#include <gtest/gtest.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/mutex.h"

namespace halyard::sim {
namespace {

using base::Atomic;

std::uint64_t executions(void (*program)(Program&), int preemptions = kUnbounded) {
  return Explorer(program, {.preemptions = preemptions}).run().executions;
}

// Two threads that write twice each: each to its own word, or both to the first word.
template <bool kShared>
void write_twice(Program& program) {
  auto& words = program.keep<std::array<Atomic<int>, 2>>();
  for (const int number : {0, 1}) {
    program.thread("writer", [&words, number] {
      for (const int value : {1, 2}) words[kShared ? 0 : number].store(value);
    });
  }
}

TEST(Explorer, RunsIndependentWritesInOneOrderOnly) {
  EXPECT_EQ(executions(&write_twice<false>), 1u);
}

TEST(Explorer, RunsDependentWritesInEveryOrder) { EXPECT_EQ(executions(&write_twice<true>), 6u); }

// Of the six orders, two switch only at the ends of threads, and two more switch once before.
TEST(Explorer, CountsPreemptionsWhereTheyAreBounded) {
  EXPECT_EQ(executions(&write_twice<true>, 0), 2u);
  EXPECT_EQ(executions(&write_twice<true>, 1), 4u);
  EXPECT_EQ(executions(&write_twice<true>, 2), 6u);
}

void three_writers(Program& program) {
  auto& word = program.keep<Atomic<int>>(0);
  for (const int value : {1, 2, 3}) program.thread("writer", [&, value] { word.store(value); });
}

TEST(Explorer, RunsThreeDependentWritesInSixOrders) { EXPECT_EQ(executions(&three_writers), 6u); }

// x := 1, read y; against y := 1, read x: at least one thread sees the other's write.
void store_and_load(Program& program) {
  struct State {
    Atomic<int> words[2]{};
    int seen[2]{};
  };
  auto& state = program.keep<State>();
  for (const int number : {0, 1}) {
    program.thread("side", [&state, number] {
      state.words[number].store(1);
      state.seen[number] = state.words[1 - number].load();
    });
  }
  program.at_end([&state] { expect(state.seen[0] + state.seen[1] > 0, "neither saw the other"); });
}

// The possible results are 01, 10 and 11.
TEST(Explorer, RunsStoresAndLoadsOnceForEachOutcome) { EXPECT_EQ(executions(&store_and_load), 3u); }

template <bool kLocked>
void count_together(Program& program) {
  struct State {
    Atomic<int> counter{0};
    base::Mutex mutex;
  };
  auto& state = program.keep<State>();
  for (int i = 0; i < 2; ++i) {
    program.thread("counter", [&state] {
      if (kLocked) state.mutex.lock();
      state.counter.store(state.counter.load() + 1);
      if (kLocked) state.mutex.unlock();
    });
  }
  program.at_end([&state] { expect(state.counter.peek() == 2, "a count is lost"); });
}

TEST(Explorer, FindsTheCountThatIsLostWithoutALock) {
  EXPECT_EXIT(executions(&count_together<false>), ::testing::ExitedWithCode(1), "a count is lost");
}

TEST(Explorer, RunsCriticalSectionsInBothOrders) {
  EXPECT_EQ(executions(&count_together<true>), 2u);
}

void lock_crosswise(Program& program) {
  auto& mutexes = program.keep<std::array<base::Mutex, 2>>();
  for (const int first : {0, 1}) {
    program.thread("locker", [&mutexes, first] {
      base::LockGuard outer(mutexes[first]);
      base::LockGuard inner(mutexes[1 - first]);
    });
  }
}

TEST(Explorer, FindsTheDeadlockOfLocksTakenCrosswise) {
  EXPECT_EXIT(executions(&lock_crosswise), ::testing::ExitedWithCode(1), "deadlock");
}

// A thread sleeps until the other sets the word; the wake-up may come between its check and its
// sleep.
template <bool kLooksAgain>
void sleep_until_set(Program& program) {
  struct State {
    Atomic<std::uint32_t> word{0}, sleepers{0};
  };
  auto& state = program.keep<State>();
  program.thread("sleeper", [&state] {
    while (state.word.load() == 0) {
      state.sleepers.store(1);
      if (kLooksAgain && state.word.load() != 0) break;
      base::futex_wait(state.sleepers, 1, Deadline::kForeverTime);
    }
  });
  program.thread("waker", [&state] {
    state.word.store(1);
    if (state.sleepers.exchange(0) == 1) base::futex_wake(state.sleepers, 1);
  });
}

TEST(Explorer, FindsALostWakeUp) {
  EXPECT_EXIT(executions(&sleep_until_set<false>), ::testing::ExitedWithCode(1), "deadlock");
}

TEST(Explorer, FindsNoFaultInTheProtocolThatChecksAgain) {
  EXPECT_GT(executions(&sleep_until_set<true>), 3u);
}

int timeouts = 0, wakes = 0;

void sleep_for_a_while(Program& program) {
  auto& word = program.keep<Atomic<std::uint32_t>>(0);
  program.thread("sleeper", [&word] {
    Clock& clock = Clock::steady();
    const Nanoseconds until = clock.now() + 100;
    const bool in_time = base::futex_wait(word, 0, until);
    expect(in_time || clock.now() >= until, "the time has passed");
    ++(in_time ? wakes : timeouts);
  });
  program.thread("waker", [&word] { base::futex_wake(word, 1); });
}

// Three outcomes: woken before it sleeps, so that its time passes; woken; woken after its time.
TEST(Explorer, LetsADeadlinePassBeforeAndAfterEverythingElse) {
  timeouts = wakes = 0;
  EXPECT_EQ(executions(&sleep_for_a_while), 3u);
  EXPECT_EQ(timeouts, 2);
  EXPECT_EQ(wakes, 1);
}

void spin_until_set(Program& program) {
  auto& word = program.keep<Atomic<int>>(0);
  program.thread("spinner", [&word] {
    while (word.load() != 2) base::spin_pause();
  });
  program.thread("setter", [&word] {
    word.store(1);
    word.store(2);
  });
}

// The spinner reads before, between or after the writes, and again while the value is too small.
TEST(Explorer, EndsWhereAThreadSpins) { EXPECT_EQ(executions(&spin_until_set), 4u); }

TEST(Explorer, ReplaysAScheduleThatFailed) {
  Schedule schedule;
  EXPECT_TRUE(schedule.parse("0,1x2,0"));
  EXPECT_EQ(schedule.text(), "0,1x2,0");
  EXPECT_EXIT(Explorer(&count_together<false>, {.replay = &schedule}).run(),
              ::testing::ExitedWithCode(1), "a count is lost");
  EXPECT_TRUE(schedule.parse("0x2,1x2"));
  EXPECT_EQ(Explorer(&count_together<false>, {.replay = &schedule}).run().executions, 1u);
  for (const char* text : {"0,", ",", "x", "0x", "9", "0x5000", "0 1"}) {
    EXPECT_FALSE(schedule.parse(text)) << text;
  }
}

}  // namespace
}  // namespace halyard::sim
