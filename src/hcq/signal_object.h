// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SignalObject: the cache line behind hcq::Signal, and a lane's sequence.
//
// Waiting without loss (the handshake of timelines.md, rule 3): whoever arms links itself, stores
// `least_` and then reads the value; whoever advances changes the value and then reads `least_`. An
// advance that satisfies nobody takes no lock and makes no system call.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hcq {

class alignas(64) SignalObject final : public RefCounted {
 public:
  // One registration with at most one signal at a time. Fields belong to that signal's lock.
  struct Waiter {
    explicit Waiter(base::Notify& to_notify) noexcept : notify(&to_notify) {}
    base::Notify* notify;
    std::uint64_t value = 0;
    Waiter* next = nullptr;
    bool linked = false;
  };

  explicit SignalObject(std::uint64_t initial) noexcept : value_(initial) {}
  ~SignalObject() override;

  std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }
  Nanoseconds timestamp() const noexcept { return timestamp_.load(std::memory_order_acquire); }
  // Where timestamp commands write.
  base::Atomic<Nanoseconds>& time_stamp() noexcept { return timestamp_; }

  // Raises the value. Any thread. The caller keeps the object alive until it returns.
  void advance(std::uint64_t value) noexcept {
    std::uint64_t seen = value_.load(std::memory_order_relaxed);
    while (seen < value) {
      if (value_.compare_exchange_weak(seen, value, std::memory_order_seq_cst)) {
        return wake_if_reached(value);
      }
    }
  }

  // Like advance(), for a signal with one writer at a time: one exchange.
  void publish(std::uint64_t value) noexcept {
    value_.exchange(value, std::memory_order_seq_cst);
    wake_if_reached(value);
  }

  // Back to 0. Precondition: nobody waits for it or is about to change it.
  void reset() noexcept { value_.store(0, std::memory_order_seq_cst); }

  // Links `waiter`: one notify() will come when the value is at least `value`. False if it is
  // already: nothing is linked and no call will come. An armed waiter stays where it is if it waits
  // for less, and that is not reached yet; else it is moved.
  bool arm(Waiter& waiter, std::uint64_t value) noexcept;

  // Unlinks `waiter`: true, and no notify() of it will come. False if it was not linked: then one
  // may be running, or about to run, on another thread.
  bool unlink(Waiter& waiter) noexcept;

  Status wait(std::uint64_t value, Deadline deadline) noexcept;

 private:
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};

  void wake_if_reached(std::uint64_t value) noexcept {
    if (value >= least_.load(std::memory_order_seq_cst)) [[unlikely]]
      wake_reached();
  }
  [[gnu::noinline]] void wake_reached() noexcept;
  void remove(Waiter& waiter) noexcept;
  void update_least() noexcept {
    least_.store(first_ == nullptr ? kNobody : first_->value, std::memory_order_seq_cst);
  }

  base::Atomic<std::uint64_t> value_;
  base::Atomic<Nanoseconds> timestamp_{0};
  base::Atomic<std::uint64_t> least_{kNobody};  // smallest value somebody waits for
  Waiter* first_ = nullptr;                     // ascending by value
  base::Mutex mutex_;
  base::Atomic<std::uint32_t> fruitless_{0};  // host waits in a row that spun in vain
};
// One line: a device that writes a signal disturbs nobody but those who look at it.
static_assert((sizeof(SignalObject) == 64 && alignof(SignalObject) == 64) ||
              !base::kAtomicsAreWords);

}  // namespace halyard::inline v0::hcq
