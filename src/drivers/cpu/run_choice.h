// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RunChoice: decides whether several threads share the next run of a graph, or one thread runs it
// in order.
//
// It compares the times of earlier runs. The kernels' time alone is not enough, since the cost of
// synchronization depends on the graph's shape. Safe from any thread; updates lost in a race only
// cost time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/atomic.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::cpu {

class RunChoice {
 public:
  enum class How : std::uint8_t { kShared, kInOrder, kInOrderTimed };

  How next() noexcept {
    const std::uint32_t asked = asked_.load(std::memory_order_relaxed);
    asked_.store(asked + 1, std::memory_order_relaxed);
    // The first run has cold caches, and in the second another thread may have joined late. So
    // several early runs are shared, at growing distances: 2, 4, 8, 16, 32.
    const bool early = asked > 1 && asked < kTryAgain && std::has_single_bit(asked);
    if (asked % kTryAgain == 0 || early ||
        each_.load(std::memory_order_relaxed) >= kSurelyWorthSharing) {
      return How::kShared;
    }
    if (asked % kTryAgain == 1) return How::kInOrderTimed;
    return shared_.load(std::memory_order_relaxed) < in_order_.load(std::memory_order_relaxed)
               ? How::kShared
               : How::kInOrder;
  }

  // Reports the time of a shared run, and the average time of its tasks.
  void ran_shared(Nanoseconds time, Nanoseconds each) noexcept {
    note(shared_, time);
    each_.store(each, std::memory_order_relaxed);
  }
  void ran_in_order(Nanoseconds time) noexcept { note(in_order_, time); }

 private:
  // Keeps the best recent time: other load on the machine only makes runs slower.
  static void note(base::Atomic<Nanoseconds>& best, Nanoseconds time) noexcept {
    const Nanoseconds before = best.load(std::memory_order_relaxed);
    best.store(before == 0 ? time : std::min(time, before + before / 8), std::memory_order_relaxed);
  }

  // Each way is tried once in this many runs.
  static constexpr std::uint32_t kTryAgain = 64;

  // Synchronization takes up to 150 ns per task (three predecessors, two cores). For tasks of twice
  // that time or more, two threads are faster, and a run in order would waste time.
  static constexpr Nanoseconds kSurelyWorthSharing = 300;

  base::Atomic<std::uint32_t> asked_{0};
  base::Atomic<Nanoseconds> each_{0};
  base::Atomic<Nanoseconds> shared_{0};
  base::Atomic<Nanoseconds> in_order_{0};
};

}  // namespace halyard::inline v0::cpu
