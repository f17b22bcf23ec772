// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Task: a coroutine that awaits operations, futures and other Tasks.
//
//   Task<float> norm(Shared<Tensor<float>> x) {
//     auto y = co_await mul(x, x);                        // on a device of the Task's Runtime
//     auto z = co_await as_result(relu(std::move(y)));    // Result<Tensor<float>>
//     auto w = co_await as_result(other(x));              // Result<int>, from a Task<int>
//     ...
//   }
//   sync_wait(norm(x), runtime);
//
// A Task starts when it is awaited. It runs on the thread that called sync_wait() and on no other,
// so it may block and needs no lock; other Tasks of that thread run while it awaits. Operations run
// where the Runtime's policy says, unless on() says otherwise.
//
// An exception in a Task reaches its awaiter. Awaiting a Task does not grow the stack. Each thread
// caches freed coroutine frames by their size. Parameters live in the frame: pass tensors by value.
#pragma once

#include <coroutine>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/as_result.h"
#include "halyard/async/detail/task_promise.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/future.h"
#include "halyard/async/runtime.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

class Nursery;

// A coroutine with the result T. Move-only. Awaiting a moved-from Task, or a Task twice, is
// kFailedPrecondition.
template <class T>
class [[nodiscard("a Task does nothing until it is awaited")]] Task {
  static_assert(!std::is_reference_v<T>, "a Task returns a value, no reference");

 public:
  using promise_type = detail::TaskPromise<T>;

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Implement sync_wait().
  T run(const Runtime& runtime, std::stop_token stop) && {
    const Task own = std::move(*this);
    detail::TaskRunner runner(runtime, std::move(stop));
    check(own.end_in(runner));
    return own.coroutine_.promise().take();
  }
  typename detail::ResultOf<T>::Type run_to_result(const Runtime& runtime,
                                                   std::stop_token stop) && {
    const Task own = std::move(*this);
    detail::TaskRunner runner(runtime, std::move(stop));
    if (Status status = own.end_in(runner); !status.ok()) return status;
    return own.take_result();
  }

  // Implements co_await in a Task.
  auto awaiter(const detail::TaskPlace& place) && {
    struct Awaiter {
      bool await_ready() const noexcept { return !task.coroutine_; }
      void await_suspend(std::coroutine_handle<> continuation) const {
        task.prepare(place).continuation_ = continuation;
        place.runner->run_next(task.coroutine_);
      }
      typename detail::ResultOf<T>::Type await_resume() const {
        if (!task.coroutine_) return awaited_once();
        return task.take_result();
      }
      T resume_or_throw() const {
        if (!task.coroutine_) check(awaited_once());
        return task.coroutine_.promise().take();
      }
      Task task;
      detail::TaskPlace place;
    };
    return Awaiter{std::move(*this), place};
  }

 private:
  friend class detail::TaskPromiseBase;
  friend promise_type;
  friend class async::Nursery;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle coroutine) noexcept : coroutine_(coroutine) {}

  static Status awaited_once() {
    return Status(StatusCode::kFailedPrecondition, "a Task that was awaited or moved from");
  }
  // Makes the Task run there. Throws if it was moved from or awaited.
  detail::TaskPromise<T>& prepare(const detail::TaskPlace& place) const {
    if (!coroutine_) check(awaited_once());
    coroutine_.promise().place_ = place;
    return coroutine_.promise();
  }
  // Runs the Task to its end.
  Status end_in(detail::TaskRunner& runner) const {
    if (!coroutine_) return awaited_once();
    (void)prepare({&runner});
    runner.run_next(coroutine_);
    runner.run();
    if (coroutine_.done()) return {};
    return Status(StatusCode::kFailedPrecondition,
                  "deadlock: no Task can continue, and none waits for a device");
  }
  // Precondition: the Task has ended.
  typename detail::ResultOf<T>::Type take_result() const {
#if HALYARD_EXCEPTIONS
    try {
#endif
      if constexpr (std::is_void_v<T>) {
        coroutine_.promise().take();
        return {};
      } else {
        return coroutine_.promise().take();
      }
#if HALYARD_EXCEPTIONS
    } catch (const Error& error) {
      return error.status();
    }
#endif
  }

  Handle coroutine_;
};

namespace detail {
template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
}  // namespace detail

// Runs the Task to its end on this thread, which may run work of a cpu device while it waits. After
// a stop request each of its awaits is kCancelled, at once. kFailedPrecondition if the Task cannot
// end, because a Task of a Nursery joins that same Nursery.
template <class T>
T sync_wait(Task<T>&& task, const Runtime& runtime, std::stop_token stop = {}) {
  return std::move(task).run(runtime, std::move(stop));
}
template <class T>
auto sync_wait(detail::AsResult<Task<T>>&& as_result, const Runtime& runtime,
               std::stop_token stop = {}) {
  return std::move(as_result.awaitable).run_to_result(runtime, std::move(stop));
}

}  // namespace halyard::inline v0::async
