// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrapper of every native call: to the system, to the C library's allocator, to a driver's
// native library. Each place in the source that makes a call is a CallSite with its own name. An
// installed observer runs before the call: it may note the call, delay it, or make it fail without
// being made.
//
//     HALYARD_CALL_SITE(kOpen, "file.open", EIO);
//     const int fd = base::native_call(kOpen, [&] { return ::open(path, flags); });
//
// Without an observer, as in every program except tests, the wrapper costs one load. Calls that can
// neither fail nor block need no wrapper: the clock, free(3), getpid(2), sched_yield(2), signal
// masks.
//
// Follows Dawn, whose INJECT_ERROR_OR_RUN wraps each call of a driver
// (src/dawn/native/ErrorInjector.h), so that a test can fail the first, the second ... the last.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/call_site_list.h"
#include "halyard/base/export.h"

namespace halyard::inline v0::base {

// How a call reports failure.
enum class Failing : std::uint8_t {
  kErrno,     // -1, or an empty result such as a null pointer; the error is in errno
  kCode,      // the error is the result: pthread_create(3), CUresult
  kNegative,  // the result is minus the error: a completion of io_uring(7)
  kMapped,    // MAP_FAILED; the error is in errno
};

// A native call in the source. Constant for the whole program; `name` is "<area>.<call>" and
// unique.
struct CallSite {
  std::string_view name;
  int error = 0;  // with which the call may fail, by its manual; 0: it does not fail, because:
  Failing failing = Failing::kErrno;
  std::string_view never_fails = {};

  constexpr std::string_view area() const noexcept { return name.substr(0, name.find('.')); }
};

// Defines `identifier` and adds it to call_sites(). In a source, at namespace scope.
#define HALYARD_CALL_SITE(identifier, ...)                     \
  constexpr ::halyard::base::CallSite identifier{__VA_ARGS__}; \
  HALYARD_LIST_CALL_SITE(identifier##_listed, identifier)

// Every site that is linked into the library, unordered.
HALYARD_EXPORT std::span<const CallSite* const> call_sites() noexcept;

// Runs on the thread that makes the call, under whatever locks it holds. Must not make a native
// call.
class CallObserver {
 public:
  // Returns 0 to make the call, otherwise the error with which it fails. The error is ignored for
  // sites that do not fail.
  virtual int before(const CallSite& site) noexcept = 0;

 protected:
  ~CallObserver() = default;
};

namespace detail {

// Not a base::Atomic: an observer does not order anything.
HALYARD_EXPORT extern constinit std::atomic<CallObserver*> call_observer;

template <class R>
R failed_result(const CallSite& site) noexcept {
  if constexpr (std::is_pointer_v<R>) {
    return site.failing == Failing::kMapped ? reinterpret_cast<R>(std::intptr_t{-1}) : R{};
  } else if constexpr (std::is_integral_v<R> || std::is_enum_v<R>) {
    return static_cast<R>(site.failing == Failing::kCode       ? errno
                          : site.failing == Failing::kNegative ? -errno
                                                               : -1);
  } else {
    return R{};
  }
}

}  // namespace detail

// Installs an observer for all calls that begin afterwards; null for none. A call that has begun
// may still use the previous one.
inline void observe_calls(CallObserver* observer) noexcept {
  detail::call_observer.store(observer, std::memory_order_release);
}

// Returns call(), or the result with which it reports the observer's error.
template <class F>
std::invoke_result_t<F&> native_call(const CallSite& site, F&& call) noexcept(noexcept(call())) {
  using R = std::invoke_result_t<F&>;
  if (CallObserver* const observer = detail::call_observer.load(std::memory_order_acquire);
      observer != nullptr) [[unlikely]] {
    const int error = observer->before(site);
    if constexpr (!std::is_void_v<R>) {
      if (error != 0 && site.error != 0) {
        errno = error;
        return detail::failed_result<R>(site);
      }
    }
  }
  return call();
}

}  // namespace halyard::inline v0::base
