// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// as_result: awaits without exceptions.
//
//   co_await x              the result of x; throws halyard::Error
//   co_await as_result(x)   the same as a Result; as a Status if x has no result
//
// x is an operation, a future, a Task, a time, a join(), or one of these with a deadline. The
// result of a Task stays as it is if it is a Result or Status. A halyard::Error that a Task throws
// becomes its Status; other exceptions pass through.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/task_scope.h"
#include "halyard/async/operation.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

template <class T>
struct AsResult {
  // Any coroutine awaits a future.
  auto operator co_await() &&
    requires requires(T&& future) { std::move(future).result_awaiter(); }
  {
    return std::move(awaitable).result_awaiter();
  }
  T awaitable;
};

// A type that only Tasks await: other Tasks, functions of a Nursery, times.
template <class T>
concept TaskAwaitable =
    requires(T&& awaitable, const TaskPlace& place) { std::move(awaitable).awaiter(place); };

// The outermost awaiter of each co_await that may throw. All others return a Result or Status; only
// those that hold an exception of a Task have a function of their own that throws it.
template <class Inner>
struct Throwing {
  bool await_ready() { return inner.await_ready(); }
  template <class Coroutine>
  auto await_suspend(Coroutine coroutine) {
    return inner.await_suspend(coroutine);
  }
  auto await_resume() {
    if constexpr (requires { inner.resume_or_throw(); }) {
      return inner.resume_or_throw();
    } else if constexpr (std::same_as<decltype(inner.await_resume()), Status>) {
      check(inner.await_resume());
    } else {
      return inner.await_resume().value();
    }
  }
  Inner inner;
};

}  // namespace detail

template <class T>
  requires(!std::is_lvalue_reference_v<T> && (DeviceOperation<T> || detail::TaskAwaitable<T>))
detail::AsResult<T> as_result(T&& awaitable) {
  return {std::move(awaitable)};
}
// A shared operation is copied.
template <class Op>
  requires(DeviceOperation<std::decay_t<Op>> && std::copy_constructible<Op>)
detail::AsResult<std::decay_t<Op>> as_result(Op& shared) {
  return {shared};
}

namespace detail {
using async::as_result;  // for argument-dependent lookup
}  // namespace detail

}  // namespace halyard::inline v0::async
