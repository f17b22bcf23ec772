// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskRunner: what runs a Task and all that it awaits and spawns, on one thread: a loop in
// sync_wait's frame. Every transfer of control goes through it: g++ makes a tail call of a
// symmetric transfer only where it optimises, and a loop that awaits would grow the stack
// elsewhere.
#pragma once

#include <coroutine>
#include <stop_token>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/runtime.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async::detail {

// A coroutine that waits in its runner: for `context`, or for its turn. Destroyed, it is out.
class TaskWaiter {
 public:
  TaskWaiter() noexcept = default;
  ~TaskWaiter() { unlink(); }
  TaskWaiter(const TaskWaiter&) = delete;
  TaskWaiter& operator=(const TaskWaiter&) = delete;

 private:
  friend class TaskRunner;
  void unlink() noexcept {
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = this;
  }
  void link_before(TaskWaiter& other) noexcept {
    next_ = &other;
    previous_ = std::exchange(other.previous_, this);
    previous_->next_ = this;
  }

  TaskWaiter* next_ = this;  // a ring with the list's head
  TaskWaiter* previous_ = this;
  std::coroutine_handle<> coroutine_{};
  Context* context_ = nullptr;
  const StopTokens* stop_ = nullptr;
  Moment end_{};  // of the context, once it is waited for beside others
};

class HALYARD_EXPORT TaskRunner {
 public:
  TaskRunner(const Runtime& runtime, std::stop_token stop) noexcept
      : runtime_(runtime), stop_(std::move(stop)) {}

  const Runtime& runtime() const noexcept { return runtime_; }
  const std::stop_token& stop() const noexcept { return stop_; }

  // Goes on before all others; null: the others do.
  void start(std::coroutine_handle<> coroutine) noexcept { next_ = coroutine; }
  // Goes on after those that can.
  void go_on(TaskWaiter& waiter, std::coroutine_handle<> coroutine) noexcept {
    waiter.coroutine_ = coroutine;
    waiter.link_before(ready_);
  }
  // Goes on when `context` has ended, or a stop is requested.
  void wait_for(TaskWaiter& waiter, std::coroutine_handle<> coroutine, Context& context,
                const StopTokens& stop) noexcept {
    waiter.coroutine_ = coroutine;
    waiter.context_ = &context;
    waiter.stop_ = &stop;
    waiter.link_before(waiting_);
  }

  // Until none is left.
  void run();

 private:
  static bool empty(const TaskWaiter& list) noexcept { return list.next_ == &list; }
  std::coroutine_handle<> take_ready() noexcept;
  bool collect_ended() noexcept;
  void wait_for_any();

  const Runtime& runtime_;
  const std::stop_token stop_;
  std::coroutine_handle<> next_{};
  TaskWaiter ready_, waiting_;  // heads of lists
};

}  // namespace halyard::inline v0::async::detail
