// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

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

}  // namespace
}  // namespace halyard::base
