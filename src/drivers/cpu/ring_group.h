// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RingGroup: the rings of one device, the doorbell, and the loop of a worker thread.
//
// A worker is busy, searching (awake, checking all rings) or asleep. The doorbell wakes one
// sleeper, and only if no worker is searching. A searcher that finds work checks for more and
// passes the wake-up on. So a doorbell makes no system call if every worker is awake or the ring is
// attended, and a burst of packets makes at most one.
//
// Rings of higher priority are served first, rings of one priority round-robin. After
// kVisitsFromAbove visits in that order a worker makes one in the reverse order, so low rings are
// slow but never starve. A thread that runs chunks of a job leaves between two of them if a ring of
// higher priority has packets.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "drivers/cpu/ring.h"
#include "halyard/base/clock.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::cpu {

// Waking a parked thread costs the waker 8 us and takes 20-40: less work than this is not shared.
inline constexpr Nanoseconds kWorthWaking = 20'000;

// Number of cores this process may use, at least 1: the affinity of the first thread that calls it.
unsigned core_count() noexcept;

class RingGroup {
 public:
  // `workers`: the number of threads that will call serve(); 0 for a group that is stepped
  // manually.
  explicit RingGroup(unsigned workers) noexcept
      : threads_(workers + 1), spinner_limit_(static_cast<int>(core_count()) - 1) {}
  RingGroup(const RingGroup&) = delete;
  RingGroup& operator=(const RingGroup&) = delete;

  // Adds a ring for the life of the group. Errors: kResourceExhausted beyond kMaxRings.
  static constexpr unsigned kMaxRings = 64;  // the bits of a word
  static constexpr unsigned kVisitsFromAbove = 16;
  Status add(Ring& ring) noexcept;

  // Number of threads that may work at once: the workers and one waiting thread.
  unsigned threads() const noexcept { return threads_; }

  // The doorbell, rung after packets were published to `ring`. Any thread.
  void bell(const Ring& ring) noexcept {
    base::full_fence();
    if (!ring.attended()) wake(1);
  }

  // Ensures that up to `count` workers search for work.
  void wake(unsigned count) noexcept {
    if (may_wake()) wake_slow(count);
  }
  bool may_wake() const noexcept { return idle_.load(std::memory_order_seq_cst) >= kSleeping; }

  // One visit to a ring of the group other than `except`, highest priority first. False if there is
  // nothing to do.
  bool step(Slice& slice, const Ring* except = nullptr) noexcept;
  // True if a ring of higher priority has unattended packets or unclaimed chunks.
  bool any_ready_above(RingPriority priority) const noexcept;

  struct Worker {
    Ring* held = nullptr;        // its role stays with the worker while it searches for more
    const Ring* left = nullptr;  // left with packets in it, in favour of other rings
    unsigned cursor = 0;         // first ring to check among those of one priority
    unsigned visits = 0;         // in descending order since the last ascending one
    bool searching = false;
  };
  // The parts of serve(), for tests. serve_once() checks all rings once; true if it found work.
  bool serve_once(Worker& worker) noexcept;
  void release_held(Worker& worker) noexcept;

  // Body of a worker thread; returns after stop().
  void serve() noexcept;
  void stop() noexcept;

  // System calls made to wake workers, for tests.
  std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }

 private:
  // idle_: workers asleep << 16 | workers searching. A thread that wakes a sleeper counts it as
  // searching, and leaves a token for it.
  static constexpr std::uint32_t kSearching = 1;
  static constexpr std::uint32_t kSleeping = 1u << 16;
  static std::uint32_t searching(std::uint32_t idle) noexcept { return idle & (kSleeping - 1); }
  static std::uint32_t sleeping(std::uint32_t idle) noexcept { return idle >> 16; }

  template <class F>
  bool find(int priority, unsigned first, F&& fn) const noexcept;
  bool serve_priority(Worker& worker, int priority) noexcept;
  void found(Worker& worker, const Ring& ring) noexcept;
  void visit(Worker& worker, Ring& ring) noexcept;
  bool any_ready(bool or_chunk) const noexcept;
  void sleep() noexcept;
  bool take_token() noexcept;
  [[gnu::noinline]] void wake_slow(unsigned count) noexcept;

  const unsigned threads_;
  const int spinner_limit_;
  base::Atomic<unsigned> ring_count_{0};
  base::Atomic<std::uint64_t> of_priority_[kRingPriorities] = {};  // bit i: rings_[i] has it
  Ring* rings_[kMaxRings] = {};
  base::Atomic<bool> stop_{false};
  alignas(64) base::Atomic<std::uint32_t> idle_{0};
  alignas(64) base::Atomic<std::uint32_t> tokens_{0};
  base::Atomic<std::uint64_t> wakes_{0};
};

}  // namespace halyard::inline v0::cpu
