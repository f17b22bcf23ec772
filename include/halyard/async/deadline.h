// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times in a Task, on the clock of its runtime (hal::Device::clock):
//
//   co_await after(10ms);                               continues then
//   auto y = co_await with_deadline(to_host(x), 1s);    kDeadlineExceeded then
//
// No thread and no timer of the system: the thread that runs the Tasks waits until the first of
// their times. Only Tasks await these; other coroutines have timers of their own, and stop_with().
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/task_awaiters.h"
#include "halyard/async/detail/task_promise.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/detail/task_scope.h"
#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

class HALYARD_EXPORT TimeAwaiter {
 public:
  TimeAwaiter(Deadline when, const TaskPlace& place);
  TimeAwaiter(const TimeAwaiter&) = delete;
  TimeAwaiter& operator=(const TimeAwaiter&) = delete;

  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    runner_.wait_until(waiter_, coroutine, time_, stop_);
  }
  Status await_resume() const;

 private:
  TaskRunner& runner_;
  const Nanoseconds time_;
  const StopTokens stop_;
  TaskWaiter waiter_;
};

struct After {
  TimeAwaiter awaiter(const TaskPlace& place) && { return {when, place}; }
  Deadline when;
};

}  // namespace detail

// Completes at a time, or after a duration from the await. kCancelled and kDeadlineExceeded as
// other awaits of the Task, kResourceExhausted if there is no memory for the wait.
[[nodiscard("a time does nothing until it is awaited")]] inline detail::After after(
    Deadline when) noexcept {
  return {when};
}

namespace detail {

template <class T>
struct WithDeadline {
  // The scope has ended when the awaiting Task continues.
  template <class Inner>
  struct Awaiter {
    ~Awaiter() { scope->end(); }
    bool await_ready() { return inner.await_ready(); }
    auto await_suspend(std::coroutine_handle<> coroutine) { return inner.await_suspend(coroutine); }
    auto await_resume() { return inner.await_resume(); }
    auto resume_or_throw()
      requires requires(Inner& it) { it.resume_or_throw(); }
    {
      return inner.resume_or_throw();
    }

    Ref<TaskScope> scope;
    Inner inner;
  };
  auto awaiter(const TaskPlace& place) && {
    using Inner = decltype(awaiter_of(std::forward<T>(awaitable), place));
    Clock& clock = place.runner->clock();
    auto scope = Ref<TaskScope>::adopt(
        new TaskScope(Ref<TaskScope>(place.scope), clock, when.resolve(clock)));
    const TaskPlace within{place.runner, scope.get()};
    return Awaiter<Inner>{std::move(scope), awaiter_of(std::forward<T>(awaitable), within)};
  }

  T awaitable;
  Deadline when;
};

}  // namespace detail

// Awaits `awaitable`, all that a Task awaits, but fails with kDeadlineExceeded at `when`; a
// duration counts from the await. The message says what was still waited for. Submitted work goes
// on as after a stop request (future.h). A Task with a deadline runs on: each of its awaits fails
// then, and those of the Tasks that it has spawned, until the with_deadline() itself has ended.
template <class T>
[[nodiscard("does nothing until it is awaited")]] auto with_deadline(T&& awaitable, Deadline when) {
  static_assert(std::is_constructible_v<std::remove_cvref_t<T>, T>,
                "with_deadline: what is awaited is moved: with_deadline(std::move(task), when)");
  return detail::WithDeadline<std::remove_cvref_t<T>>{std::forward<T>(awaitable), when};
}
template <class T>
[[nodiscard("does nothing until it is awaited")]] auto with_deadline(
    detail::AsResult<T>&& as_result, Deadline when) {
  return async::as_result(with_deadline(std::move(as_result.awaitable), when));
}

}  // namespace halyard::inline v0::async
