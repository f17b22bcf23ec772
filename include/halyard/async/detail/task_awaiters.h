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

template <class Op, Errors kErrors>
class TaskAwaiter : public Await<Op, kErrors> {
 public:
  TaskAwaiter(Op&& operation, TaskRunner& runner)
      : Await<Op, kErrors>(place(std::move(operation), runner), runner.runtime()),
        runner_(runner) {}
  TaskAwaiter(DeviceFuture<Op>&& future, TaskRunner& runner)
      : Await<Op, kErrors>(awaited_by(std::move(future).take(), runner)), runner_(runner) {}
  void await_suspend(std::coroutine_handle<> coroutine) noexcept {
    runner_.wait_for(waiter_, coroutine, this->context(), this->stop());
  }

 private:
  static PlacedOperation<Op> place(Op&& operation, const TaskRunner& runner) {
    const Runtime& runtime = runner.runtime();
    QueueRef queue = pick_queue(runtime, runtime.policy(), operation);
    return {std::move(operation), std::move(queue), {}, {runner.stop(), {}}};
  }
  static PlacedOperation<Op> awaited_by(PlacedOperation<Op>&& what, const TaskRunner& runner) {
    what.stop.outer = runner.stop();
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

  ValueAwaiter(Op&& operation, const TaskRunner& runner)
      : operation_(std::move(operation)), runner_(runner) {}
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
    if (runner_.stop().stop_requested()) return stopped();
    Context context(Context::ForNothing{});
    Result<typename Op::Output> output = std::move(operation_).execute(context);
    if (!output.ok()) return std::move(output).status();
    return Delivery<typename Op::Output>::deliver(*std::move(output));
  }
  Op operation_;
  const TaskRunner& runner_;
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

  SharedAwaiter(Op&& operation, TaskRunner& runner) {
    Op own(std::move(operation));
    if (!take(own, runner)) rest_.emplace(std::move(own), runner);
  }
  SharedAwaiter(const Op& operation, TaskRunner& runner) {
    if (!take(operation, runner)) rest_.emplace(Op(operation), runner);
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
  bool take(const Op& operation, const TaskRunner& runner) {
    const typename Op::Output* const value = operation.finished();
    if (value == nullptr || runner.stop().stop_requested()) return false;
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

}  // namespace halyard::inline v0::async::detail
