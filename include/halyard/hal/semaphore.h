// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semaphore: the one ordering primitive. A 64-bit value that only grows, and a failure.
//
//   value    0 ... 2^63-1, starts anywhere; host and device advance it, in any order, each strictly
//   wait     for "value >= v", any number of waiters per value, before or after the signal
//   failure  sticky; the first one wins and keeps its code, message and origin. Waits for values
//            reached before it still succeed; every other wait, present or future, returns it.
//            One failure poisons the whole semaphore: independent producers use separate ones.
//
// A semaphore whose last signaller is gone (every handle dropped, no unfinished submission signals
// it) fails with kCancelled, so that nobody waits for ever.
//
// A semaphore works on every device of its runtime, not only on the device that created it.
// All functions are safe from any thread. Model: Vulkan timeline semaphores
// (VK_KHR_timeline_semaphore), with wait-before-signal on every queue, and failure added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0 {

namespace timeline {
class Semaphore;
class Registration;
}  // namespace timeline

namespace hal {

// What on_reach gives: destroying it guarantees that fn is not running and will not run, except
// from within fn itself. So it blocks while fn runs on another thread, and callbacks on two threads
// that destroy each other's deadlock. Move-only; used by one thread at a time. It keeps no handle
// of the semaphore and may outlive all of them. fn itself is destroyed when it has run, or else
// with this; where both meet, possibly on the other thread shortly afterwards.
class HALYARD_EXPORT Registration {
 public:
  Registration() noexcept = default;
  explicit Registration(timeline::Registration* node) noexcept : node_(node) {}
  Registration(Registration&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Registration& operator=(Registration&& other) noexcept {
    if (this != &other) {
      reset();
      node_ = std::exchange(other.node_, nullptr);
    }
    return *this;
  }
  ~Registration() { reset(); }
  // As if destroyed.
  void reset() noexcept;

 private:
  timeline::Registration* node_ = nullptr;
};

// Where a callback runs.
enum class CallbackThread : std::uint8_t {
  kAny,      // where on_reach says
  kRuntime,  // on a thread of the runtime: never within a call, whose caller may hold locks
};

// Values above 2^63-1 are kInvalidArgument everywhere.
class HALYARD_EXPORT Semaphore {
 public:
  // Empty: calls answer kInvalidArgument.
  Semaphore() noexcept = default;
  explicit Semaphore(timeline::Semaphore* object) noexcept;

  // The current value, or the failure, whatever was reached before it. Also looks how far the
  // devices have come. Never blocks for their work.
  Result<std::uint64_t> query() const;

  // Advances to `value`, which must be greater than the current one, else kInvalidArgument and
  // nothing changes. On a failed semaphore: returns its failure. Work that this releases may be
  // submitted by this call; callbacks (on_reach) may run in it.
  Status signal(std::uint64_t value) const;

  // Fails it, and releases as signal() does. The first failure wins; a later one, or an ok status,
  // changes nothing.
  void fail(const Status& status) const;

  // Blocks until the value is reached (ok), the semaphore fails (the failure), or the deadline
  // passes (kDeadlineExceeded, whose message tells who was to signal it). The calling thread may
  // run ready work of a cpu device meanwhile. Not in a callback: what it waits for may be an effect
  // of the call that the callback is part of, and comes after it.
  Status wait(std::uint64_t value, Deadline deadline = kForever) const;

  // Calls fn(const Status&) once: ok when `value` is reached, else the failure. It runs on a thread
  // that called signal, fail, submit, cancel or Queue::flush, on this thread before on_reach
  // returns if that is already decided, or on a thread of the runtime; without locks. It must not
  // block or throw; it may signal and submit, and then signal() returns before its effects run. On
  // an error fn is destroyed uncalled: kResourceExhausted. Operator new for fn itself may throw.
  template <class F>
    requires std::is_invocable_v<F&, const Status&>
  [[nodiscard]] Result<Registration> on_reach(std::uint64_t value, F&& fn,
                                              CallbackThread thread = CallbackThread::kAny) const {
    using Fn = std::decay_t<F>;
    if constexpr (sizeof(Fn) <= sizeof(void*) && std::is_trivially_copyable_v<Fn>) {
      // One pointer, as [this] is: it needs no memory of its own.
      void* state = nullptr;
      const Fn small(std::forward<F>(fn));
      std::memcpy(&state, &small, sizeof small);
      return on_reach_erased(
          value, state,
          [](void* copy, const Status& status) {
            alignas(Fn) std::byte bytes[sizeof copy];
            std::memcpy(bytes, &copy, sizeof copy);
            (*std::launder(reinterpret_cast<Fn*>(bytes)))(status);
          },
          [](void*) {}, thread);
    }
    return on_reach_erased(
        value, new Fn(std::forward<F>(fn)),
        [](void* state, const Status& status) { (*static_cast<Fn*>(state))(status); },
        [](void* state) { delete static_cast<Fn*>(state); }, thread);
  }

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Semaphore& a, const Semaphore& b) noexcept = default;
  timeline::Semaphore* object() const noexcept {
    return reinterpret_cast<timeline::Semaphore*>(object_.get());
  }

 private:
  Result<Registration> on_reach_erased(std::uint64_t value, void* state,
                                       void (*call)(void*, const Status&), void (*destroy)(void*),
                                       CallbackThread thread) const;

  HandleRef<RefCounted> object_;
};

// (semaphore, value): a view, valid for the call it is passed to.
class Point {
 public:
  Point() noexcept = default;
  Point(const Semaphore& semaphore, std::uint64_t value) noexcept
      : semaphore_(semaphore.object()), value_(value) {}
  timeline::Semaphore* semaphore() const noexcept { return semaphore_; }
  std::uint64_t value() const noexcept { return value_; }

 private:
  timeline::Semaphore* semaphore_ = nullptr;
  std::uint64_t value_ = 0;
};
using Points = View<Point>;

// As Semaphore::wait, for several points. Besides: kPermissionDenied: semaphores of different
// runtimes; kResourceExhausted: no memory for so many points.
//
// All points reached (ok); the first failure seen ends it. An empty list is satisfied.
HALYARD_EXPORT Status wait_all(Points points, Deadline deadline = kForever);

// At least one point reached (ok), before failures are looked at; else the first failure. An empty
// list is satisfied.
HALYARD_EXPORT Status wait_any(Points points, Deadline deadline = kForever);

}  // namespace hal
}  // namespace halyard::inline v0
