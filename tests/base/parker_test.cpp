// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parker.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "halyard/base/clock.h"

namespace halyard::base {
namespace {

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

TEST(ParkerPool, LendsAParkerToOneAtATime) {
  std::array<Parker*, 4> lent;
  for (int round = 0; round != 3; ++round) {
    for (Parker*& parker : lent) parker = &ParkerPool::acquire();
    EXPECT_EQ(std::set(lent.begin(), lent.end()).size(), lent.size()) << "in round " << round;
    for (Parker* parker : lent) ParkerPool::release(*parker);
  }
}

TEST(ParkerPool, ReusesAReleasedParker) {
  Parker& one = ParkerPool::acquire();
  ParkerPool::release(one);
  Parker& again = ParkerPool::acquire();
  EXPECT_EQ(&again, &one);
  ParkerPool::release(again);
}

}  // namespace
}  // namespace halyard::base
