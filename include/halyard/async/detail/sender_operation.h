// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SenderOperation: the operation state of DeviceSender.
#pragma once

#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "halyard/async/detail/await.h"
#include "halyard/async/execution.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

struct RequestStop {
  void operator()() noexcept { source.request_stop(); }
  std::stop_source& source;
};

// Forwards requests of any stop token type to a std::stop_token.
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

  SenderOperation(PlacedOperation<Op>&& what, Receiver&& receiver)
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

  PlacedOperation<Op> what_;
  Receiver receiver_;
  StopBridge<decltype(stop_token_of(std::declval<const Receiver&>()))> bridge_;
  std::optional<AwaitThen<Op, Done>> await_;
};

}  // namespace halyard::inline v0::async::detail
