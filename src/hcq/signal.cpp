// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/signal.h"

#include <cassert>
#include <utility>

#include "base/format.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq {
namespace {

// A host wait checks the value this often before it sleeps, with 16 pauses between checks: about 4
// us. A parked wake-up costs more.
constexpr int kWaitRounds = 10;

// After kWaitPatience waits in a row that spun in vain (the device shares this core, or is slow) a
// wait sleeps at once; every kWaitTryAgain-th spins again.
constexpr std::uint32_t kWaitPatience = 4;
constexpr std::uint32_t kWaitTryAgain = 16;

}  // namespace

SignalObject::~SignalObject() { assert(first_ == nullptr && "a signal must outlive its waiters"); }

bool SignalObject::arm(Waiter& waiter, std::uint64_t value) noexcept {
  base::LockGuard lock(mutex_);
  if (waiter.linked) {
    if (waiter.value <= value && words_->value.load(std::memory_order_seq_cst) < waiter.value)
      return true;
    remove(waiter);
  }
  Waiter** at = &first_;
  while (*at != nullptr && (*at)->value <= value) at = &(*at)->next;
  waiter.value = value;
  waiter.next = std::exchange(*at, &waiter);
  waiter.linked = true;
  update_least();
  if (words_->value.load(std::memory_order_seq_cst) < value) return true;
  remove(waiter);
  update_least();
  return false;
}

void SignalObject::remove(Waiter& waiter) noexcept {
  Waiter** at = &first_;
  while (*at != &waiter) at = &(*at)->next;
  *at = waiter.next;
  waiter.linked = false;
}

bool SignalObject::unlink(Waiter& waiter) noexcept {
  base::LockGuard lock(mutex_);
  if (!waiter.linked) return false;
  remove(waiter);
  update_least();
  return true;
}

void SignalObject::wake_reached() noexcept {
  constexpr int kBatch = 16;
  for (int count = kBatch; count == kBatch;) {
    base::Notify* batch[kBatch];
    count = 0;
    {
      base::LockGuard lock(mutex_);
      const std::uint64_t now = words_->value.load(std::memory_order_seq_cst);
      for (; count < kBatch && first_ != nullptr && first_->value <= now; ++count) {
        batch[count] = first_->notify;
        first_->linked = false;
        first_ = first_->next;
      }
      update_least();
    }
    for (int i = 0; i < count; ++i) batch[i]->notify();
  }
}

Status SignalObject::wait(std::uint64_t value, Deadline deadline) noexcept {
  if (this->value() >= value) return {};
  const Nanoseconds until = deadline.resolve(Clock::steady());
  const std::uint32_t fruitless = fruitless_.load(std::memory_order_relaxed);
  if (fruitless < kWaitPatience || fruitless % kWaitTryAgain == 0) {
    for (int round = 0; round < kWaitRounds; ++round) {
      for (int i = 0; i < 16; ++i) base::spin_pause();
      if (this->value() >= value) return fruitless_.store(0, std::memory_order_relaxed), Status();
    }
  }
  fruitless_.store(fruitless + 1, std::memory_order_relaxed);
  base::Parker& parker = base::ParkerPool::acquire();
  Waiter waiter(parker);
  for (bool in_time = true; in_time;) {
    const std::uint32_t epoch = parker.prepare();
    if (!arm(waiter, value)) break;
    in_time = parker.park(epoch, until);
  }
  (void)unlink(waiter);
  base::ParkerPool::release(parker);
  // The value decides, even if the deadline passed at the same moment.
  if (const std::uint64_t now = this->value(); now < value) {
    return error(StatusCode::kDeadlineExceeded, "signal: wait for {} ended at value {}", value,
                 now);
  }
  return {};
}

Signal::Signal(Ref<SignalObject> object) noexcept : object_(std::move(object)) {}

SignalObject* Signal::object() const noexcept { return static_cast<SignalObject*>(object_.get()); }

std::uint64_t Signal::value() const noexcept {
  assert(object_);
  return object()->value();
}

Nanoseconds Signal::timestamp() const noexcept {
  assert(object_);
  return object()->timestamp();
}

void Signal::set(std::uint64_t value) const noexcept {
  assert(object_);
  object()->advance(value);
}

Status Signal::wait(std::uint64_t value, Deadline deadline) const {
  if (!object_) return error(StatusCode::kInvalidArgument, "signal: wait on an empty handle");
  return object()->wait(value, deadline);
}

}  // namespace halyard::inline v0::hcq
