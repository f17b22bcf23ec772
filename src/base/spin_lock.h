// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SpinLock: one atomic read-modify-write to lock, a plain store to unlock: half of a Mutex. For
// critical sections of a few instructions without calls, such as a free list.
#pragma once

#include "base/atomic.h"

namespace halyard::inline v0::base {

class SpinLock {
 public:
  void lock() noexcept {
    only_when(held_, false);
    for (unsigned turns = 0; held_.exchange(true, std::memory_order_acquire); ++turns) {
      while (held_.load(std::memory_order_relaxed)) {
        // The holder may have been descheduled.
        if (++turns % 64 == 0) spin_yield();
        spin_pause();
      }
    }
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  Atomic<bool> held_{false};
};

}  // namespace halyard::inline v0::base
