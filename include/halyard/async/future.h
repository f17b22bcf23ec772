// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceFuture: an operation and the queue that it is to run on: what can be awaited.
//
//   co_await (operation | on(device))   in any coroutine; the value, or halyard::Error is thrown
//   co_await (operation | on(runtime))  the same; the queue is the runtime's policy's choice
//   co_await as_result(...)             the same as a Result
//   sync_wait(operation, runtime)       without a coroutine: blocks
//
// co_await (operation | on(device) | stop_with(token)) ends at once when a stop is requested, with
// kCancelled: before it is submitted, or after, and then the work goes on to its end.
//
// It is an operation too: in a tree it is a part that runs on its own queue, ordered with the rest
// by the data alone.
//
// Awaiting submits the operation, on the awaiting thread; what is done already is not waited for.
// A coroutine that is no Task (task.h) goes on on a thread of the runtime, where it must not block,
// or on its own if there was nothing to wait for, or on the one that requests a stop. An awaiting
// coroutine may be destroyed, on the thread that would resume it or while none does: the work goes
// on to its end, and its memory is given back behind that. One thread at a time.
#pragma once

#include <concepts>
#include <coroutine>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/await.h"
#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/runtime.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

// In a coroutine that Halyard knows nothing of.
template <class Op, Errors kErrors>
class CallbackAwaiter : public CallbackAwait<Op, kErrors> {
 public:
  using CallbackAwait<Op, kErrors>::CallbackAwait;
  bool await_suspend(std::coroutine_handle<> coroutine) {
    return this->suspend(
        [](void* address) { std::coroutine_handle<>::from_address(address).resume(); },
        coroutine.address());
  }
};

}  // namespace detail

template <DeviceOperation Op>
class [[nodiscard("a future does nothing until it is awaited")]] DeviceFuture {
 public:
  using Output = typename Op::Output;

  DeviceFuture(Op&& operation, QueueRef queue) : what_{std::move(operation), std::move(queue)} {}
  // Where the runtime's policy, or this one, says now, not when it is awaited.
  DeviceFuture(Op&& operation, const Runtime& runtime)
      : DeviceFuture(std::move(operation), runtime, runtime.policy()) {}
  DeviceFuture(Op&& operation, const Runtime& runtime, const Policy& policy)
      : what_{std::move(operation), {}, runtime} {
    what_.queue = detail::pick_queue(runtime, policy, what_.operation);
  }

  Result<Output> execute(Context& whole) && {
    if (!what_.once.take()) return detail::runs_once();
    if (what_.stop.stop_requested()) return detail::stopped();
    return detail::execute_part(whole, std::move(what_.queue), std::move(what_.operation));
  }

  detail::CallbackAwaiter<Op, detail::Errors::kThrown> operator co_await() && {
    return std::move(what_);
  }

  // A token that it has already counts. Who awaits it may stop the await too (a Task's token, an
  // Asio slot, a receiver's). As a part of another operation it looks at its token once, when it is
  // submitted; the await is then the whole's.
  DeviceFuture stop_with(std::stop_token stop) && {
    if (!what_.stop.own.stop_possible()) what_.stop.own = std::move(stop);
    return std::move(*this);
  }

  const QueueRef& queue() const noexcept { return what_.queue; }

  // For adapters.
  detail::Awaited<Op> take() && { return std::move(what_); }

 private:
  detail::Awaited<Op> what_;
};

namespace detail {

template <class Op>
struct AsResult {
  DeviceFuture<Op> future;
  CallbackAwaiter<Op, Errors::kReturned> operator co_await() && { return std::move(future).take(); }
};
// The same where the device is still to be said.
template <class Op>
struct AsResultOf {
  Op operation;
};

template <class Place>
struct On {
  using IsCombinator = void;
  template <DeviceOperation Op>
  DeviceFuture<Op> operator()(Op&& operation) && {
    return {std::move(operation), std::move(place)};
  }
  Place place;
};

struct StopWith {
  std::stop_token token;
};

template <class>
inline constexpr bool kNever = false;

// What the compiler names where an operation is awaited in a coroutine that is no Task:
// co_await (operation | on(device)).
struct ThisOperationHasNoDeviceUseOn {};

}  // namespace detail

inline detail::On<QueueRef> on(QueueRef queue) noexcept { return {std::move(queue)}; }
inline detail::On<Runtime> on(Runtime runtime) noexcept { return {std::move(runtime)}; }

inline detail::StopWith stop_with(std::stop_token token) noexcept { return {std::move(token)}; }
namespace detail {
template <class Op>
DeviceFuture<Op> operator|(DeviceFuture<Op>&& future, detail::StopWith with) {
  return std::move(future).stop_with(std::move(with.token));
}
}  // namespace detail

template <class Op>
detail::AsResult<Op> as_result(DeviceFuture<Op>&& future) {
  return {std::move(future)};
}
template <DeviceOperation Op>
detail::AsResultOf<Op> as_result(Op&& operation) {
  return {std::move(operation)};
}
// Of one that others have, too.
template <class Op>
  requires(DeviceOperation<std::decay_t<Op>> && std::copy_constructible<Op>)
auto as_result(Op& shared) {
  return async::as_result(std::decay_t<Op>(shared));
}

// No awaiter, so that whoever asks whether an operation can be awaited is told that it cannot.
template <DeviceOperation Op>
detail::ThisOperationHasNoDeviceUseOn operator co_await(Op&&) {
  return {};
}

// Blocks until it is done; the calling thread may run work of a cpu device meanwhile.
template <class Op>
auto sync_wait(DeviceFuture<Op>&& future) {
  detail::Await<Op> await(std::move(future).take());
  (void)await.await_ready();
  return await.await_resume();
}
template <class Op>
auto sync_wait(detail::AsResult<Op>&& as_result) {
  detail::Await<Op, detail::Errors::kReturned> await(std::move(as_result.future).take());
  (void)await.await_ready();
  return await.await_resume();
}
template <DeviceOperation Op>
auto sync_wait(Op&& operation, const Runtime& runtime, std::stop_token stop = {}) {
  return sync_wait(std::move(operation) | on(runtime) | stop_with(std::move(stop)));
}
template <class Op>
  requires(DeviceOperation<std::decay_t<Op>> && std::copy_constructible<Op>)
auto sync_wait(Op& shared, const Runtime& runtime, std::stop_token stop = {}) {
  return sync_wait(std::decay_t<Op>(shared), runtime, std::move(stop));
}
template <class Op>
auto sync_wait(detail::AsResultOf<Op>&& as_result, const Runtime& runtime,
               std::stop_token stop = {}) {
  return sync_wait(
      async::as_result(std::move(as_result.operation) | on(runtime) | stop_with(std::move(stop))));
}

}  // namespace halyard::inline v0::async
