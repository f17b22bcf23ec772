// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace halyard::base {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

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

TEST(Mutex, ATimedLockWaitsForTheHolderUntilItsDeadline) {
  Mutex mutex;
  EXPECT_TRUE(mutex.try_lock_until(0)) << "free";
  const Nanoseconds deadline = Clock::steady().now() + kMillisecond;
  EXPECT_FALSE(mutex.try_lock_until(deadline));
  EXPECT_GE(Clock::steady().now(), deadline);
  std::jthread waiter([&] {
    EXPECT_TRUE(mutex.try_lock_until(Deadline::kForeverTime));
    mutex.unlock();
  });
  mutex.unlock();
}

TEST(Mutex, ATimedLockThatGivesUpLeavesTheOthersToBeWoken) {
  Mutex mutex;
  mutex.lock();
  std::jthread waiter([&] { LockGuard lock(mutex); });
  EXPECT_FALSE(mutex.try_lock_until(Clock::steady().now() + kMillisecond));
  mutex.unlock();
}

}  // namespace
}  // namespace halyard::base
