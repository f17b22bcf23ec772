// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduler finds known faults and replays them.
#include "simulation/scheduler.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/futex.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace halyard::sim {
namespace {

using Policy = Scheduler::Policy;

struct Outcome {
  std::uint64_t schedule;
  std::uint64_t points;
};

Outcome run(std::function<void()> body, Scheduler::Options options) {
  Scheduler scheduler(options);
  scheduler.run([](void* argument) { (*static_cast<std::function<void()>*>(argument))(); }, &body);
  return {scheduler.schedule(), scheduler.points()};
}

// Runs body(0) and body(1) on two threads.
void both(std::function<void(int)> body) {
  struct Half {
    std::function<void(int)>* body;
    int number;
    base::Thread thread;
  } halves[] = {{&body, 0, {}}, {&body, 1, {}}};
  for (Half& half : halves) {
    const auto start = [](void* argument) {
      Half& self = *static_cast<Half*>(argument);
      (*self.body)(self.number);
    };
    EXPECT_EQ(half.thread.start("half", start, &half), 0);
  }
  for (Half& half : halves) half.thread.join();
}

// A thread that sleeps until the other sets the word. It may check before the wake-up, and sleep
// after it.
void miss_a_wake_up(bool look_again) {
  base::Atomic<std::uint32_t> word{0}, sleepers{0};
  both([&](int number) {
    if (number == 0) {
      while (word.load() == 0) {
        sleepers.store(1);
        if (look_again && word.load() != 0) break;
        base::futex_wait(sleepers, 1, Deadline::kForeverTime);
      }
    } else {
      word.store(1);
      if (sleepers.exchange(0) == 1) base::futex_wake(sleepers, 1);
    }
  });
}

void seeds(Policy policy, bool look_again) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    (void)run([&] { miss_a_wake_up(look_again); },
              {.seed = seed, .policy = policy, .mean_distance = 1, .length = 20});
  }
}

TEST(Scheduler, FindsALostWakeUpAtRandom) {
  EXPECT_EXIT(seeds(Policy::kUniform, false), ::testing::ExitedWithCode(1), "deadlock");
}

TEST(Scheduler, FindsALostWakeUpByPriorities) {
  EXPECT_EXIT(seeds(Policy::kPct, false), ::testing::ExitedWithCode(1), "deadlock");
}

TEST(Scheduler, FindsNoFaultInTheProtocolThatChecksAgain) {
  seeds(Policy::kUniform, true);
  seeds(Policy::kPct, true);
}

// Counts by a read and a write in two steps, which is correct only under the lock.
int count_to(int turns, bool locked) {
  base::Atomic<int> counter{0};
  base::Mutex mutex;
  both([&](int) {
    for (int i = 0; i < turns; ++i) {
      if (locked) mutex.lock();
      counter.store(counter.load() + 1);
      if (locked) mutex.unlock();
    }
  });
  return counter.peek();
}

TEST(Scheduler, InterleavesCodeWithoutALock) {
  bool lost = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    (void)run([&] { lost |= count_to(5, false) != 10; }, {.seed = seed, .mean_distance = 1});
    (void)run([&] { EXPECT_EQ(count_to(5, true), 10); }, {.seed = seed, .mean_distance = 1});
  }
  EXPECT_TRUE(lost);
}

TEST(Scheduler, ReplaysASeedExactly) {
  const auto body = [] { (void)count_to(20, true); };
  for (const Policy policy : {Policy::kUniform, Policy::kPct}) {
    const Scheduler::Options options{.seed = 7, .policy = policy, .mean_distance = 2, .length = 60};
    const Outcome first = run(body, options), second = run(body, options);
    EXPECT_EQ(first.schedule, second.schedule);
    EXPECT_EQ(first.points, second.points);
    Scheduler::Options other = options;
    other.seed = 8;
    EXPECT_NE(run(body, other).schedule, first.schedule);
  }
}

TEST(Scheduler, TimePassesOnlyAsThreadsSleepOrRun) {
  (void)run(
      [] {
        Clock& clock = Clock::steady();
        const Nanoseconds begin = clock.now();
        Scheduler::current()->sleep_for(5'000'000'000);
        EXPECT_GE(clock.now() - begin, 5'000'000'000);
        EXPECT_LT(clock.now() - begin, 5'000'100'000);
      },
      {});
}

TEST(Scheduler, ReportsALostWakeUpWhenAllThreadsSleepForLong) {
  const auto nap = [] { Scheduler::current()->sleep_for(2'000'000); };
  (void)run(nap, {.longest_idle = 3'000'000});
  EXPECT_EXIT(run(nap, {.longest_idle = 1'000'000}), ::testing::ExitedWithCode(1),
              "a lost wake-up");
}

}  // namespace
}  // namespace halyard::sim
