// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WorkStealingDeque: its owner pushes and pops at one end, any thread steals at the other.
//
// Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005, with the memory order of Le,
// Pop, Cohen and Zappa Nardelli, "Correct and Efficient Work-Stealing for Weak Memory Models",
// PPoPP 2013; their fences are sequentially consistent accesses here. Its size is fixed: it never
// allocates.
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace halyard::inline v0::cpu {

class WorkStealingDeque {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  // no element is this
  static constexpr std::int64_t kCapacity = 256;

  // ---- The owner: one thread at a time.

  // False if it is full.
  bool push(std::uint32_t element) noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom - top_.load(std::memory_order_acquire) >= kCapacity) return false;
    slot(bottom).store(element, std::memory_order_relaxed);
    bottom_.store(bottom + 1, std::memory_order_release);
    return true;
  }
  std::uint32_t pop() noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    std::int64_t top = top_.load(std::memory_order_relaxed);
    if (top > bottom) return kNone;  // top_ only grows
    // Before reading top_: of an owner and a thief that want the same element, one sees the other.
    bottom_.store(bottom, std::memory_order_seq_cst);
    top = top_.load(std::memory_order_seq_cst);
    std::uint32_t element = kNone;
    if (top <= bottom) {
      element = slot(bottom).load(std::memory_order_relaxed);
      if (top < bottom) return element;
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                        std::memory_order_relaxed)) {
        element = kNone;
      }
    }
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return element;
  }

  // ---- Any thread.

  // kNone if it is empty or another thread was faster.
  std::uint32_t steal() noexcept {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top >= bottom_.load(std::memory_order_seq_cst)) return kNone;
    const std::uint32_t element = slot(top).load(std::memory_order_relaxed);
    const bool mine = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed);
    return mine ? element : kNone;
  }
  // A hint. For the owner an upper bound.
  std::int64_t size() const noexcept {
    return bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
  }

 private:
  base::Atomic<std::uint32_t>& slot(std::int64_t index) noexcept {
    return slots_[index & (kCapacity - 1)];
  }

  // Thieves write the first line, the owner the others.
  alignas(64) base::Atomic<std::int64_t> top_{0};
  alignas(64) base::Atomic<std::int64_t> bottom_{0};
  base::Atomic<std::uint32_t> slots_[kCapacity] = {};
};

}  // namespace halyard::inline v0::cpu
