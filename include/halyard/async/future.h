// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeviceFuture: an operation and its queue, which any coroutine can await.
//
//   co_await (operation | on(device))   its result; throws halyard::Error
//   co_await (operation | on(runtime))  the same; the runtime's policy picks the queue
//   co_await as_result(...)             the same as a Result (as_result.h)
//   sync_wait(operation, runtime)       without a coroutine: blocks
//
// Awaiting submits the operation on the awaiting thread. In an operation, a future is a part on its
// own queue; only the data orders it with the rest. One thread at a time.
//
// A Task continues on its own thread (task.h). Any other coroutine continues on
//
//   the awaiting thread         if the work is done already
//   the thread requesting stop  if that ends the await
//   a thread of the runtime     otherwise; it must not block there
//
// A request on the token of `future | stop_with(token)` ends the await at once with kCancelled.
// Submitted work then runs to its end, and its memory is freed; but an allocation that waits for
// memory which others hold fails, and the rest of its tree with it (Context::give_up).
//
// An awaiting coroutine may be destroyed on the thread that would resume it, or while no thread
// resumes it. Then the same holds.
#pragma once

#include <concepts>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/as_result.h"
#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/await.h"
#include "halyard/async/detail/future.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/operation.h"
#include "halyard/async/policy.h"
#include "halyard/async/runtime.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

template <DeviceOperation Op>
class [[nodiscard("a future does nothing until it is awaited")]] DeviceFuture {
 public:
  using Output = typename Op::Output;

  DeviceFuture(Op&& operation, QueueRef queue) : what_{std::move(operation), std::move(queue)} {}
  // The runtime's policy, or `policy`, picks the queue now, not when this is awaited.
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

  detail::Throwing<detail::CallbackAwaiter<Op>> operator co_await() && {
    return {std::move(*this).result_awaiter()};
  }

  // Stops the await with `stop`, unless an earlier call has set a token. The token of the awaiting
  // Task, Asio slot or receiver stops it too. Within another operation the token is only checked
  // once, when this is submitted.
  DeviceFuture stop_with(std::stop_token stop) && {
    if (!what_.stop.own.stop_possible()) what_.stop.own = std::move(stop);
    return std::move(*this);
  }

  const QueueRef& queue() const noexcept { return what_.queue; }

  // The awaiter of as_result().
  detail::CallbackAwaiter<Op> result_awaiter() && { return std::move(what_); }
  // Used by adapters to other libraries.
  detail::PlacedOperation<Op> take() && { return std::move(what_); }

 private:
  detail::PlacedOperation<Op> what_;
};

inline detail::On<QueueRef> on(QueueRef queue) noexcept { return {std::move(queue)}; }
inline detail::On<Runtime> on(Runtime runtime) noexcept { return {std::move(runtime)}; }

inline detail::StopWith stop_with(std::stop_token token) noexcept { return {std::move(token)}; }

// Returns no awaiter, so an operation without a device cannot be awaited outside of a Task.
template <DeviceOperation Op>
detail::ThisOperationHasNoDeviceUseOn operator co_await(Op&&) {
  return {};
}

// Blocks until the operation has ended; the calling thread may run work of a cpu device meanwhile.
template <class Op>
auto sync_wait(detail::AsResult<DeviceFuture<Op>>&& as_result) {
  detail::Await<Op> await(std::move(as_result.awaitable).take());
  (void)await.await_ready();
  return await.await_resume();
}
template <class Op>
auto sync_wait(DeviceFuture<Op>&& future) {
  return sync_wait(as_result(std::move(future))).value();
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
template <DeviceOperation Op>
auto sync_wait(detail::AsResult<Op>&& as_result, const Runtime& runtime,
               std::stop_token stop = {}) {
  return sync_wait(
      async::as_result(std::move(as_result.awaitable) | on(runtime) | stop_with(std::move(stop))));
}

}  // namespace halyard::inline v0::async
