// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RunChoice: whether the next run of a graph is shared by several threads or goes in order on one.
//
// By the times of the runs before it: the kernels' time says too little, since what threads tell
// each other depends on the graph's shape. Any thread may ask and tell; what gets lost between two
// that do so at once costs time only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/atomic.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::hcq {

class RunChoice {
 public:
  enum class How : std::uint8_t { kShared, kInOrder, kInOrderTimed };

  How next() noexcept {
    const std::uint32_t asked = asked_.load(std::memory_order_relaxed);
    asked_.store(asked + 1, std::memory_order_relaxed);
    // The first run of all has cold caches, and says little; in the next another thread may have
    // come late. So there are several at first, ever farther apart: 2, 4, 8, 16, 32.
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

  // A run took so long; its tasks took `each` on average, on whatever thread.
  void ran_shared(Nanoseconds time, Nanoseconds each) noexcept {
    note(shared_, time);
    each_.store(each, std::memory_order_relaxed);
  }
  void ran_in_order(Nanoseconds time) noexcept { note(in_order_, time); }

 private:
  // The best of late: what else went on on the machine made others slower.
  static void note(base::Atomic<Nanoseconds>& best, Nanoseconds time) noexcept {
    const Nanoseconds before = best.load(std::memory_order_relaxed);
    best.store(before == 0 ? time : std::min(time, before + before / 8), std::memory_order_relaxed);
  }

  // Both ways are tried once in so many runs.
  static constexpr std::uint32_t kTryAgain = 64;

  // What threads tell each other takes up to 150 ns of a task (three predecessors, two cores), so
  // from twice that on two threads are faster than one, and a run in order would be time lost.
  static constexpr Nanoseconds kSurelyWorthSharing = 300;

  base::Atomic<std::uint32_t> asked_{0};
  base::Atomic<Nanoseconds> each_{0};
  base::Atomic<Nanoseconds> shared_{0};
  base::Atomic<Nanoseconds> in_order_{0};
};

}  // namespace halyard::inline v0::hcq
