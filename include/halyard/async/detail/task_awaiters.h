// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Awaiters of operations and futures in a Task.
#pragma once

#include <concepts>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "halyard/async/context.h"
#include "halyard/async/detail/await.h"
#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/async/detail/task_runner.h"
#include "halyard/async/future.h"
#include "halyard/async/runtime.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// StopTokens::check() for a Task there.
inline Status check(const TaskPlace& place) {
  if (place.runner->stop().stop_requested()) return stopped();
  return place.scope == nullptr ? Status() : place.scope->check();
}

template <class Op, Errors kErrors>
class TaskAwaiter : public Await<Op, kErrors> {
 public:
  TaskAwaiter(Op&& operation, const TaskPlace& by)
      : Await<Op, kErrors>(placed(std::move(operation), by), by.runner->runtime()),
        runner_(*by.runner) {}
  TaskAwaiter(DeviceFuture<Op>&& future, const TaskPlace& by)
      : Await<Op, kErrors>(awaited_by(std::move(future).take(), by)), runner_(*by.runner) {}
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
template <class Op, Errors kErrors>
class ValueAwaiter {
 public:
  using Value = typename Delivery<typename Op::Output>::Type;

  ValueAwaiter(Op&& operation, const TaskPlace& by) : operation_(std::move(operation)), by_(by) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  std::conditional_t<kErrors == Errors::kThrown, Value, Result<Value>> await_resume() {
    if constexpr (kErrors == Errors::kThrown) {
      return result().value();
    } else {
      return result();
    }
  }

 private:
  Result<Value> result() {
    if (Status status = check(by_); !status.ok()) return status;
    Context context(Context::ForNothing{});
    Result<typename Op::Output> output = std::move(operation_).execute(context);
    if (!output.ok()) return std::move(output).status();
    return Delivery<typename Op::Output>::deliver(*std::move(output));
  }
  Op operation_;
  const TaskPlace by_;
};

// An operation that may know its result already (cell.h).
template <class Op>
concept MayBeFinished = requires(const Op& operation) {
  { operation.finished() } -> std::same_as<const typename Op::Output*>;
};

// Awaits such an operation: copies the result if it is known.
template <class Op, Errors kErrors>
class SharedAwaiter {
 public:
  using Value = typename Delivery<typename Op::Output>::Type;
  using Given = std::conditional_t<kErrors == Errors::kThrown, Value, Result<Value>>;

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
  Given await_resume() {
    if (!value_.has_value()) return rest_->await_resume();
    if constexpr (std::is_same_v<Value, typename Op::Output>) {
      return *std::move(value_);
    } else {
      auto delivered = Delivery<typename Op::Output>::deliver(*std::move(value_));
      if constexpr (kErrors == Errors::kThrown)
        return std::move(delivered).value();
      else
        return delivered;
    }
  }

 private:
  bool take(const Op& operation, const TaskPlace& by) {
    const typename Op::Output* const value = operation.finished();
    if (value == nullptr || !check(by).ok()) return false;
    value_.emplace(*value);
    return true;
  }
  std::optional<typename Op::Output> value_;
  std::optional<TaskAwaiter<Op, kErrors>> rest_;
};

template <class Op, Errors kErrors>
struct AwaiterOf {
  using Type =
      std::conditional_t<SubmitsNothing<Op>, ValueAwaiter<Op, kErrors>, TaskAwaiter<Op, kErrors>>;
};
template <MayBeFinished Op, Errors kErrors>
struct AwaiterOf<Op, kErrors> {
  using Type = SharedAwaiter<Op, kErrors>;
};
template <class Op, Errors kErrors>
using OperationAwaiter = typename AwaiterOf<Op, kErrors>::Type;

// A type that only Tasks await: other Tasks, functions of a Nursery, times.
template <class T>
concept TaskAwaitable =
    requires(T&& awaitable, const TaskPlace& place) { std::move(awaitable).awaiter(place); };

// Makes the awaiter of an operation that a Task awaits.
template <DeviceOperation Op>
auto awaiter_of(Op&& operation, const TaskPlace& place) {
  return OperationAwaiter<Op, Errors::kThrown>(std::move(operation), place);
}
template <class Op>
  requires(DeviceOperation<std::decay_t<Op>> && std::copy_constructible<Op>)
auto awaiter_of(Op& shared, const TaskPlace& place) {
  using Own = std::decay_t<Op>;
  if constexpr (MayBeFinished<Own>) {
    return SharedAwaiter<Own, Errors::kThrown>(std::as_const(shared), place);
  } else {
    return awaiter_of(Own(shared), place);
  }
}
template <class Op>
auto awaiter_of(OperationAsResult<Op>&& as_result, const TaskPlace& place) {
  return OperationAwaiter<Op, Errors::kReturned>(std::move(as_result.operation), place);
}
template <class Op>
auto awaiter_of(DeviceFuture<Op>&& future, const TaskPlace& place) {
  return TaskAwaiter<Op, Errors::kThrown>(std::move(future), place);
}
template <class Op>
auto awaiter_of(FutureAsResult<Op>&& as_result, const TaskPlace& place) {
  return TaskAwaiter<Op, Errors::kReturned>(std::move(as_result.future), place);
}
template <TaskAwaitable T>
  requires(!std::is_lvalue_reference_v<T>)  // it is awaited once
auto awaiter_of(T&& awaitable, const TaskPlace& place) {
  return std::move(awaitable).awaiter(place);
}

}  // namespace halyard::inline v0::async::detail
