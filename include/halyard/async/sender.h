// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Senders: operations for std::execution (P2300). Not part of halyard/async.h. With stdexec, where
// <stdexec/execution.hpp> is found, or without: then a receiver has the members set_value,
// set_error and set_stopped, and perhaps get_env().
//
//   auto [y] = stdexec::sync_wait(as_sender(to_host(add(x, x)) | on(runtime)) | then(f)).value();
//
// Completes with set_value(T); with set_error(Status), as as_result() gives, or
// set_error(std::exception_ptr) if a function of the operation throws; with set_stopped() once a
// stop is requested of the receiver's token: on a thread of the runtime, the one that requests the
// stop, or within start().
#pragma once

#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define HALYARD_HAS_STDEXEC 1
#endif

#include "halyard/async/await.h"
#include "halyard/async/future.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async {

// The query for a stop token of a receiver's environment where there is no stdexec:
// receiver.get_env().query(get_stop_token_t()).
struct get_stop_token_t {};

namespace detail {

template <class Receiver>
auto stop_token_of(const Receiver& receiver) {
#if defined(HALYARD_HAS_STDEXEC)
  return stdexec::get_stop_token(stdexec::get_env(receiver));
#else
  if constexpr (requires { receiver.get_env().query(get_stop_token_t()); }) {
    return receiver.get_env().query(get_stop_token_t());
  } else {
    return std::stop_token();
  }
#endif
}

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
    std::stop_token stop = bridge_.open(stop_token_of(receiver_));
    if (!what_.stop.stop_possible()) what_.stop = std::move(stop);
    await_.emplace(std::move(what_), Done{this}).start();
  }

  template <class T>
  void complete(Result<T>&& result) noexcept {
    bridge_.close();
    if (result.ok()) {
#if defined(HALYARD_HAS_STDEXEC)
      stdexec::set_value(std::move(receiver_), *std::move(result));
#else
      std::move(receiver_).set_value(*std::move(result));
#endif
    } else if (result.status().code() == StatusCode::kCancelled &&
               stop_token_of(receiver_).stop_requested()) {
#if defined(HALYARD_HAS_STDEXEC)
      stdexec::set_stopped(std::move(receiver_));
#else
      std::move(receiver_).set_stopped();
#endif
    } else {
      set_error(std::move(result).status());
    }
  }
  template <class E>
  void set_error(E error) noexcept {
#if defined(HALYARD_HAS_STDEXEC)
    stdexec::set_error(std::move(receiver_), std::move(error));
#else
    std::move(receiver_).set_error(std::move(error));
#endif
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
#if defined(HALYARD_HAS_STDEXEC)
  using sender_concept = stdexec::sender_t;
  using completion_signatures = stdexec::completion_signatures<
      stdexec::set_value_t(typename detail::Await<Op>::Value), stdexec::set_error_t(Status),
      stdexec::set_error_t(std::exception_ptr), stdexec::set_stopped_t()>;
#endif

  explicit DeviceSender(DeviceFuture<Op>&& future) : future_(std::move(future)) {}

  // The operation state; start() submits. It stays where it is until it has completed.
  template <class Receiver>
  detail::SenderOperation<Op, Receiver> connect(Receiver receiver) && {
    return {std::move(future_).take(), std::move(receiver)};
  }

 private:
  DeviceFuture<Op> future_;
};

template <class Op>
DeviceSender<Op> as_sender(DeviceFuture<Op>&& future) {
  return DeviceSender<Op>(std::move(future));
}

}  // namespace halyard::inline v0::async
