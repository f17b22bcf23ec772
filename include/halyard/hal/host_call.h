// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostCallMode, and the type erasure that Queue::host_call uses for its callables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "halyard/base/result.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hal {

// The thread that a host call runs on.
enum class HostCallMode : std::uint8_t {
  kShort,     // one of a few threads that all short host calls share
  kMayBlock,  // a thread of its own, started for the call
};

}  // namespace halyard::inline v0::hal

namespace halyard::inline v0::hal::detail {

// The operations of a callable's type that a submission needs to store and run it.
struct CallableType {
  void (*move)(void* to, void* from) noexcept;
  Status (*call)(void* callable);
  void (*destroy)(void* callable) noexcept;
};
inline constexpr std::size_t kInlineCallable = 192;  // bytes; a larger one is allocated

// Runs fn and returns success, the Status that it returns, or the Status of its exception.
template <class Fn>
Status run_callable(Fn& fn) noexcept {
#if HALYARD_EXCEPTIONS
  try {
#endif
    if constexpr (std::is_void_v<std::invoke_result_t<Fn&>>) {
      fn();
      return {};
    } else {
      return fn();
    }
#if HALYARD_EXCEPTIONS
  } catch (const Error& error) {
    return error.status();
  } catch (const std::exception& error) {
    char text[1024];  // longer messages are cut
    std::snprintf(text, sizeof text, "host call threw: %s", error.what());
    return Status(StatusCode::kInternal, text);
  } catch (...) {
    return Status(StatusCode::kInternal, "host call threw something that is no std::exception");
  }
#endif
}

template <class Fn>
inline constexpr CallableType callable_type{
    [](void* to, void* from) noexcept { ::new (to) Fn(std::move(*static_cast<Fn*>(from))); },
    [](void* callable) { return run_callable(*static_cast<Fn*>(callable)); },
    [](void* callable) noexcept { static_cast<Fn*>(callable)->~Fn(); }};

}  // namespace halyard::inline v0::hal::detail
