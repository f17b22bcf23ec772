// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TaskRunner: a loop that resumes one Task, and all Tasks that it awaits and spawns, on one thread.
//
// Every transfer of control goes through the loop, so awaiting in a loop never grows the stack; g++
// makes a symmetric transfer a tail call only in optimized builds.
#pragma once

#include <coroutine>
#include <stop_token>
#include <utility>

#include "halyard/async/detail/moment.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/async/detail/submitter.h"
#include "halyard/async/runtime.h"
#include "halyard/base/clock.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::async::detail {

// A suspended coroutine in a list of its runner: ready, or waiting for a Submitter's end or a time.
// The destructor removes it.
class HALYARD_EXPORT TaskWaiter {
 public:
  TaskWaiter() noexcept = default;
  ~TaskWaiter() { unlink(); }
  TaskWaiter(const TaskWaiter&) = delete;
  TaskWaiter& operator=(const TaskWaiter&) = delete;

 private:
  friend class TaskRunner;
  void unlink() noexcept;
  void link_before(TaskWaiter& other) noexcept;

  TaskWaiter* next_ = this;  // circular, with the head of the list
  TaskWaiter* previous_ = this;
  std::coroutine_handle<> coroutine_{};
  Submitter* context_ = nullptr;  // null: waits for time_ only
  Nanoseconds time_ = 0;
  const StopTokens* stop_ = nullptr;
  Moment end_{};  // of the context, while wait_for_any() waits for it
};

class HALYARD_EXPORT TaskRunner {
 public:
  TaskRunner(const Runtime& runtime, std::stop_token stop) noexcept
      : runtime_(runtime), stop_(std::move(stop)) {}

  const Runtime& runtime() const noexcept { return runtime_; }
  const std::stop_token& stop() const noexcept { return stop_; }
  // The clock of the runtime's waits.
  Clock& clock() const noexcept;

  // Resumes `coroutine` before all others. Null: resumes the first ready one.
  void run_next(std::coroutine_handle<> coroutine) noexcept { next_ = coroutine; }
  // Resumes `coroutine` after those that are ready; it may have waited until then.
  void enqueue(TaskWaiter& waiter, std::coroutine_handle<> coroutine) noexcept;
  // Resumes `coroutine` once `context` has ended or stop.check() fails.
  void wait_for(TaskWaiter& waiter, std::coroutine_handle<> coroutine, Submitter& context,
                const StopTokens& stop) noexcept;
  // Resumes `coroutine` at `time` of clock(), or once stop.check() fails; earlier without memory.
  void wait_until(TaskWaiter& waiter, std::coroutine_handle<> coroutine, Nanoseconds time,
                  const StopTokens& stop) noexcept;

  // Returns when no coroutine is left that can be resumed or waits for a Submitter's end or a time.
  void run();

 private:
  static bool empty(const TaskWaiter& list) noexcept { return list.next_ == &list; }
  void wait(TaskWaiter& waiter, std::coroutine_handle<> coroutine, const StopTokens& stop) noexcept;
  std::coroutine_handle<> take_ready() noexcept;
  bool has_ended(const TaskWaiter& waiter) const;
  bool collect_ended();
  void wait_for_any();

  const Runtime& runtime_;
  const std::stop_token stop_;
  std::coroutine_handle<> next_{};
  TaskWaiter ready_, waiting_;  // heads of the lists
};

}  // namespace halyard::inline v0::async::detail
