// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskScope: what ends the awaits of some Tasks of a runner early, beside stop tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "halyard/async/detail/frame_pool.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::async::detail {

class TaskRunner;

// A deadline, and whether the scope was cancelled. It holds for the Tasks that run in it and for
// those that they await or spawn, until end(). Used by the thread of the runner; any thread may
// drop references.
class TaskScope final : public RefCounted {
 public:
  // `deadline` is a time of `clock`, which outlives the runner.
  TaskScope(Ref<TaskScope> outer, Clock& clock, Nanoseconds deadline)
      : outer_(std::move(outer)), clock_(clock), deadline_(deadline) {
    // Keeps the chain short where each Task spawns the next one.
    skip_ended(outer_);
    if (outer_) skip_ended(outer_->outer_);
  }
  static void* operator new(std::size_t size) { return new_frame(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { free_frame(memory, size); }

  void cancel() noexcept {
    if (state_ == State::kOpen) state_ = State::kCancelled;
  }
  bool is_cancelled() const noexcept { return state_ == State::kCancelled; }
  // A scope that ends before its deadline, and uncancelled, has no effect afterwards.
  void end() noexcept {
    if (state_ == State::kOpen) state_ = State::kEnded;
  }

  // Ok, or the error of all awaits from now on.
  Status check() {
    for (TaskScope* scope = this; scope != nullptr; scope = scope->outer_.get()) {
      if (scope->deadline() <= kPassed || scope->deadline() <= scope->now()) {
        scope->state_ = State::kExpired;
      }
      if (scope->state_ == State::kCancelled) {
        return Status(StatusCode::kCancelled, "the Task was cancelled");
      }
      if (scope->state_ == State::kExpired) {
        return Status(StatusCode::kDeadlineExceeded, "the deadline of the await has passed");
      }
    }
    return {};
  }
  // The first deadline that is still to come.
  Nanoseconds first_deadline() const noexcept {
    Nanoseconds first = Deadline::kForeverTime;
    for (const TaskScope* scope = this; scope != nullptr; scope = scope->outer_.get()) {
      first = std::min(first, scope->deadline());
    }
    return first;
  }

 private:
  enum class State : std::uint8_t { kOpen, kCancelled, kExpired, kEnded };
  static constexpr Nanoseconds kPassed = Deadline::kPassedTime;

  static void skip_ended(Ref<TaskScope>& scope) noexcept {
    while (scope && scope->state_ == State::kEnded) scope = scope->outer_;
  }
  Nanoseconds deadline() const noexcept {
    return state_ == State::kOpen ? deadline_ : Deadline::kForeverTime;
  }
  // Reads the clock only if there is a deadline.
  Nanoseconds now() const noexcept {
    return deadline() == Deadline::kForeverTime ? kPassed : clock_.now();
  }

  Ref<TaskScope> outer_;
  Clock& clock_;
  const Nanoseconds deadline_;
  State state_ = State::kOpen;
};

// Where a Task runs. Without a scope only the runner's stop token ends its awaits.
struct TaskPlace {
  TaskRunner* runner = nullptr;
  TaskScope* scope = nullptr;
};

}  // namespace halyard::inline v0::async::detail
