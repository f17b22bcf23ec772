// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Task: a coroutine that awaits operations, futures and other Tasks.
//
//   Task<float> norm(Shared<Tensor<float>> x) {
//     auto y = co_await mul(x, x);                        // on the device of who runs the Task
//     auto z = co_await as_result(relu(std::move(y)));    // Result<Tensor<float>>
//     auto w = co_await as_result(other(x));              // what a Task<int> gives: Result<int>
//     ...
//   }
//   sync_wait(norm(x), runtime);
//
// A Task is lazy: it starts when it is awaited. It runs on the thread that called sync_wait, which
// waits for the devices in its stead, and on no other: it may block, and needs no lock. Its
// operations go where the policy of the Runtime that runs it says, unless on() says otherwise.
// Awaiting a Task does not grow the stack; what it throws reaches its awaiter. Frames
// are kept for later ones of their size. Parameters live in the frame: take tensors by value.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/frame_pool.h"
#include "halyard/async/future.h"
#include "halyard/async/task_runner.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

template <class T = void>
class Task;
class Nursery;

namespace detail {

template <class T>
struct AsResultOfTask;

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
  static Awaited<Op> place(Op&& operation, const TaskRunner& runner) {
    const Runtime& runtime = runner.runtime();
    QueueRef queue = pick_queue(runtime, runtime.policy(), operation);
    return {std::move(operation), std::move(queue), {}, {runner.stop(), {}}};
  }
  static Awaited<Op> awaited_by(Awaited<Op>&& what, const TaskRunner& runner) {
    what.stop.outer = runner.stop();
    return std::move(what);
  }
  TaskRunner& runner_;
  TaskWaiter waiter_;
};

// Of an operation that submits nothing: no queue is picked, and nothing is waited for.
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

// Of an operation whose value may be there (cell.h).
template <class Op>
concept MayHaveRun = requires(const Op& operation) {
  { operation.finished() } -> std::same_as<const typename Op::Output*>;
};

// Where the value is there, it is copied, and that is all.
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
template <MayHaveRun Op, Errors kErrors>
struct AwaiterOf<Op, kErrors> {
  using Type = SharedAwaiter<Op, kErrors>;
};
template <class Op, Errors kErrors>
using OperationAwaiter = typename AwaiterOf<Op, kErrors>::Type;

// Who is told when a Task that nobody awaits has ended. Destroys it.
class Spawned {
 public:
  virtual void ended(std::exception_ptr exception) noexcept = 0;

 protected:
  ~Spawned() = default;
};

// What else only a Task awaits.
template <class T>
concept AwaitedInTask =
    requires(T&& awaited, TaskRunner& runner) { std::move(awaited).awaiter(runner); };

class TaskPromiseBase {
 public:
  static void* operator new(std::size_t size) { return new_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  void spawn(Spawned& spawned) noexcept { spawned_ = &spawned; }

  auto final_suspend() noexcept {
    struct Ended {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {
        if (promise.spawned_ != nullptr) {
          promise.spawned_->ended(std::move(promise.exception_));  // destroys the frame
        } else {
          promise.runner_->start(promise.continuation_);
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

  template <DeviceOperation Op>
  auto await_transform(Op&& operation) {
    return OperationAwaiter<Op, Errors::kThrown>(std::move(operation), *runner_);
  }
  template <class Op>
    requires(DeviceOperation<std::decay_t<Op>> && std::copy_constructible<Op>)
  auto await_transform(Op& shared) {
    using Own = std::decay_t<Op>;
    if constexpr (MayHaveRun<Own>) {
      return SharedAwaiter<Own, Errors::kThrown>(std::as_const(shared), *runner_);
    } else {
      return await_transform(Own(shared));
    }
  }
  template <class Op>
  auto await_transform(AsResultOf<Op>&& as_result) {
    return OperationAwaiter<Op, Errors::kReturned>(std::move(as_result.operation), *runner_);
  }
  template <class Op>
  auto await_transform(DeviceFuture<Op>&& future) {
    return TaskAwaiter<Op, Errors::kThrown>(std::move(future), *runner_);
  }
  template <class Op>
  auto await_transform(AsResult<Op>&& as_result) {
    return TaskAwaiter<Op, Errors::kReturned>(std::move(as_result.future), *runner_);
  }
  template <AwaitedInTask T>
  auto await_transform(T&& awaited) {
    return std::move(awaited).awaiter(*runner_);
  }
  template <class T>
  std::suspend_never await_transform(T&&) {
    static_assert(kNever<T>,
                  "a Task awaits operations, futures and Tasks, each once: co_await std::move(x)");
    return {};
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
  template <class>
  friend struct AsResultOfTask;
  TaskRunner* runner_ = nullptr;
  std::coroutine_handle<> continuation_{};  // who awaits it
  Spawned* spawned_ = nullptr;              // or whose it is
  std::exception_ptr exception_;
};

// A T, or why there is none. What is a Result says so itself.
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

// Move-only. Awaiting one that was moved from or awaited before is kFailedPrecondition.
template <class T>
class [[nodiscard("a Task does nothing until it is awaited")]] Task {
  static_assert(!std::is_reference_v<T>, "a Task gives a value");

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

  // For sync_wait.
  T run(const Runtime& runtime, std::stop_token stop) && {
    detail::TaskRunner runner(runtime, std::move(stop));
    check(end_in(runner));
    return coroutine_.promise().take();
  }
  // The same.
  typename detail::ResultOf<T>::Type run_to_result(const Runtime& runtime,
                                                   std::stop_token stop) && {
    detail::TaskRunner runner(runtime, std::move(stop));
    if (Status status = end_in(runner); !status.ok()) return status;
    return take_result();
  }

  // For co_await in a Task.
  auto awaiter(detail::TaskRunner& runner) && {
    struct Awaiter {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> continuation) const noexcept {
        task.coroutine_.promise().continuation_ = continuation;
        task.coroutine_.promise().runner_->start(task.coroutine_);
      }
      T await_resume() const { return task.coroutine_.promise().take(); }
      Task task;
    };
    (void)prepare(runner);
    return Awaiter{std::move(*this)};
  }

 private:
  friend class detail::TaskPromiseBase;
  friend promise_type;
  friend class async::Nursery;
  friend detail::AsResultOfTask<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle coroutine) noexcept : coroutine_(coroutine) {}

  static Status awaited_once() {
    return Status(StatusCode::kFailedPrecondition, "a Task is awaited once");
  }
  // For who awaits it; it runs on what `runner` is.
  detail::TaskPromise<T>& prepare(detail::TaskRunner& runner) const {
    if (!coroutine_) check(awaited_once());
    coroutine_.promise().runner_ = &runner;
    return coroutine_.promise();
  }
  // Ok: it has ended.
  Status end_in(detail::TaskRunner& runner) const {
    if (!coroutine_) return awaited_once();
    (void)prepare(runner);
    runner.start(coroutine_);
    runner.run();
    if (coroutine_.done()) return {};
    return Status(StatusCode::kFailedPrecondition, "a Task waits for what nobody ends");
  }
  // Of one that has ended.
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

template <class T>
struct AsResultOfTask {
  auto awaiter(TaskRunner& runner) && {
    struct Awaiter {
      bool await_ready() const noexcept { return !task.coroutine_; }
      void await_suspend(std::coroutine_handle<> continuation) const {
        task.prepare(runner).continuation_ = continuation;
        runner.start(task.coroutine_);
      }
      typename ResultOf<T>::Type await_resume() const {
        if (!task.coroutine_) return task.awaited_once();
        return task.take_result();
      }
      Task<T> task;
      TaskRunner& runner;
    };
    return Awaiter{std::move(task), runner};
  }
  Task<T> task;
};
}  // namespace detail

// What the Task gives as a Result; of a Task<> a Status. Of what it throws this is only the Status
// of a halyard::Error; another exception is thrown still. What is a Result already is given as it
// is.
template <class T>
detail::AsResultOfTask<T> as_result(Task<T>&& task) {
  return {std::move(task)};
}

// Runs it to its end on this thread, which runs work of a cpu device while it waits for it.
// Once a stop is requested, what it awaits is kCancelled, at once. kFailedPrecondition: nothing
// will make it go on (its Nursery is joined by one of its own tasks).
template <class T>
T sync_wait(Task<T>&& task, const Runtime& runtime, std::stop_token stop = {}) {
  return std::move(task).run(runtime, std::move(stop));
}
template <class T>
auto sync_wait(detail::AsResultOfTask<T>&& as_result, const Runtime& runtime,
               std::stop_token stop = {}) {
  return std::move(as_result.task).run_to_result(runtime, std::move(stop));
}

}  // namespace halyard::inline v0::async
