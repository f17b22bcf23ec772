// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// namespace halyard::async::execution: the names of std::execution (P2300) for sender.h and
// host_scheduler.h. An alias of stdexec if <stdexec/execution.hpp> is found.
//
// Otherwise the definitions below: a receiver has the members set_value, set_error and set_stopped.
// It may have get_env() with a stop token. An environment answers queries by a member query().
#pragma once

#include <stop_token>
#include <utility>

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define HALYARD_HAS_STDEXEC 1
#endif

namespace halyard::inline v0::async {

#if defined(HALYARD_HAS_STDEXEC)
namespace execution = stdexec;
#else
namespace execution {

struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
struct scheduler_t {};

struct set_value_t {
  template <class Receiver, class... Values>
  void operator()(Receiver&& receiver, Values&&... values) const noexcept {
    std::forward<Receiver>(receiver).set_value(std::forward<Values>(values)...);
  }
};
struct set_error_t {
  template <class Receiver, class E>
  void operator()(Receiver&& receiver, E&& error) const noexcept {
    std::forward<Receiver>(receiver).set_error(std::forward<E>(error));
  }
};
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    std::forward<Receiver>(receiver).set_stopped();
  }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class... Signatures>
struct completion_signatures {};

enum class forward_progress_guarantee { concurrent, parallel, weakly_parallel };
struct forwarding_query_t {};
struct get_stop_token_t {};
struct get_forward_progress_guarantee_t {};
template <class Tag>
struct get_completion_scheduler_t {};

}  // namespace execution
#endif

namespace detail {

template <class Receiver>
auto stop_token_of(const Receiver& receiver) {
#if defined(HALYARD_HAS_STDEXEC)
  return stdexec::get_stop_token(stdexec::get_env(receiver));
#else
  if constexpr (requires { receiver.get_env().query(execution::get_stop_token_t()); }) {
    return receiver.get_env().query(execution::get_stop_token_t());
  } else {
    return std::stop_token();
  }
#endif
}

}  // namespace detail

}  // namespace halyard::inline v0::async
