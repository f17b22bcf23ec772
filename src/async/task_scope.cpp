// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/detail/task_scope.h"

#include <algorithm>
#include <utility>

namespace halyard::inline v0::async::detail {

TaskScope::TaskScope(Ref<TaskScope> outer, Clock& clock, Nanoseconds deadline)
    : outer_(std::move(outer)), clock_(clock), deadline_(deadline) {
  // Keeps the chain short where each Task spawns the next one.
  skip_ended(outer_);
  if (outer_) skip_ended(outer_->outer_);
}

Status TaskScope::check() {
  for (TaskScope* scope = this; scope != nullptr; scope = scope->outer_.get()) {
    if (scope->has_passed()) scope->state_ = State::kExpired;
    if (scope->state_ == State::kCancelled) {
      return Status(StatusCode::kCancelled, "the Task was cancelled");
    }
    if (scope->state_ == State::kExpired) {
      return Status(StatusCode::kDeadlineExceeded, "the deadline of the await has passed");
    }
  }
  return {};
}

Nanoseconds TaskScope::first_deadline() const noexcept {
  Nanoseconds first = Deadline::kForeverTime;
  for (const TaskScope* scope = this; scope != nullptr; scope = scope->outer_.get()) {
    first = std::min(first, scope->deadline());
  }
  return first;
}

void TaskScope::skip_ended(Ref<TaskScope>& scope) noexcept {
  while (scope && scope->state_ == State::kEnded) scope = scope->outer_;
}

Nanoseconds TaskScope::deadline() const noexcept {
  return state_ == State::kOpen ? deadline_ : Deadline::kForeverTime;
}

// Reads the clock only if there is a deadline that had not passed from the start.
bool TaskScope::has_passed() const noexcept {
  const Nanoseconds deadline = this->deadline();
  if (deadline == Deadline::kForeverTime) return false;
  return deadline <= Deadline::kPassedTime || deadline <= clock_.now();
}

}  // namespace halyard::inline v0::async::detail
