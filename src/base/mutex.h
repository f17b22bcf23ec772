// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutex: one word, two atomic read-modify-writes when uncontended. The three-state futex lock of
// Ulrich Drepper, "Futexes Are Tricky" (2011), mutex 2. Never held while calling out.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/futex.h"

namespace halyard::inline v0::base {

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() noexcept {
    only_when(word_, kFree);
    std::uint32_t seen = kFree;
    if (!word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire,
                                       std::memory_order_relaxed)) [[unlikely]] {
      (void)lock_slow(Deadline::kForeverTime);
    }
  }
  bool try_lock() noexcept {
    std::uint32_t seen = kFree;
    return word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  // False: others have held it until `deadline` (CLOCK_MONOTONIC nanoseconds).
  bool try_lock_until(Nanoseconds deadline) noexcept { return try_lock() || lock_slow(deadline); }
  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kContended) [[unlikely]] {
      futex_wake(word_, 1);
    }
  }

 private:
  enum : std::uint32_t { kFree, kHeld, kContended };

  [[gnu::noinline]] bool lock_slow(Nanoseconds deadline) noexcept {
    // Critical sections take a few dozen nanoseconds: the holder is likely to leave soon.
    for (int i = 0; i < 100; ++i) {
      if (word_.load(std::memory_order_relaxed) == kFree && try_lock()) return true;
      spin_pause();
    }
    while (word_.exchange(kContended, std::memory_order_acquire) != kFree) {
      if (!futex_wait(word_, kContended, deadline)) return false;  // kContended: others may sleep
    }
    return true;
  }

  Atomic<std::uint32_t> word_{kFree};
};

class LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  ~LockGuard() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace halyard::inline v0::base
