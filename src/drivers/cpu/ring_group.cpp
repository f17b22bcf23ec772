// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/ring_group.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.h"
#include "base/futex.h"
#include "base/machine.h"

namespace halyard::inline v0::cpu {
namespace {

// An idle worker checks the rings this often before it sleeps, a few microseconds in all: about the
// cost of a sleep and a wake-up. With 4 pauses between checks a round trip takes as long as 1.7
// round trips of a cache line (1.4 with 1 pause, 4 with 16), and the producer's cache lines stay
// mostly undisturbed.
constexpr int kSpinRounds = 40;
constexpr int kPausesPerRound = 4;

// Spinning pays only while work arrives at short intervals. A worker that spun in vain
// kSpinPatience times in a row sleeps at once, and spins again every kTryAgain times. It may delay
// the very thread that would submit work, on the same core.
constexpr unsigned kSpinPatience = 2;
constexpr unsigned kTryAgain = 8;

// Spinning threads of all groups. One core is always left to threads that have work.
constinit base::Atomic<int> spinners{0};

class SpinPermit {
 public:
  explicit SpinPermit(int limit) noexcept : limit_(limit) {}
  ~SpinPermit() { drop(); }
  bool take() noexcept {
    if (held_) return true;
    if (spinners.fetch_add(1, std::memory_order_relaxed) >= limit_) {
      spinners.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    return held_ = true;
  }
  void drop() noexcept {
    if (std::exchange(held_, false)) spinners.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  const int limit_;
  bool held_ = false;
};

}  // namespace

unsigned core_count() noexcept {
  static const unsigned count = base::processor_count();
  return count;
}

Status RingGroup::add(Ring& ring) noexcept {
  unsigned count = ring_count_.load(std::memory_order_relaxed);
  do {
    if (count == kMaxRings) {
      return error(StatusCode::kResourceExhausted, "device: it has {} queues, no more fit", count);
    }
  } while (!ring_count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
  rings_[count] = &ring;
  of_priority_[static_cast<int>(ring.priority())].fetch_or(std::uint64_t{1} << count,
                                                           std::memory_order_release);
  return {};
}

// True if fn(ring, its index) is true for a ring of that priority; from `first` on, cyclically.
template <class F>
bool RingGroup::find(int priority, unsigned first, F&& fn) const noexcept {
  std::uint64_t left = of_priority_[priority].load(std::memory_order_acquire);
  left = std::rotr(left, static_cast<int>(first % kMaxRings));
  for (; left != 0; left &= left - 1) {
    const unsigned index = (first + static_cast<unsigned>(std::countr_zero(left))) % kMaxRings;
    if (fn(*rings_[index], index)) return true;
  }
  return false;
}

bool RingGroup::step(Slice& slice, const Ring* except) noexcept {
  for (int priority = kRingPriorities; priority-- > 0;) {
    if (find(priority, 0,
             [&](Ring& ring, unsigned) { return &ring != except && ring.step(slice, true); })) {
      return true;
    }
  }
  return false;
}

bool RingGroup::any_ready_above(RingPriority than) const noexcept {
  for (int priority = kRingPriorities; --priority > static_cast<int>(than);) {
    if (find(priority, 0,
             [](const Ring& ring, unsigned) { return ring.ready() || ring.has_chunk(); })) {
      return true;
    }
  }
  return false;
}

bool RingGroup::any_ready(bool or_chunk) const noexcept {
  for (int priority = 0; priority < kRingPriorities; ++priority) {
    if (find(priority, 0, [&](const Ring& ring, unsigned) {
          return ring.ready() || (or_chunk && ring.has_chunk());
        })) {
      return true;
    }
  }
  return false;
}

void RingGroup::serve() noexcept {
  Worker worker;
  SpinPermit permit(spinner_limit_);
  int rounds = 0;
  unsigned fruitless = 0;  // consecutive times that spinning found nothing
  while (!stop_.load(std::memory_order_acquire)) {
    if (serve_once(worker)) {
      if (rounds != 0) fruitless = 0;
      rounds = 0;
      continue;
    }
    if (!worker.searching) {
      worker.searching = true;
      idle_.fetch_add(kSearching, std::memory_order_seq_cst);
      base::fence_after_rmw();
      continue;  // one check after the announcement, on which producers rely
    }
    const bool hopeful = fruitless < kSpinPatience || fruitless % kTryAgain == 0;
    if (hopeful && rounds < kSpinRounds && permit.take()) {
      ++rounds;
      for (int i = 0; i < kPausesPerRound; ++i) base::spin_pause();
      continue;
    }
    permit.drop();
    release_held(worker);
    ++fruitless;
    rounds = 0;
    sleep();
  }
  release_held(worker);
  if (worker.searching) idle_.fetch_sub(kSearching, std::memory_order_relaxed);
}

bool RingGroup::serve_once(Worker& worker) noexcept {
  const bool from_below = worker.visits == kVisitsFromAbove;
  for (int i = 0; i < kRingPriorities; ++i) {
    if (!serve_priority(worker, from_below ? i : kRingPriorities - 1 - i)) continue;
    worker.visits = from_below ? 0 : worker.visits + 1;
    return true;
  }
  return false;
}

bool RingGroup::serve_priority(Worker& worker, int priority) noexcept {
  if (worker.held != nullptr && static_cast<int>(worker.held->priority()) == priority &&
      worker.held->pending()) {
    found(worker, *worker.held);
    visit(worker, *worker.held);
    return true;
  }
  return find(priority, worker.cursor, [&](Ring& ring, unsigned index) {
    if (&ring == worker.held) return false;
    Ring::Chunk chunk;
    if (ring.acquire()) {
      worker.cursor = index + 1;
      release_held(worker);
      found(worker, ring);
      visit(worker, ring);
      return true;
    }
    if (ring.claim_chunk(chunk)) {
      worker.cursor = index;
      release_held(worker);
      found(worker, ring);
      if (ring.run_chunk(chunk, /*brief=*/false)) visit(worker, ring);
      return true;
    }
    return false;
  });
}

// Runs packets of a ring whose role this worker holds. The worker keeps the role while the ring is
// empty, so that the producer need not ring the doorbell.
void RingGroup::visit(Worker& worker, Ring& ring) noexcept {
  Slice slice;
  switch (ring.run(slice)) {
    case Ring::Visit::kEmpty:
      worker.held = &ring;
      break;
    case Ring::Visit::kSpent:
      worker.held = nullptr;
      if (ring.release()) worker.left = &ring;
      break;
    case Ring::Visit::kGone:
      worker.held = nullptr;
      break;
  }
}

void RingGroup::release_held(Worker& worker) noexcept {
  if (Ring* ring = std::exchange(worker.held, nullptr); ring != nullptr && ring->release()) wake(1);
}

// Packets published while this worker was searching, or left by it, rely on it. The last searcher
// that starts on one ring wakes a sleeper for the others.
void RingGroup::found(Worker& worker, const Ring& ring) noexcept {
  const Ring* left = std::exchange(worker.left, nullptr);
  if (left != nullptr && left != &ring) wake(1);
  if (!std::exchange(worker.searching, false)) return;
  const std::uint32_t before = idle_.fetch_sub(kSearching, std::memory_order_seq_cst);
  base::fence_after_rmw();
  if (searching(before) == 1 && sleeping(before) != 0 && any_ready(false)) wake(1);
}

void RingGroup::sleep() noexcept {
  // Announces the sleep before the last check, so that a later producer rings the doorbell.
  idle_.fetch_add(kSleeping - kSearching, std::memory_order_seq_cst);
  base::fence_after_rmw();
  if (any_ready(true) || stop_.load(std::memory_order_seq_cst)) {
    std::uint32_t idle = idle_.load(std::memory_order_relaxed);
    while (sleeping(idle) != 0) {
      if (idle_.compare_exchange_weak(idle, idle - kSleeping + kSearching,
                                      std::memory_order_seq_cst)) {
        return;
      }
    }
    // Another thread has woken every sleeper, this one included: its token will arrive.
  }
  while (!take_token()) base::futex_wait(tokens_, 0, Deadline::kForeverTime);
}

bool RingGroup::take_token() noexcept {
  std::uint32_t tokens = tokens_.load(std::memory_order_relaxed);
  while (tokens != 0) {
    if (tokens_.compare_exchange_weak(tokens, tokens - 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void RingGroup::wake_slow(unsigned count) noexcept {
  std::uint32_t idle = idle_.load(std::memory_order_seq_cst);
  unsigned woken;
  do {
    if (searching(idle) >= count) return;
    woken = std::min(count - searching(idle), sleeping(idle));
    if (woken == 0) return;
  } while (!idle_.compare_exchange_weak(idle, idle - woken * kSleeping + woken * kSearching,
                                        std::memory_order_seq_cst));
  tokens_.fetch_add(woken, std::memory_order_release);
  wakes_.fetch_add(1, std::memory_order_relaxed);
  base::futex_wake(tokens_, static_cast<int>(woken));
}

void RingGroup::stop() noexcept {
  stop_.store(true, std::memory_order_seq_cst);
  std::uint32_t idle = idle_.load(std::memory_order_seq_cst);
  while (sleeping(idle) != 0) {
    const std::uint32_t all = sleeping(idle);
    if (idle_.compare_exchange_weak(idle, idle - all * kSleeping + all * kSearching,
                                    std::memory_order_seq_cst)) {
      tokens_.fetch_add(all, std::memory_order_release);
      base::futex_wake(tokens_, static_cast<int>(all));
      return;
    }
  }
}

}  // namespace halyard::inline v0::cpu
