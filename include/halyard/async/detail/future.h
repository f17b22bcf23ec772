// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Awaiters and adaptors of DeviceFuture.
#pragma once

#include <coroutine>
#include <stop_token>
#include <utility>

#include "halyard/async/detail/await.h"
#include "halyard/async/operation.h"

namespace halyard::inline v0::async {

template <DeviceOperation Op>
class DeviceFuture;

namespace detail {

// Awaits in any coroutine.
template <class Op>
class CallbackAwaiter : public CallbackAwait<Op> {
 public:
  using CallbackAwait<Op>::CallbackAwait;
  bool await_suspend(std::coroutine_handle<> coroutine) {
    return this->suspend(
        [](void* address) { std::coroutine_handle<>::from_address(address).resume(); },
        coroutine.address());
  }
};

// on(place): a QueueRef or a Runtime.
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
template <class Op>
DeviceFuture<Op> operator|(DeviceFuture<Op>&& future, StopWith with) {
  return std::move(future).stop_with(std::move(with.token));
}

template <class>
inline constexpr bool kNever = false;

// The compiler's error for `co_await operation` in a coroutine that is no Task names this type.
struct ThisOperationHasNoDeviceUseOn {};

}  // namespace detail
}  // namespace halyard::inline v0::async
