// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/submission.h"

#include <cassert>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/lane_tracker.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

Submission::~Submission() {
  if (waits_ != inline_waits_) delete[] waits_;
  if (signals_ != inline_signals_) delete[] signals_;
}

bool Submission::cancel() noexcept {
  EffectScope scope(queue_->engine(), EffectScope::Mode::kRun);
  return end(State::kParked, State::kCancelled,
             error(StatusCode::kCancelled, "{}: submission cancelled", queue_->name()));
}

Status Submission::cause() const noexcept {
  return Status::share_record(reinterpret_cast<detail::StatusRecord*>(
      state_.load(std::memory_order_acquire) & ~kStateMask));
}

void Submission::retain_for_user() noexcept {
  queue_->retain();  // owns this memory
  retain();
}

void Submission::release_for_user() noexcept {
  Queue* queue = queue_;
  release();
  queue->release();
}

void Submission::release() noexcept {
  // If one reference is left it is ours, and no thread can take another.
  if (references_.load(std::memory_order_acquire) == 1 ||
      references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    queue_->pool().recycle(*this);
  }
}

void Submission::reset() noexcept {
  assert(destroy_ == nullptr && "the thread that ends it destroys its payload first");
  for (const WaitNode& wait : waits()) wait.semaphore->release();
  wait_count_ = 0;
  // A failure's record lives in the state word.
  (void)Status::adopt_record(reinterpret_cast<detail::StatusRecord*>(
      state_.load(std::memory_order_acquire) & ~kStateMask));
  state_.store(0, std::memory_order_relaxed);
  ended_ = nullptr;
  leaves_signals_ = false;
  work_ = Work::kInLane;
  gate_ = nullptr;
  kept_.store(Kept::kNo, std::memory_order_relaxed);
  depth_ = 1;
}

bool Submission::end(State from, State to, const Status& cause) noexcept {
  detail::StatusRecord* record = Status(cause).release_record();
  assert((reinterpret_cast<std::uintptr_t>(record) & kStateMask) == 0);
  // For the list of effects. Before the state changes: a thread that finds it ended drops the
  // queue's reference, which may be the last.
  retain();
  auto expected = static_cast<std::uintptr_t>(from);
  if (!state_.compare_exchange_strong(
          expected, reinterpret_cast<std::uintptr_t>(record) | static_cast<std::uintptr_t>(to),
          std::memory_order_acq_rel)) {
    (void)Status::adopt_record(record);
    release();
    return false;
  }
  queue_->enter();
  EffectScope::add(*this);
  return true;
}

void Submission::wait_met() noexcept {
  if (unmet_.fetch_sub(1, std::memory_order_acq_rel) == 1) queue_->make_ready(*this);
  release();  // the node's reference, inherited from the thread that unlinked it
}

void Submission::run(bool) noexcept {
  // Destroying the payload may drop the last handle of the device. The queue, entered when this
  // went onto a list, stays until we leave.
  Queue& queue = *queue_;
  if (state() == State::kIssuing) {
    // A host call. Its own effects, and those of its submissions, are not ours: no scope is open.
    if (record_ != nullptr) [[unlikely]]
      queue.engine().checker()->note_started(*this);
    if (queue.tracer() != nullptr) [[unlikely]]
      stamps_.begin = queue.tracer()->now();
    end_host_work(host_call_(payload_));
    return;
  }
  pass_on_failure();
  release();  // the list's
  queue.leave();
}

void Submission::end_host_work(const Status& status) noexcept {
  Queue& queue = *queue_;
  {
    EffectScope scope(queue.engine(), EffectScope::Mode::kShell);
    if (status.ok()) {
      complete();
    } else {
      (void)end(State::kIssuing, State::kFailed, status);
      release();
    }
  }
  queue.leave();  // entered when it was started
}

void Submission::complete() noexcept {
  if (queue_->tracer() != nullptr) [[unlikely]]
    end_trace(trace::Record::Outcome::kComplete);
  // State first, then signals, in list order: a thread that sees the value sees it complete.
  store(State::kComplete);
  for (std::uint32_t i = 0; i < signal_count_; ++i) signals_[i].semaphore->retire(signals_[i]);
  finish();
  release();  // the queue's reference
}

void Submission::pass_on_failure() noexcept {
  const Status why = cause();
  if (queue_->tracer() != nullptr) [[unlikely]] {
    end_trace(state() == State::kCancelled ? trace::Record::Outcome::kCancelled
                                           : trace::Record::Outcome::kFailed);
  }
  for (std::uint32_t i = 0; i < wait_count_; ++i) {
    // Linked still: its met-count is ours to bring down, as if it had been popped.
    if (waits_[i].semaphore->unpark(waits_[i])) wait_met();
  }
  // Before its signals fail: a thread that sees that may use the same memory at once.
  if (record_ != nullptr) [[unlikely]]
    end_check();
  for (std::uint32_t i = 0; i < signal_count_; ++i) {
    if (leaves_signals_) {
      signals_[i].semaphore->withdraw(signals_[i]);
    } else {
      signals_[i].semaphore->retire_failed(signals_[i], why);
    }
  }
  finish();
}

void Submission::finish() noexcept {
  if (listed_) queue_->unlist(*this);
  if (ended_ != nullptr) ended_(payload_, cause());
  if (record_ != nullptr) [[unlikely]]
    end_check();
  is_kept_in_flight() ? release_half() : release_payload();
  for (const SignalNode& signal : signals()) signal.semaphore->drop_signaller();
  signal_count_ = 0;
}

void Submission::end_check() noexcept {
  queue_->engine().checker()->end(*this, state() == State::kComplete);
}

void Submission::release_payload() noexcept {
  if (destroy_ != nullptr) destroy_(payload_);
  destroy_ = nullptr;
  unbind();
}

void Submission::unbind() noexcept {
  for (std::uint32_t i = 0; i < wait_count_; ++i) waits_[i].edge.reset();
  hidden_edge_.reset();
}

}  // namespace halyard::inline v0::timeline
