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
// coroutine may be destroyed, on the
// thread that would resume it or while none does: the work goes on to its end, and its memory is
// given back behind that.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halyard/async/combinators.h"
#include "halyard/async/context.h"
#include "halyard/async/operation.h"
#include "halyard/async/runtime.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

namespace detail {

// What becomes of an output when the device is done. A type that has more to do then says so with
// `Delivered` and deliver(); the parts of a tuple do it one after another.
template <class T>
struct Delivery {
  using Type = T;
  static Result<T> deliver(T&& output) { return std::move(output); }
};
template <class T>
  requires requires { typename T::Delivered; }
struct Delivery<T> {
  using Type = typename T::Delivered;
  static Result<Type> deliver(T&& output) { return std::move(output).deliver(); }
};
template <class... T>
struct Delivery<std::tuple<T...>> {
  using Type = std::tuple<typename Delivery<T>::Type...>;
  static Result<Type> deliver(std::tuple<T...>&& output) { return rest(std::move(output)); }

 private:
  template <class... Done>
  static Result<Type> rest(std::tuple<T...>&& output, Done&&... done) {
    constexpr std::size_t kNext = sizeof...(Done);
    if constexpr (kNext == sizeof...(T)) {
      return Type(std::move(done)...);
    } else {
      using Part = std::tuple_element_t<kNext, std::tuple<T...>>;
      auto part = Delivery<Part>::deliver(std::get<kNext>(std::move(output)));
      if (!part.ok()) return std::move(part).status();
      return rest(std::move(output), std::move(done)..., *std::move(part));
    }
  }
};

enum class Errors : bool { kThrown, kReturned };

template <class Op, Errors kErrors = Errors::kThrown>
class Await;
template <class Op, Errors kErrors>
class CallbackAwaiter;

}  // namespace detail

template <DeviceOperation Op>
class [[nodiscard("a future does nothing until it is awaited")]] DeviceFuture {
 public:
  using Output = typename Op::Output;

  DeviceFuture(Op&& operation, QueueRef queue)
      : operation_(std::move(operation)), queue_(std::move(queue)) {}
  DeviceFuture(Op&& operation, const Runtime& runtime)
      : operation_(std::move(operation)),
        queue_(detail::pick_queue(runtime, runtime.policy(), operation_)),
        runtime_(runtime) {}

  Result<Output> execute(Context& whole) && {
    Context part(whole, queue_);
    return std::move(operation_).execute(part);
  }

  detail::CallbackAwaiter<Op, detail::Errors::kThrown> operator co_await() && {
    return {std::move(*this)};
  }

  // A token that it has already counts.
  DeviceFuture stop_with(std::stop_token stop) && {
    if (!stop_.stop_possible()) stop_ = std::move(stop);
    return std::move(*this);
  }

 private:
  template <class, detail::Errors>
  friend class detail::Await;
  Op operation_;
  QueueRef queue_;
  Runtime runtime_;  // may be empty
  std::stop_token stop_;
};

namespace detail {

// An operation from its submission to its end: the part of awaiting that is common to all.
template <class Op, Errors kErrors>
class Await {
 public:
  using Value = typename Delivery<typename Op::Output>::Type;

  Await(DeviceFuture<Op>&& future)
      : operation_(std::move(future.operation_)),
        runtime_(std::move(future.runtime_)),
        context_(future.queue_, runtime_ ? &runtime_ : nullptr),
        stop_(std::move(future.stop_)) {}
  Await(const Await&) = delete;
  Await& operator=(const Await&) = delete;

  // Submits. Whether there is nothing to wait for.
  bool await_ready() {
    if (stop_.stop_requested()) {
      output_.emplace(Status(StatusCode::kCancelled, "a stop was requested"));
      return true;
    }
    output_.emplace(std::move(operation_).execute(context_));
    return !output_->ok() || context_.finished();
  }
  std::conditional_t<kErrors == Errors::kThrown, Value, Result<Value>> await_resume() {
    if constexpr (kErrors == Errors::kThrown) {
      return result().value();
    } else {
      return result();
    }
  }
  Context& context() noexcept { return context_; }
  const std::stop_token& stop() const noexcept { return stop_; }

 private:
  Result<Value> result() {
    if (!output_->ok()) return std::move(*output_).status();
    if (Status status = context_.wait(stop_); !status.ok()) return status;
    return Delivery<typename Op::Output>::deliver(*std::move(*output_));
  }

  Op operation_;
  Runtime runtime_;
  Context context_;
  std::stop_token stop_;
  std::optional<Result<typename Op::Output>> output_;
};

// In a coroutine that Halyard knows nothing of.
template <class Op, Errors kErrors>
class CallbackAwaiter : public Await<Op, kErrors> {
 public:
  using Await<Op, kErrors>::Await;

  // Either callback may come before this returns, on any thread.
  bool await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    Result<hal::Registration> registration =
        this->context().on_finish([this](const Status&) { end(); });
    if (!registration.ok()) return false;  // await_resume() waits
    registration_ = *std::move(registration);
    if (this->stop().stop_possible()) on_stop_.emplace(this->stop(), OnStop{this});
    State seen = State::kSuspending;
    return state_.compare_exchange_strong(seen, State::kSuspended, std::memory_order_acq_rel);
  }

 private:
  enum class State : std::uint8_t { kSuspending, kSuspended, kEnded };
  struct OnStop {
    void operator()() const { self->end(); }
    CallbackAwaiter* self;
  };

  // Of the two callbacks the first counts. It resumes the coroutine if that has left
  // await_suspend(); what the coroutine destroys then waits for the other.
  void end() {
    if (state_.exchange(State::kEnded, std::memory_order_acq_rel) == State::kSuspended) {
      coroutine_.resume();
    }
  }

  std::coroutine_handle<> coroutine_;
  std::atomic<State> state_{State::kSuspending};
  hal::Registration registration_;
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

template <class Op>
struct AsResult {
  DeviceFuture<Op> future;
  CallbackAwaiter<Op, Errors::kReturned> operator co_await() && { return {std::move(future)}; }
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

}  // namespace detail

inline detail::On<QueueRef> on(QueueRef queue) noexcept { return {std::move(queue)}; }
inline detail::On<Runtime> on(Runtime runtime) noexcept { return {std::move(runtime)}; }

inline detail::StopWith stop_with(std::stop_token token) noexcept { return {std::move(token)}; }
template <class Op>
DeviceFuture<Op> operator|(DeviceFuture<Op>&& future, detail::StopWith with) {
  return std::move(future).stop_with(std::move(with.token));
}

template <class Op>
detail::AsResult<Op> as_result(DeviceFuture<Op>&& future) {
  return {std::move(future)};
}
template <DeviceOperation Op>
detail::AsResultOf<Op> as_result(Op&& operation) {
  return {std::move(operation)};
}

template <DeviceOperation Op>
void operator co_await(Op&&) {
  static_assert(
      detail::kNever<Op>,
      "this coroutine has no device for the operation: co_await (operation | on(device))");
}

// Blocks until it is done; the calling thread may run work of a cpu device meanwhile.
template <class Op>
auto sync_wait(DeviceFuture<Op>&& future) {
  detail::Await<Op> await(std::move(future));
  (void)await.await_ready();
  return await.await_resume();
}
template <class Op>
auto sync_wait(detail::AsResult<Op>&& as_result) {
  detail::Await<Op, detail::Errors::kReturned> await(std::move(as_result.future));
  (void)await.await_ready();
  return await.await_resume();
}
template <DeviceOperation Op>
auto sync_wait(Op&& operation, const Runtime& runtime, std::stop_token stop = {}) {
  return sync_wait(std::move(operation) | on(runtime) | stop_with(std::move(stop)));
}
template <class Op>
auto sync_wait(detail::AsResultOf<Op>&& as_result, const Runtime& runtime,
               std::stop_token stop = {}) {
  return sync_wait(
      async::as_result(std::move(as_result.operation) | on(runtime) | stop_with(std::move(stop))));
}

}  // namespace halyard::inline v0::async
