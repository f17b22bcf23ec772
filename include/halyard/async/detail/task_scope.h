// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskScope: what ends the awaits of some Tasks of a runner early, beside stop tokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halyard/async/detail/frame_pool.h"
#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::async::detail {

class TaskRunner;

// A deadline, and whether the scope was cancelled. It holds for the Tasks that run in it and for
// those that they await or spawn, until end(). Used by the thread of the runner; any thread may
// drop references.
class HALYARD_EXPORT TaskScope final : public RefCounted, public InFramePool {
 public:
  // `deadline` is a time of `clock`, which outlives the runner.
  TaskScope(Ref<TaskScope> outer, Clock& clock, Nanoseconds deadline);

  void cancel() noexcept {
    if (state_ == State::kOpen) state_ = State::kCancelled;
  }
  bool is_cancelled() const noexcept { return state_ == State::kCancelled; }
  // A scope that ends before its deadline, and uncancelled, has no effect afterwards.
  void end() noexcept {
    if (state_ == State::kOpen) state_ = State::kEnded;
  }

  // Ok, or the error of all awaits from now on.
  Status check();
  // The first deadline that is still to come.
  Nanoseconds first_deadline() const noexcept;

 private:
  enum class State : std::uint8_t { kOpen, kCancelled, kExpired, kEnded };

  static void skip_ended(Ref<TaskScope>& scope) noexcept;
  Nanoseconds deadline() const noexcept;
  bool has_passed() const noexcept;

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
