// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SignalObject: the cache line of an hcq::Signal, and a lane's sequence. Its value and time are
// SignalWords, by default its own. DeviceSignal: those are in memory that a device writes.
//
// It loses no wake-up (timelines.md, rule 3): a waiter links itself, stores `least_` and then reads
// the value; a signalling thread changes the value and then reads `least_`. An advance that
// satisfies no waiter takes no lock and makes no system call.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hcq {

// The 16 bytes that devices write.
struct SignalWords {
  explicit SignalWords(std::uint64_t initial) noexcept : value(initial) {}
  base::Atomic<std::uint64_t> value;
  base::Atomic<std::uint64_t> time{0};  // of the last timestamp, in ticks of the device; 0: none
};
static_assert(sizeof(SignalWords) == 16 || !base::kAtomicsAreWords);

class alignas(64) SignalObject : public RefCounted {
 public:
  // A registration with at most one signal at a time. That signal's lock guards the fields.
  struct Waiter {
    explicit Waiter(base::Notify& to_notify) noexcept : notify(&to_notify) {}
    base::Notify* notify;
    std::uint64_t value = 0;
    Waiter* next = nullptr;
    bool linked = false;
  };

  // A signal of the host, whose ticks are nanoseconds of Clock::steady().
  explicit SignalObject(std::uint64_t initial) noexcept : words_(&own_), own_(initial) {}
  ~SignalObject() override;

  std::uint64_t value() const noexcept { return words_->value.load(std::memory_order_acquire); }
  SignalWords& words() const noexcept { return *words_; }
  // The address of words() for devices.
  virtual std::uint64_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(words_);
  }
  virtual Nanoseconds timestamp() const noexcept {
    return static_cast<Nanoseconds>(words_->time.load(std::memory_order_acquire));
  }

  // Raises the value. Any thread. The caller keeps the object alive until the call returns.
  void advance(std::uint64_t value) noexcept {
    std::uint64_t seen = words_->value.load(std::memory_order_relaxed);
    while (seen < value) {
      if (words_->value.compare_exchange_weak(seen, value, std::memory_order_seq_cst)) {
        return wake_if_reached(value);
      }
    }
  }

  // Like advance(), for a signal with one writer at a time: one exchange.
  void publish(std::uint64_t value) noexcept {
    words_->value.exchange(value, std::memory_order_seq_cst);
    wake_if_reached(value);
  }

  // Wakes those whose value a device has reached. A device only stores the value: its driver calls
  // this after an interrupt, or from time to time. Any thread.
  void look() noexcept { wake_if_reached(words_->value.load(std::memory_order_seq_cst)); }

  // Sets the value to 0. Precondition: no thread waits for the signal or changes it.
  void reset() noexcept { words_->value.store(0, std::memory_order_seq_cst); }

  // Links `waiter`, which receives one notify() when the value is at least `value`. False if the
  // value is reached already: the waiter is not linked and receives no call. A linked waiter keeps
  // its place if it waits for a smaller value that is not reached yet; otherwise it is moved.
  bool arm(Waiter& waiter, std::uint64_t value) noexcept;

  // Unlinks `waiter`. True if it was linked: it receives no notify(). If false, a notify() may be
  // running, or about to run, on another thread.
  bool unlink(Waiter& waiter) noexcept;

  Status wait(std::uint64_t value, Deadline deadline) noexcept;

 protected:
  // `words` outlive the object.
  explicit SignalObject(SignalWords& words) noexcept : words_(&words), own_(0) {}

 private:
  static constexpr std::uint64_t kNoWaiter = ~std::uint64_t{0};

  void wake_if_reached(std::uint64_t value) noexcept {
    if (value >= least_.load(std::memory_order_seq_cst)) [[unlikely]]
      wake_reached();
  }
  [[gnu::noinline]] void wake_reached() noexcept;
  void remove(Waiter& waiter) noexcept;
  void update_least() noexcept {
    least_.store(first_ == nullptr ? kNoWaiter : first_->value, std::memory_order_seq_cst);
  }

  SignalWords* const words_;
  SignalWords own_;
  base::Atomic<std::uint64_t> least_{kNoWaiter};  // smallest value that a waiter waits for
  Waiter* first_ = nullptr;                       // ascending by value
  base::Mutex mutex_;
  base::Atomic<std::uint32_t> fruitless_{0};  // consecutive host waits that spun in vain
};
// One cache line, so that a device's write disturbs only threads that read this signal.
static_assert((sizeof(SignalObject) == 64 && alignof(SignalObject) == 64) ||
              !base::kAtomicsAreWords);

}  // namespace halyard::inline v0::hcq
