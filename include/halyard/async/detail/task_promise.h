// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The promise types of Task.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "halyard/async/as_result.h"
#include "halyard/async/detail/await.h"
#include "halyard/async/detail/combinators.h"
#include "halyard/async/detail/frame_pool.h"
#include "halyard/async/detail/future.h"
#include "halyard/async/detail/task_awaiters.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/operation.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

template <class T = void>
class Task;

namespace detail {

// Owns a detached Task, which no coroutine awaits. ended() receives its completion and destroys it.
class DetachedTaskOwner {
 public:
  virtual void ended(std::exception_ptr exception) noexcept = 0;

 protected:
  ~DetachedTaskOwner() = default;
};

class TaskPromiseBase : public InFramePool {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  void detach(DetachedTaskOwner& owner) noexcept { owner_ = &owner; }

  auto final_suspend() noexcept {
    struct Ended {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {
        if (promise.owner_ != nullptr) {
          promise.owner_->ended(std::move(promise.exception_));  // destroys the frame
        } else {
          promise.place_.runner->run_next(promise.continuation_);
        }
      }
      void await_resume() const noexcept {}
      TaskPromiseBase& promise;
    };
    return Ended{*this};
  }
  void unhandled_exception() noexcept {
#if HALYARD_EXCEPTIONS
    exception_ = std::current_exception();
#else
    std::terminate();
#endif
  }

  template <class T>
  auto await_transform(T&& awaitable) {
    constexpr bool kFit = requires { awaiter_of(std::forward<T>(awaitable), place_); };
    static_assert(kFit,
                  "a Task awaits operations, futures and Tasks, each once: co_await std::move(x)");
    if constexpr (kFit) {
      using Inner = decltype(awaiter_of(std::forward<T>(awaitable), place_));
      return Throwing<Inner>{awaiter_of(std::forward<T>(awaitable), place_)};
    } else {
      return std::suspend_never();
    }
  }
  template <class T>
  auto await_transform(AsResult<T>&& as_result) {
    return awaiter_of(std::move(as_result.awaitable), place_);
  }

 protected:
  void rethrow() const {
#if HALYARD_EXCEPTIONS
    if (exception_ != nullptr) std::rethrow_exception(exception_);
#endif
  }

 private:
  template <class>
  friend class async::Task;
  TaskPlace place_;
  std::coroutine_handle<> continuation_{};  // the awaiting coroutine, unless there is an owner
  DetachedTaskOwner* owner_ = nullptr;
  std::exception_ptr exception_;
};

// The type of as_result(Task<T>): Result<T>, but T itself if that is a Result or Status.
template <class T>
struct ResultOf {
  using Type = std::conditional_t<kIsResult<T>, T, Result<T>>;
};
template <>
struct ResultOf<Status> {
  using Type = Status;
};
template <>
struct ResultOf<void> {
  using Type = Status;
};

template <class T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  template <class U = T>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    rethrow();
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const { rethrow(); }
};

}  // namespace detail
}  // namespace halyard::inline v0::async
