// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parker: one thread sleeps on it. A wake before the sleep is kept, so no wake-up is lost:
//
//   sleeper   epoch = prepare(); re-check the condition; park(epoch)
//   waker     make the condition true; wake()
//
// Parkers come from a pool and are never freed (timelines.md, rule 28). A waker may use one after
// its sleeper has left. It then wakes no thread, or a later sleeper, which re-checks.
#pragma once

#include <climits>
#include <cstdint>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/mutex.h"

namespace halyard::inline v0::base {

// Receives one wake-up. Called from any thread, including a driver's; must not block or call other
// components.
class Notify {
 public:
  virtual void notify() noexcept = 0;

 protected:
  ~Notify() = default;
};

class Parker final : public Notify {
 public:
  void notify() noexcept override { wake(); }

  std::uint32_t prepare() const noexcept { return epoch_.load(std::memory_order_seq_cst); }

  // Sleeps until a wake() after `epoch` was taken, or until the deadline (steady nanoseconds).
  // False only after the deadline.
  bool park(std::uint32_t epoch, Nanoseconds deadline) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool in_time = true;
    while (in_time && epoch_.load(std::memory_order_seq_cst) == epoch) {
      in_time = futex_wait(epoch_, epoch, deadline);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return in_time;
  }

  // Wakes every thread that sleeps on it: threads may share it (ParkerPool). Makes no system call
  // if no thread sleeps.
  void wake() noexcept {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(epoch_, INT_MAX);
  }

 private:
  friend class ParkerPool;
  Atomic<std::uint32_t> epoch_{0};
  Atomic<std::uint32_t> sleepers_{0};
  Parker* next_free_ = nullptr;
};

// Parkers for threads to borrow while they wait, one pool for the process. A parker outlives every
// engine and queue that a late waker may belong to, and stays reachable from here.
class ParkerPool {
 public:
  // If no parker can be allocated, returns a shared one; its waiters may be woken spuriously and
  // must re-check.
  static Parker& acquire();
  static void release(Parker& parker) noexcept;

 private:
  static constinit Mutex mutex_;
  static constinit Parker shared_;
  static constinit Parker* free_;
};

}  // namespace halyard::inline v0::base
