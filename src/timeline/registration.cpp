// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/registration.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "base/thread.h"
#include "timeline/engine.h"

namespace halyard::inline v0::timeline {
Registration::Registration(Semaphore& semaphore, std::uint64_t value, Callback callback,
                           bool on_shell) noexcept
    : semaphore_(&semaphore), on_shell_(on_shell), callback_(callback) {
  node_.semaphore = &semaphore;
  node_.owner = this;
  node_.kind = WaitNode::Kind::kRegistration;
  node_.key = value;
}

Result<Registration*> Registration::create(Semaphore& semaphore, std::uint64_t value,
                                           Callback callback, bool on_shell) {
  // A waiter usually registers with a semaphore again and again, once at a time: one spare is
  // enough.
  void* memory = nullptr;
  if (value <= kMaxValue) {
    memory = base::kKeepsFreedMemory
                 ? semaphore.spare_registration_.exchange(nullptr, std::memory_order_acquire)
                 : nullptr;
    if (memory == nullptr) memory = ::operator new(sizeof(Registration), std::nothrow);
  }
  if (memory == nullptr) {
    callback.destroy(callback.state);
    if (value <= kMaxValue) return Status(StatusCode::kResourceExhausted, "on_reach: no memory");
    return error(StatusCode::kInvalidArgument, "{}: on_reach of {} above 2^63-1",
                 semaphore.describe(), base::number(value));
  }
  auto* const registration = ::new (memory) Registration(semaphore, value, callback, on_shell);
  registration->references_.store(2, std::memory_order_relaxed);  // the user's and the node's
  EffectScope scope(semaphore.engine(), EffectScope::Mode::kRun);
  switch (semaphore.park(registration->node_, false, nullptr)) {
    case Semaphore::Park::kReached:
      registration->fire({});
      break;
    case Semaphore::Park::kFailed:
      registration->fire(semaphore.failure());
      break;
    default:
      break;
  }
  return registration;
}

void Registration::fire(Status status) noexcept {
  outcome_ = std::move(status);
  EffectScope::add(*this);  // with the node's reference
}

void Registration::run(bool shell) noexcept {
  if (on_shell_ && !shell) return semaphore_->engine().post_completion(*this);
  auto expected = State::kArmed;
  if (state_.compare_exchange_strong(expected, State::kRunning, std::memory_order_acq_rel)) {
    runner_.store(base::this_thread(), std::memory_order_relaxed);
    if (outcome_.ok()) semaphore_->note_reached(node_.key);
    callback_.call(callback_.state, outcome_);
    destroy_callback();
    runner_.store(0, std::memory_order_relaxed);
    state_.store(State::kDone, std::memory_order_release);
  }
  release();
}

void Registration::drop() noexcept {
  auto expected = State::kArmed;
  if (state_.compare_exchange_strong(expected, State::kDead, std::memory_order_acq_rel)) {
    if (semaphore_->unpark(node_)) release();  // else its popper has the node's reference
  } else if (runner_.load(std::memory_order_relaxed) != base::this_thread()) {
    base::WorkSource& work_source = semaphore_->engine().work_source();
    for (unsigned turns = 0; state_.load(std::memory_order_acquire) == State::kRunning; ++turns) {
      work_source.pause(turns);
    }
  }
  release();
}

void Registration::destroy_callback() noexcept {
  if (callback_.destroy != nullptr) callback_.destroy(callback_.state);
  callback_.destroy = nullptr;
}

void Registration::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  destroy_callback();
  const Ref<Semaphore> semaphore = std::move(semaphore_);
  this->~Registration();
  void* memory = this;
  if (base::kKeepsFreedMemory) {
    memory = semaphore->spare_registration_.exchange(memory, std::memory_order_acq_rel);
  }
  ::operator delete(memory);
}

}  // namespace halyard::inline v0::timeline
