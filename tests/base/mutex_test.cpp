// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/parker.h"

namespace halyard::base {
namespace {

TEST(Mutex, ExcludesUnderContention) {
  Mutex mutex;
  long count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 50'000; ++k) {
          LockGuard lock(mutex);
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, 200'000);
}

TEST(Mutex, TryLockFailsWhileHeld) {
  Mutex mutex;
  LockGuard lock(mutex);
  EXPECT_FALSE(mutex.try_lock());
}

TEST(Parker, KeepsAWakeThatCameFirst) {
  Parker parker;
  const auto epoch = parker.prepare();
  parker.wake();
  EXPECT_TRUE(parker.park(epoch, Deadline::kForeverTime));
}

TEST(Parker, SleepsNoLongerThanItsDeadline) {
  Parker parker;
  const Nanoseconds soon = Clock::steady().now() + 1'000'000;
  EXPECT_FALSE(parker.park(parker.prepare(), soon));
  EXPECT_GE(Clock::steady().now(), soon);
}

TEST(Parker, PingPongLosesNoWake) {
  Parker ping, pong;
  std::atomic<int> turn{0};
  constexpr int kRounds = 20'000;
  std::jthread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      for (;;) {
        const auto epoch = pong.prepare();
        if (turn.load() == 2 * i + 1) break;
        pong.park(epoch, Deadline::kForeverTime);
      }
      turn.store(2 * i + 2);
      ping.wake();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    turn.store(2 * i + 1);
    pong.wake();
    for (;;) {
      const auto epoch = ping.prepare();
      if (turn.load() == 2 * i + 2) break;
      ping.park(epoch, Deadline::kForeverTime);
    }
  }
  EXPECT_EQ(turn.load(), 2 * kRounds);
}

}  // namespace
}  // namespace halyard::base
