// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Tasks of a Nursery (nursery.h), and the await of their end.
#pragma once

#include <cassert>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

#include "halyard/async/detail/frame_pool.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/async/detail/task_promise.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/detail/task_scope.h"
#include "halyard/async/task.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

struct NurseryTask;
struct JoinAwaiter;

struct NurseryTasks {
  NurseryTasks() noexcept = default;
  inline ~NurseryTasks();
  NurseryTasks(const NurseryTasks&) = delete;
  NurseryTasks& operator=(const NurseryTasks&) = delete;

  HALYARD_EXPORT void note_spawn(TaskScope* in) noexcept;

  NurseryTask* first = nullptr;
  std::size_t size = 0;
  Ref<TaskScope> spawned_in;  // the scope of the Task that spawned these
  bool by_several = false;    // not all of them
  JoinAwaiter* joining = nullptr;
  std::exception_ptr exception;  // the first one, for join()
};

struct JoinAwaiter {
  ~JoinAwaiter() {
    if (tasks.joining == this) tasks.joining = nullptr;
  }
  bool is_done() const noexcept { return tasks.size <= leave; }
  bool await_ready() const { return is_done() || (may_end_early() && !stop.check().ok()); }
  HALYARD_EXPORT bool await_suspend(std::coroutine_handle<> waiting) noexcept;
  Status await_resume() const {
    if (Status status = ended(); !status.ok()) return status;
#if HALYARD_EXCEPTIONS
    try {
      rethrow();
    } catch (const Error& error) {
      return error.status();
    }
#endif
    return {};
  }
  void resume_or_throw() const {
    check(ended());
    rethrow();
  }
  // Not ok: the await has ended before the Tasks.
  HALYARD_EXPORT Status ended() const;
  void rethrow() const {
#if HALYARD_EXCEPTIONS
    if (tasks.exception != nullptr) {
      std::rethrow_exception(std::exchange(tasks.exception, nullptr));
    }
#endif
  }
  void resume() noexcept { runner.enqueue(waiter, coroutine); }
  // Before the Tasks: where what stops this Task does not stop those.
  HALYARD_EXPORT bool may_end_early() const noexcept;

  NurseryTasks& tasks;
  const std::size_t leave;
  TaskRunner& runner;
  const StopTokens stop;
  std::coroutine_handle<> coroutine{};
  TaskWaiter waiter{};
  bool is_second = false;
};

// A Task that has not ended.
struct NurseryTask final : DetachedTaskOwner, InFramePool {
  NurseryTask(NurseryTasks& of, Task<>&& from, Ref<TaskScope>&& within) noexcept
      : tasks(of), task(std::move(from)), scope(std::move(within)), next(of.first) {
    if (next != nullptr) next->previous = this;
    of.first = this;
    ++of.size;
  }
  ~NurseryTask() {
    scope->end();
    --tasks.size;
    (previous != nullptr ? previous->next : tasks.first) = next;
    if (next != nullptr) next->previous = previous;
  }
  void ended(std::exception_ptr exception) noexcept override {
    NurseryTasks& of = tasks;
    const bool dropped = scope->is_cancelled() && is_cancelled(exception);
    if (of.exception == nullptr && !dropped) of.exception = std::move(exception);
    delete this;
    if (of.joining != nullptr && of.size <= of.joining->leave) {
      std::exchange(of.joining, nullptr)->resume();
    }
  }
  static bool is_cancelled(const std::exception_ptr& exception) noexcept {
#if HALYARD_EXCEPTIONS
    if (exception == nullptr) return false;
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      return error.status().code() == StatusCode::kCancelled;
    } catch (...) {
    }
#else
    (void)exception;
#endif
    return false;
  }

  NurseryTasks& tasks;
  Task<> task;
  const Ref<TaskScope> scope;
  NurseryTask* next;
  NurseryTask* previous = nullptr;
};

inline NurseryTasks::~NurseryTasks() {
  while (first != nullptr) delete first;
  assert(joining == nullptr && "a Nursery ends while its join() is awaited");
}

// Nursery::join(), for co_await.
struct Join {
  JoinAwaiter awaiter(const TaskPlace& place) && {
    return {tasks, leave, *place.runner, {{}, {}, place.scope}};
  }
  NurseryTasks& tasks;
  std::size_t leave;
};

}  // namespace halyard::inline v0::async::detail
