// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one seam that every native call passes: of the system, of the C library's allocator, of a
// driver's native library. Each place that makes one is a CallSite with a name of its own, and an
// observer, where one is installed, is asked before the call: it may note it, hold it up, or have
// it fail without being made.
//
//     HALYARD_CALL_SITE(kOpen, "file.open", EIO);
//     const int fd = base::native_call(kOpen, [&] { return ::open(path, flags); });
//
// Without an observer, as in every program but a test, that is one load. What can neither fail nor
// block needs no seam: the clock, free(3), getpid(2), sched_yield(2), masks of signals.
//
// After Dawn, whose INJECT_ERROR_OR_RUN stands around each call of a driver
// (src/dawn/native/ErrorInjector.h), so that a test can fail the first, the second ... the last.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "halyard/base/export.h"

namespace halyard::inline v0::base {

// How a call says that it has failed.
enum class Failing : std::uint8_t {
  kErrno,     // -1, or an empty result such as a null pointer; the error is in errno
  kCode,      // the error is the result: pthread_create(3), CUresult
  kNegative,  // the result is minus the error: a completion of io_uring(7)
  kMapped,    // MAP_FAILED; the error is in errno
};

// A constant for the whole program; `name` is "<area>.<call>", and unique.
struct CallSite {
  std::string_view name;
  int error = 0;  // one that the call may fail with, by its manual; 0: it does not fail, because:
  Failing failing = Failing::kErrno;
  std::string_view never_fails = {};

  constexpr std::string_view area() const noexcept { return name.substr(0, name.find('.')); }
};

// Defines `identifier`, and lists it. In a source, at namespace scope.
#define HALYARD_CALL_SITE(identifier, ...)                     \
  constexpr ::halyard::base::CallSite identifier{__VA_ARGS__}; \
  [[gnu::section("halyard_call_sites"),                        \
    gnu::used]] constexpr const ::halyard::base::CallSite* identifier##_listed = &identifier

// Every site that is linked into the library, in no order.
HALYARD_EXPORT std::span<const CallSite* const> call_sites() noexcept;

// Asked on the thread that makes the call, whatever it holds; must not make a native call itself.
class CallObserver {
 public:
  // 0: go on; else the error with which the call fails. Of a site that does not fail it is ignored.
  virtual int before(const CallSite& site) noexcept = 0;

 protected:
  ~CallObserver() = default;
};

namespace detail {

// Not a base::Atomic: whether somebody observes decides no order of anything.
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

// For all calls that begin afterwards; null for none. One that has begun may still ask the one
// before.
inline void observe_calls(CallObserver* observer) noexcept {
  detail::call_observer.store(observer, std::memory_order_release);
}

// call(), or what it answers when it fails.
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
