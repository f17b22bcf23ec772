// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Senders: operations for std::execution (P2300; execution.h says which). Not part of
// halyard/async.h.
//
//   auto [y] = stdexec::sync_wait(as_sender(to_host(add(x, x)) | on(runtime)) | then(f)).value();
//
// Completes with set_value(T); with set_error(Status), as as_result() gives, or
// set_error(std::exception_ptr) if a function of the operation throws; with set_stopped() once a
// stop is requested of the receiver's token.
//
// Where: on a thread of the runtime, where what follows must not block; within start(), if there is
// nothing to wait for; or on the thread that requests the stop. So there is no completion scheduler
// to ask for. continues_on(HostScheduler(device)) gives one (host_scheduler.h), or any scheduler of
// the program. start() may be called by any thread, and never waits for a device.
#pragma once

#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/await.h"
#include "halyard/async/execution.h"
#include "halyard/async/future.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// A query of a sender's environment: the queue that its operation runs on. Not forwarded: what
// follows the operation does not run there.
struct get_queue_t {
  template <class Env>
  QueueRef operator()(const Env& env) const noexcept {
    return env.query(*this);
  }
};
inline constexpr get_queue_t get_queue{};

namespace detail {

struct RequestStop {
  void operator()() noexcept { source.request_stop(); }
  std::stop_source& source;
};

// A token of another type than std::stop_token as one of that type.
template <class Token>
class StopBridge {
 public:
  std::stop_token open(const Token& token) {
    if (!token.stop_possible()) return {};
    source_.emplace();
    callback_.emplace(token, RequestStop{*source_});
    return source_->get_token();
  }
  void close() noexcept { callback_.reset(); }

 private:
  using Callback = typename Token::template callback_type<RequestStop>;
  std::optional<std::stop_source> source_;
  std::optional<Callback> callback_;
};
template <>
class StopBridge<std::stop_token> {
 public:
  std::stop_token open(const std::stop_token& token) { return token; }
  void close() noexcept {}
};

template <class Op, class Receiver>
class SenderOperation {
  struct Done {
    template <class T>
    void operator()(Result<T>&& result) const noexcept {
      self->complete(std::move(result));
    }
    SenderOperation* self;
  };

 public:
  using operation_state_concept = execution::operation_state_t;

  SenderOperation(Awaited<Op>&& what, Receiver&& receiver)
      : what_(std::move(what)), receiver_(std::move(receiver)) {}
  SenderOperation(const SenderOperation&) = delete;
  SenderOperation& operator=(const SenderOperation&) = delete;

  void start() & noexcept {
#if HALYARD_EXCEPTIONS
    try {
      submit();
    } catch (...) {
      bridge_.close();
      set_error(std::current_exception());
    }
#else
    submit();
#endif
  }

 private:
  void submit() {
    what_.stop.outer = bridge_.open(stop_token_of(receiver_));
    await_.emplace(std::move(what_), Done{this}).start();
  }

  template <class T>
  void complete(Result<T>&& result) noexcept {
    bridge_.close();
    if (result.ok()) {
      execution::set_value(std::move(receiver_), *std::move(result));
    } else if (result.status().code() == StatusCode::kCancelled &&
               stop_token_of(receiver_).stop_requested()) {
      execution::set_stopped(std::move(receiver_));
    } else {
      set_error(std::move(result).status());
    }
  }
  template <class E>
  void set_error(E error) noexcept {
    execution::set_error(std::move(receiver_), std::move(error));
  }

  Awaited<Op> what_;
  Receiver receiver_;
  StopBridge<decltype(stop_token_of(std::declval<const Receiver&>()))> bridge_;
  std::optional<AwaitThen<Op, Done>> await_;
};

}  // namespace detail

// Move-only; connected once.
template <DeviceOperation Op>
class DeviceSender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures = execution::completion_signatures<
      execution::set_value_t(typename detail::Await<Op>::Value), execution::set_error_t(Status),
      execution::set_error_t(std::exception_ptr), execution::set_stopped_t()>;

  explicit DeviceSender(DeviceFuture<Op>&& future) : future_(std::move(future)) {}

  // The operation state; start() submits. It stays where it is until it has completed.
  template <class Receiver>
  detail::SenderOperation<Op, Receiver> connect(Receiver receiver) && {
    return {std::move(future_).take(), std::move(receiver)};
  }

  struct Env {
    QueueRef query(get_queue_t) const noexcept { return queue; }
    QueueRef queue;
  };
  Env get_env() const noexcept { return {future_.queue()}; }

 private:
  DeviceFuture<Op> future_;
};

template <class Op>
DeviceSender<Op> as_sender(DeviceFuture<Op>&& future) {
  return DeviceSender<Op>(std::move(future));
}

}  // namespace halyard::inline v0::async
