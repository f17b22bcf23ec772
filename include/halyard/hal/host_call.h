// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostCallMode; and how Queue::host_call takes a callable of any type to the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "halyard/base/result.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::hal {

// What a host call may do to the thread that it runs on.
enum class HostCallMode : std::uint8_t {
  kShort,     // shares a few threads with the others
  kMayBlock,  // has a thread of its own, started for it
};

}  // namespace halyard::inline v0::hal

namespace halyard::inline v0::hal::detail {

// What is needed of a callable's type, to move it into the submission.
struct CallableType {
  void (*move)(void* to, void* from) noexcept;
  Status (*call)(void* callable);
  void (*destroy)(void* callable) noexcept;
};
inline constexpr std::size_t kInlineCallable = 192;  // bytes; a larger one is allocated

// Success, the Status that it returns, or what it throws as one.
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
    return Status(StatusCode::kInternal, error.what());
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
