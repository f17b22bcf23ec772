// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RingGroup: the rings of one device, the doorbell, and the loop of a worker thread.
//
// A worker is busy, searching (awake, looking at all rings) or asleep. Ringing the doorbell wakes
// one sleeper, and only if nobody is searching: a searcher that finds work looks whether there is
// more and passes the wake-up on. So a doorbell with everyone awake, or with the ring attended to,
// makes no system call, and a burst of packets makes at most one.
//
// Rings of higher priority come first, those of one priority in turn. A worker that has passed the
// lower ones by kVisitsFromAbove times begins its next visit with the lowest: they are slow, but
// never starve. Whoever runs the chunks of a job turns away between two of them when a ring of
// higher priority has packets.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "halyard/base/clock.h"
#include "halyard/base/status.h"
#include "hcq/ring.h"

namespace halyard::inline v0::hcq {

// Waking a parked thread costs the waker 8 us and takes 20-40: less work than this is not shared.
inline constexpr Nanoseconds kWorthWaking = 20'000;

// How many cores this process may use, at least 1: the affinity of the thread that asks first.
unsigned core_count() noexcept;

class RingGroup {
 public:
  // `workers`: how many threads will serve(); 0 for a group that is stepped by hand.
  explicit RingGroup(unsigned workers) noexcept
      : threads_(workers + 1), spinner_limit_(static_cast<int>(core_count()) - 1) {}
  RingGroup(const RingGroup&) = delete;
  RingGroup& operator=(const RingGroup&) = delete;

  // A ring stays for the life of the group. kResourceExhausted beyond kMaxRings.
  static constexpr unsigned kMaxRings = 64;  // the bits of a word
  static constexpr unsigned kVisitsFromAbove = 16;
  Status add(Ring& ring) noexcept;

  // How many threads may work at once: the workers and one that waits.
  unsigned threads() const noexcept { return threads_; }

  // The doorbell: packets were published to `ring`. Any thread.
  void bell(const Ring& ring) noexcept {
    base::full_fence();
    if (!ring.attended()) wake(1);
  }

  // Sees to it that up to `count` workers look for work.
  void wake(unsigned count) noexcept {
    if (may_wake()) wake_slow(count);
  }
  bool may_wake() const noexcept { return idle_.load(std::memory_order_seq_cst) >= kSleeping; }

  // One visit to some ring of the group but `except`, from above. False if there is nothing to do.
  bool step(Slice& slice, const Ring* except = nullptr) noexcept;
  // Packets that nobody attends to, or chunks, in a ring of higher priority.
  bool any_ready_above(RingPriority priority) const noexcept;

  struct Worker {
    Ring* held = nullptr;        // whose role it keeps while it looks for more
    const Ring* left = nullptr;  // what it left with packets in it, for others to have their turn
    unsigned cursor = 0;         // the ring to look at first among those of one priority
    unsigned visits = 0;         // from above, since the last one from below
    bool searching = false;
  };
  // The parts of serve(), for tests: one look at the rings, true if it led to work; and the end.
  bool turn(Worker& worker) noexcept;
  void let_go(Worker& worker) noexcept;

  // A worker thread's life: until stop().
  void serve() noexcept;
  void stop() noexcept;

  // System calls made to wake workers, for tests.
  std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }

 private:
  // idle_: workers asleep << 16 | workers searching. Who wakes a sleeper counts it as searching,
  // and leaves a token for it.
  static constexpr std::uint32_t kSearching = 1;
  static constexpr std::uint32_t kSleeping = 1u << 16;
  static std::uint32_t searching(std::uint32_t idle) noexcept { return idle & (kSleeping - 1); }
  static std::uint32_t sleeping(std::uint32_t idle) noexcept { return idle >> 16; }

  template <class F>
  bool find(int priority, unsigned first, F&& fn) const noexcept;
  bool look(Worker& worker, int priority) noexcept;
  void found(Worker& worker, const Ring& ring) noexcept;
  void visit(Worker& worker, Ring& ring) noexcept;
  bool any_ready(bool or_chunk) const noexcept;
  void sleep() noexcept;
  bool take_token() noexcept;
  [[gnu::noinline]] void wake_slow(unsigned count) noexcept;

  const unsigned threads_;
  const int spinner_limit_;
  base::Atomic<unsigned> ring_count_{0};
  base::Atomic<std::uint64_t> of_priority_[kRingPriorities] = {};  // bit i: rings_[i] is one
  Ring* rings_[kMaxRings] = {};
  base::Atomic<bool> stop_{false};
  alignas(64) base::Atomic<std::uint32_t> idle_{0};
  alignas(64) base::Atomic<std::uint32_t> tokens_{0};
  base::Atomic<std::uint64_t> wakes_{0};
};

}  // namespace halyard::inline v0::hcq
