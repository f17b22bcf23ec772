// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting of this library's threads: for a lock, for a condition, for a time. All waits use base/,
// so that halyard-sim can schedule the same code.
#pragma once

#include <climits>
#include <cstdint>
#include <mutex>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/mutex.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::sim::gpu {

// Every call locks a mutex: glibc's two calls for a std::mutex were almost half of the cost of an
// empty call.
using Mutex = base::Mutex;
using Lock = std::unique_lock<Mutex>;

inline Nanoseconds now() { return Clock::steady().now(); }

// A condition variable. All members are called with its lock held, so a notification without
// waiters costs a single load.
class Condition {
 public:
  template <class Holds>
  void wait(Lock& lock, Holds holds) {
    while (!holds()) {
      ++waiters_;
      const std::uint32_t seen = epoch_.load(std::memory_order_relaxed);
      lock.unlock();
      base::futex_wait(epoch_, seen, Deadline::kForeverTime);
      lock.lock();
      --waiters_;
    }
  }
  // Returns false if `holds` is still false at `deadline` (in the time of now()).
  template <class Holds>
  bool wait_until(Lock& lock, Nanoseconds deadline, Holds holds) {
    while (!holds()) {
      if (deadline != Deadline::kForeverTime && now() >= deadline) return false;
      ++waiters_;
      const std::uint32_t seen = epoch_.load(std::memory_order_relaxed);
      lock.unlock();
      base::futex_wait(epoch_, seen, deadline);
      lock.lock();
      --waiters_;
    }
    return true;
  }
  void notify_all() {
    if (waiters_ == 0) return;
    epoch_.fetch_add(1, std::memory_order_relaxed);
    base::futex_wake(epoch_, INT_MAX);
  }

 private:
  base::Atomic<std::uint32_t> epoch_{0};
  std::uint32_t waiters_ = 0;
};

inline void sleep_for(Nanoseconds duration) {
  const base::Atomic<std::uint32_t> unchanged{0};
  for (const Nanoseconds until = now() + duration; now() < until;) {
    base::futex_wait(unchanged, 0, until);
  }
}

}  // namespace halyard::inline v0::sim::gpu
