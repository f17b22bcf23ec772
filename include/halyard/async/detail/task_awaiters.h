// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Awaiters of operations and futures in a Task.
#pragma once

#include <concepts>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "halyard/async/as_result.h"
#include "halyard/async/detail/await.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/async/detail/submitter.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/future.h"
#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// StopTokens::check() for a Task there.
HALYARD_EXPORT Status check(const TaskPlace& place);

template <class Op>
class TaskAwaiter : public Await<Op> {
 public:
  TaskAwaiter(Op&& operation, const TaskPlace& by)
      : Await<Op>(placed(std::move(operation), by), by.runner->runtime()), runner_(*by.runner) {}
  TaskAwaiter(DeviceFuture<Op>&& future, const TaskPlace& by)
      : Await<Op>(awaited_by(std::move(future).take(), by)), runner_(*by.runner) {}
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    runner_.wait_for(waiter_, coroutine, this->context(), this->stop());
  }

 private:
  static PlacedOperation<Op> placed(Op&& operation, const TaskPlace& by) {
    const Runtime& runtime = by.runner->runtime();
    QueueRef queue = pick_queue(runtime, runtime.policy(), operation);
    return {std::move(operation), std::move(queue), {}, {by.runner->stop(), {}, by.scope}};
  }
  static PlacedOperation<Op> awaited_by(PlacedOperation<Op>&& what, const TaskPlace& by) {
    what.stop.outer = by.runner->stop();
    what.stop.scope = by.scope;
    return std::move(what);
  }
  TaskRunner& runner_;
  TaskWaiter waiter_;
};

// Awaits an operation that submits nothing: picks no queue and waits for nothing.
template <class Op>
class ValueAwaiter {
 public:
  using Value = typename Delivery<typename Op::Output>::Type;

  ValueAwaiter(Op&& operation, const TaskPlace& by) : operation_(std::move(operation)), by_(by) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  Result<Value> await_resume() {
    if (Status status = check(by_); !status.ok()) return status;
    Submitter context(Submitter::ForNothing{});
    Result<typename Op::Output> output = std::move(operation_).execute(context);
    if (!output.ok()) return std::move(output).status();
    return Delivery<typename Op::Output>::deliver(*std::move(output));
  }

 private:
  Op operation_;
  const TaskPlace by_;
};

// An operation that may know its result already (cell.h).
template <class Op>
concept MayBeFinished = requires(const Op& operation) {
  { operation.finished() } -> std::same_as<const typename Op::Output*>;
};

// Awaits such an operation: copies the result if it is known.
template <class Op>
class SharedAwaiter {
 public:
  using Value = typename Delivery<typename Op::Output>::Type;

  SharedAwaiter(Op&& operation, const TaskPlace& by) {
    Op own(std::move(operation));
    if (!take(own, by)) rest_.emplace(std::move(own), by);
  }
  SharedAwaiter(const Op& operation, const TaskPlace& by) {
    if (!take(operation, by)) rest_.emplace(Op(operation), by);
  }
  bool await_ready() { return value_.has_value() || rest_->await_ready(); }
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    rest_->await_suspend(coroutine);
  }
  Result<Value> await_resume() {
    if (!value_.has_value()) return rest_->await_resume();
    return Delivery<typename Op::Output>::deliver(*std::move(value_));
  }

 private:
  bool take(const Op& operation, const TaskPlace& by) {
    const typename Op::Output* const value = operation.finished();
    if (value == nullptr || !check(by).ok()) return false;
    value_.emplace(*value);
    return true;
  }
  std::optional<typename Op::Output> value_;
  std::optional<TaskAwaiter<Op>> rest_;
};

// Makes the awaiter of an object that a Task awaits, without Throwing.
template <DeviceOperation Op>
auto awaiter_of(Op&& operation, const TaskPlace& place) {
  if constexpr (MayBeFinished<Op>) {
    return SharedAwaiter<Op>(std::move(operation), place);
  } else if constexpr (SubmitsNothing<Op>) {
    return ValueAwaiter<Op>(std::move(operation), place);
  } else {
    return TaskAwaiter<Op>(std::move(operation), place);
  }
}
template <class Op>
  requires(DeviceOperation<std::decay_t<Op>> && std::copy_constructible<Op>)
auto awaiter_of(Op& shared, const TaskPlace& place) {
  using Own = std::decay_t<Op>;
  if constexpr (MayBeFinished<Own>) {
    return SharedAwaiter<Own>(std::as_const(shared), place);
  } else {
    return awaiter_of(Own(shared), place);
  }
}
template <class Op>
auto awaiter_of(DeviceFuture<Op>&& future, const TaskPlace& place) {
  return TaskAwaiter<Op>(std::move(future), place);
}
template <TaskAwaitable T>
  requires(!std::is_lvalue_reference_v<T>)  // a Task is awaited once
auto awaiter_of(T&& awaitable, const TaskPlace& place) {
  return std::move(awaitable).awaiter(place);
}

}  // namespace halyard::inline v0::async::detail
