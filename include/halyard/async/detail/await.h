// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Await: an operation from its submission to its Result, for future.h, task.h, asio.h and sender.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

#include "halyard/async/detail/operation_tree.h"
#include "halyard/async/detail/stop_tokens.h"
#include "halyard/async/detail/submitter.h"
#include "halyard/async/runtime.h"
#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

// Turns an operation's output into the result of the await, once the device is done. An output type
// with work to do then has `Delivered` and deliver(); the elements of a tuple follow one another.
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

// An operation with its queue and its stop tokens.
template <class Op>
struct PlacedOperation {
  Op operation;
  QueueRef queue;
  Runtime runtime{};  // may be empty
  StopTokens stop{};
  Once once{};
};

// Ok, or why the operation must not be submitted.
HALYARD_EXPORT Status may_start(Once& once, const StopTokens& stop, const Submitter& context);

template <class Op>
class Await {
 public:
  using Value = typename Delivery<typename Op::Output>::Type;

  Await(PlacedOperation<Op>&& what)
      : what_(std::move(what)),
        context_(std::move(what_.queue), what_.runtime ? &what_.runtime : nullptr) {}
  // For an empty what.runtime. `runtime` outlives this.
  Await(PlacedOperation<Op>&& what, const Runtime& runtime)
      : what_(std::move(what)), context_(std::move(what_.queue), &runtime) {}
  Await(const Await&) = delete;
  Await& operator=(const Await&) = delete;
  ~Await() { give_up(); }

  // Submits. Returns whether the await is done already.
  bool await_ready() {
    if (Status status = may_start(what_.once, what_.stop, context_); !status.ok()) {
      output_.emplace(std::move(status));
      return true;
    }
    is_awaited_ = true;  // even if a function of the operation throws
    output_.emplace(std::move(what_.operation).execute(context_));
    return !output_->ok() || context_.finished();
  }
  // Blocks until the await is done.
  Result<Value> await_resume() {
    Status status = output_->ok() ? context_.wait(what_.stop) : std::move(*output_).status();
    if (status.ok()) {
      is_awaited_ = false;
      return Delivery<typename Op::Output>::deliver(*std::move(*output_));
    }
    give_up();
    return status;
  }
  // Makes `status` the result, without a wait for the device. Called after await_ready().
  void fail(Status status) { output_.emplace(std::move(status)); }
  Submitter& context() noexcept { return context_; }
  const StopTokens& stop() const noexcept { return what_.stop; }

 private:
  void give_up() noexcept {
    if (std::exchange(is_awaited_, false)) context_.give_up();
  }

  PlacedOperation<Op> what_;
  Submitter context_;
  std::optional<Result<typename Op::Output>> output_;
  bool is_awaited_ = false;  // from the submission to the result
};

// An await without a waiting thread: a callback runs when it has ended or a stop is requested.
template <class Op>
class CallbackAwait : public Await<Op> {
 public:
  using Await<Op>::Await;

  // Called after await_ready() returned false. Returns false if await_resume() can be called now.
  // Otherwise `call(argument)` is called once, on a thread of the runtime or on the thread that
  // requests a stop. That may be before this returns. `call` may destroy this.
  bool suspend(void (*call)(void* argument), void* argument) {
    call_ = call;
    argument_ = argument;
    Result<hal::Registration> registration =
        this->context().on_finish([this](const Status&) { end(); });
    if (!registration.ok()) {
      this->fail(std::move(registration).status());
      return false;
    }
    registration_ = *std::move(registration);
    if (this->stop().own.stop_possible()) on_own_stop_.emplace(this->stop().own, OnStop{this});
    if (this->stop().outer.stop_possible()) {
      on_outer_stop_.emplace(this->stop().outer, OnStop{this});
    }
    State seen = State::kSuspending;
    return state_.compare_exchange_strong(seen, State::kSuspended, std::memory_order_acq_rel);
  }

 private:
  enum class State : std::uint8_t { kSuspending, kSuspended, kEnded };
  struct OnStop {
    void operator()() const { self->end(); }
    CallbackAwait* self;
  };

  // Runs in each callback. The first one ends the await, and calls call_ if suspend() is past its
  // last access. If call_ destroys this, the destructors wait for the other callbacks.
  void end() {
    if (state_.exchange(State::kEnded, std::memory_order_acq_rel) == State::kSuspended) {
      call_(argument_);
    }
  }

  void (*call_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::atomic<State> state_{State::kSuspending};
  hal::Registration registration_;
  std::optional<std::stop_callback<OnStop>> on_own_stop_, on_outer_stop_;
};

// Calls `done(Result<Value>)` at the end: within start(), or where CallbackAwait calls. `done` may
// destroy this. If a function of the operation throws, start() throws the same, and `done` is not
// called.
template <class Op, class Done>
class AwaitThen : private CallbackAwait<Op> {
  using Base = CallbackAwait<Op>;

 public:
  using Value = typename Base::Value;

  AwaitThen(PlacedOperation<Op>&& what, Done done)
      : Base(std::move(what)), done_(std::move(done)) {}

  void start() {
    const auto call = [](void* self) { static_cast<AwaitThen*>(self)->complete(); };
    if (this->await_ready() || !this->suspend(call, this)) complete();
  }

 private:
  void complete() {
    Result<Value> result = this->await_resume();
    Done done = std::move(done_);
    done(std::move(result));
  }
  Done done_;
};

}  // namespace halyard::inline v0::async::detail
