// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lock of the State and of the memory table. Every call takes it, and two calls of glibc for a
// std::mutex were almost half of what a call cost that does nothing.
#pragma once

#include <atomic>
#include <mutex>

namespace halyard::inline v0::sim::cuda {

// The three-state futex lock of Ulrich Drepper, "Futexes Are Tricky" (2011), mutex 2.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    if (!try_lock()) [[unlikely]]
      lock_slow();
  }
  bool try_lock() {
    unsigned seen = kFree;
    return word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kContended) [[unlikely]] {
      word_.notify_one();
    }
  }

 private:
  enum : unsigned { kFree, kHeld, kContended };

  [[gnu::noinline]] void lock_slow() {
    while (word_.exchange(kContended, std::memory_order_acquire) != kFree) {
      word_.wait(kContended, std::memory_order_relaxed);
    }
  }

  std::atomic<unsigned> word_{kFree};
};

using Lock = std::unique_lock<Mutex>;

}  // namespace halyard::inline v0::sim::cuda
