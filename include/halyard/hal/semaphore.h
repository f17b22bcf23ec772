// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semaphore: the only ordering primitive. A 64-bit value that only grows, and a failure.
//
//   value    0 ... 2^63-1, with any start. Host and device advance it, each time to a larger value.
//   wait     for "value >= v": any number of waiters per value, before or after the signal.
//   failure  sticky: the first one wins and keeps its code, message and origin. A wait for a value
//            that was reached before still succeeds; every other wait, present or future, returns
//            the failure. One failure poisons the whole semaphore: give independent producers
//            semaphores of their own.
//
// When the last signaller is gone (every handle dropped, no unfinished submission that signals it),
// the semaphore fails with kCancelled, so no wait lasts for ever.
//
// A semaphore works on every device of its runtime, not only on the device that created it. All
// functions are safe from any thread. Model: Vulkan timeline semaphores
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
#include "halyard/base/result.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/types.h"
#include "halyard/timeline/point.h"

namespace halyard::inline v0 {

namespace timeline {
class Semaphore;
class Registration;
}  // namespace timeline

namespace hal {

// The registration of a callback, from on_reach. Destroying it guarantees that fn is not running
// and will not run, except from within fn itself. So it blocks while fn runs on another thread, and
// two callbacks on two threads that destroy each other's registrations deadlock. Move-only; used by
// one thread at a time. It keeps no handle of the semaphore and may outlive all of them. fn is
// destroyed after it has run, else with the registration; if both happen at once, possibly on the
// other thread shortly afterwards.
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
  // Unregisters, like the destructor.
  void reset() noexcept;

 private:
  timeline::Registration* node_ = nullptr;
};

// The threads that may run a callback.
enum class CallbackThread : std::uint8_t {
  kAny,      // all that on_reach lists
  kRuntime,  // a thread of the runtime only: never within a call, whose caller may hold locks
};

// A handle. Values above 2^63-1 are kInvalidArgument everywhere.
class HALYARD_EXPORT Semaphore : public Handle<timeline::Semaphore> {
 public:
  using Handle::Handle;

  // Returns the current value, or the failure even if values were reached before it. Checks the
  // devices' progress first. Never blocks for their work.
  Result<std::uint64_t> query() const;

  // Advances to `value`, which must be greater than the current one; otherwise returns
  // kInvalidArgument and changes nothing. Returns the failure of a failed semaphore. The call may
  // issue the work that it releases and run callbacks (on_reach).
  Status signal(std::uint64_t value) const;

  // Like signal(), for threads that must call neither a driver nor a callback, such as host
  // functions of a CUDA stream. Released work is issued, and callbacks run, on a thread of the
  // runtime shortly afterwards.
  Status post(std::uint64_t value) const;

  // Fails the semaphore, and releases as signal() does. The first failure wins; a later one, or an
  // ok status, changes nothing.
  void fail(const Status& status) const;

  // Declares that nothing waits, or will wait, for values up to `value`. A pool allocation that
  // signals only such values then fails with kCancelled instead of waiting for memory (pool.h).
  // Other work is not affected. Calls neither a driver nor a callback.
  void give_up(std::uint64_t value) const;

  // Blocks until the value is reached (ok), the semaphore fails (the failure) or the deadline
  // passes (kDeadlineExceeded; the message names the submissions that were to signal it). The
  // calling thread may run ready work of a cpu device meanwhile, and then returns later than the
  // deadline by as much as a part of one dispatch takes. With kNow it polls: it runs no work, and
  // the message names only the semaphore and the value. In a callback, a wait that would block is
  // refused (kFailedPrecondition): it may depend on effects of the call that runs the callback,
  // which follow later.
  Status wait(std::uint64_t value, Deadline deadline = kForever) const;

  // Registers fn(const Status&), which is called once: with ok when `value` is reached, else with
  // the failure. fn runs on one of these threads, without locks:
  //   - a thread that calls signal, fail, submit, cancel or Queue::flush
  //   - this thread, before on_reach returns, if the outcome is already known
  //   - a thread of the runtime
  // fn must not block or throw. It may signal and submit; signal() then returns before its effects
  // run. Fails with kResourceExhausted if there is no memory or the system refuses the runtime a
  // thread; fn is then destroyed uncalled. Operator new for fn itself may throw.
  template <class F>
    requires std::is_invocable_v<F&, const Status&>
  [[nodiscard]] Result<Registration> on_reach(std::uint64_t value, F&& fn,
                                              CallbackThread thread = CallbackThread::kAny) const {
    using Fn = std::decay_t<F>;
    if constexpr (sizeof(Fn) <= sizeof(void*) && std::is_trivially_copyable_v<Fn>) {
      // A callable that holds only a pointer, such as [this], needs no allocation.
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

 private:
  Result<Registration> on_reach_erased(std::uint64_t value, void* state,
                                       void (*call)(void*, const Status&), void (*destroy)(void*),
                                       CallbackThread thread) const;
};

// A point (semaphore, value): a view, valid for the call that it is passed to.
using timeline::Point;
using Points = View<Point>;

// Waits until all points are reached (ok), or returns the first failure that it sees. An empty list
// is satisfied. Otherwise as Semaphore::wait. Further errors:
//   kPermissionDenied   semaphores of different runtimes
//   kResourceExhausted  no memory for so many points
HALYARD_EXPORT Status wait_all(Points points, Deadline deadline = kForever);

// Waits until a point is reached (ok), or returns the first failure. A reached point counts before
// any failure. An empty list is satisfied. Errors as wait_all.
HALYARD_EXPORT Status wait_any(Points points, Deadline deadline = kForever);

}  // namespace hal
}  // namespace halyard::inline v0
