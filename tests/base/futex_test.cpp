// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/futex.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <deque>
#include <thread>
#include <vector>

#include "base/failing_calls.h"

namespace halyard::base {
namespace {

using testing::FailingCalls;

constexpr Nanoseconds kOneMillisecond = 1'000'000;
constexpr Nanoseconds kLongest = 20'000 * kOneMillisecond;

// Threads that sleep on one word until they are woken, in any number of sleeps.
class Sleepers {
 public:
  void add(const Atomic<std::uint32_t>& word) {
    std::atomic<bool>& woken = woken_.emplace_back(false);
    threads_.emplace_back([&] {
      EXPECT_TRUE(futex_wait(word, 0, Clock::steady().now() + kLongest));
      woken = true;
    });
  }
  std::ptrdiff_t woken() const {
    return std::ranges::count_if(woken_, [](const std::atomic<bool>& it) { return it.load(); });
  }
  void expect_woken(std::ptrdiff_t count) const {
    const Nanoseconds until = Clock::steady().now() + kLongest;
    while (woken() < count && Clock::steady().now() < until) std::this_thread::yield();
    EXPECT_EQ(woken(), count);
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::deque<std::atomic<bool>> woken_;
  std::vector<std::thread> threads_;
};

// A thread sleeps soon after it has announced that it will.
void let_them_sleep(const FailingCalls& calls, int count) {
  calls.wait_for_sleeps(count);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

TEST(Futex, OfAnotherValueDoesNotSleep) {
  const Atomic<std::uint32_t> word{7};
  EXPECT_TRUE(futex_wait(word, 6, Deadline::kForeverTime));
}

TEST(Futex, ReturnsFalseOnlyAfterItsDeadline) {
  const Atomic<std::uint32_t> word{0};
  const Nanoseconds deadline = Clock::steady().now() + 20 * kOneMillisecond;
  while (futex_wait(word, 0, deadline)) {
  }
  EXPECT_GE(Clock::steady().now(), deadline);
  EXPECT_FALSE(futex_wait(word, 0, Deadline::kPassedTime));
  EXPECT_FALSE(futex_wait(word, 0, Clock::steady().now() - 1));
}

TEST(Futex, WakesAsManyAsItIsToldOfOneWordOnly) {
  const FailingCalls calls;
  Atomic<std::uint32_t> word{0}, other{0};
  Sleepers sleepers, others;
  for (int i = 0; i < 4; ++i) sleepers.add(word);
  others.add(other);
  let_them_sleep(calls, 5);
  futex_wake(word, 1);
  sleepers.expect_woken(1);
  futex_wake(word, 2);
  sleepers.expect_woken(3);
  futex_wake(word, INT_MAX);
  sleepers.expect_woken(4);
  EXPECT_EQ(others.woken(), 0);
  futex_wake(other, 1);
  others.expect_woken(1);
  futex_wake(word, INT_MAX);  // of none
  sleepers.join();
  others.join();
}

// Sleepers of many words share the lists of the table, if there is one: a sleeper that leaves the
// middle of a list after its deadline keeps the other sleepers in it.
TEST(Futex, ASleeperWhoseDeadlinePassesLeavesTheOthersAsleep) {
  const FailingCalls calls;
  constexpr int kWords = 300;
  std::array<Atomic<std::uint32_t>, kWords> words{};
  Sleepers sleepers;
  sleepers.add(words[0]);
  let_them_sleep(calls, 1);
  std::vector<std::thread> hurried;
  for (int thread = 0; thread < 4; ++thread) {
    hurried.emplace_back([&, thread] {
      for (int i = thread; i < kWords; i += 4) {
        while (futex_wait(words[static_cast<std::size_t>(i)], 0,
                          Clock::steady().now() + kOneMillisecond / 2)) {
        }
      }
    });
  }
  for (std::thread& thread : hurried) thread.join();
  EXPECT_EQ(sleepers.woken(), 0);
  futex_wake(words[0], INT_MAX);
  sleepers.expect_woken(1);
  sleepers.join();
}

// Two threads that hand a word to and fro: a lost wake-up ends with a deadline.
TEST(Futex, LosesNoWakeUp) {
  Atomic<std::uint32_t> word{0};
  constexpr std::uint32_t kTurns = 20'000;
  const auto play = [&](std::uint32_t parity) {
    for (std::uint32_t turn = parity; turn < kTurns; turn += 2) {
      while (word.load(std::memory_order_seq_cst) != turn) {
        const std::uint32_t seen = word.load(std::memory_order_seq_cst);
        if (seen == turn) break;
        if (!futex_wait(word, seen, Clock::steady().now() + kLongest)) {
          ADD_FAILURE() << "a wake-up is lost at turn " << turn;
          return;
        }
      }
      word.store(turn + 1, std::memory_order_seq_cst);
      futex_wake(word, 1);
    }
  };
  std::thread second([&] { play(1); });
  play(0);
  second.join();
  EXPECT_EQ(word.load(), kTurns);
}

}  // namespace
}  // namespace halyard::base
