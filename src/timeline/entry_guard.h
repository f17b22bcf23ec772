// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EntryGuard: sets up a thread before it calls into a driver and restores it afterwards: the
// current CUDA context, the thread's stream capture mode, an autorelease pool.
//
// The threads that call a driver belong to its users: a state that a call leaves behind would
// change their own native calls. A driver supplies one guard, and a Visit enters it: once for all
// calls of a thread that polls, or that issues. Other calls from the engine and the HAL go through
// Entered, so no call site can miss the guard.
//
//     Entered(device, guard)->allocate(size, alignment, type);     // enter, allocate, leave
#pragma once

#include <cstdint>
#include <utility>

#include "halyard/base/ref.h"

namespace halyard::inline v0::timeline {

// The calls that a thread is about to make. During a stream capture, CUDA forbids fewer of the
// calls that put work into a stream.
enum class Calls : std::uint8_t {
  kEnqueue,  // NativeQueue::issue() and mark() alone
  kAny,
};

// A driver's preparation of a calling thread. Objects that may still call the driver keep it alive,
// so it may outlive its device.
class EntryGuard : public RefCounted {
 public:
  // What enter() found on this thread, for leave().
  struct Saved {
    void* words[4];
  };
  // From any thread; calls nest. Neither function fails: a later call into the driver reports the
  // fault.
  virtual void enter(Saved& saved, Calls calls) noexcept = 0;
  virtual void leave(const Saved& saved) noexcept = 0;
};

// A stretch of native calls by one thread: the guard that one enters stays entered for the next.
// Its owner leaves before anything else happens on the thread, above all before what may run or
// destroy something of a user's. At most one guard at a time; a lane without one is called with
// none.
class Visit {
 public:
  Visit() noexcept = default;
  // For any calls, from here to the end of the scope: by a driver's destructors, which no caller
  // guards, and for calls that a driver makes on its own.
  explicit Visit(EntryGuard& guard) noexcept { enter(&guard, Calls::kAny); }
  ~Visit() { leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // `guard` may be null.
  void enter(EntryGuard* guard, Calls calls) noexcept {
    if (guard_.get() == guard && calls_ >= calls) return;
    leave();
    guard_ = Ref<EntryGuard>(guard);
    calls_ = calls;
    if (guard != nullptr) guard->enter(saved_, calls);
  }
  void leave() noexcept {
    if (guard_ == nullptr) return;
    guard_->leave(saved_);
    guard_ = {};
  }

 private:
  Ref<EntryGuard> guard_;  // kept: between two polls the lane may end
  Calls calls_ = Calls::kEnqueue;
  EntryGuard::Saved saved_;
};

// Access to a driver's object within a visit. A temporary: the visit ends with the full expression.
template <class T>
class [[nodiscard]] Entered {
 public:
  Entered(T& object, EntryGuard* guard) noexcept : object_(object) {
    visit_.enter(guard, Calls::kAny);
  }

  T* operator->() const noexcept { return &object_; }
  T& operator*() const noexcept { return object_; }

 private:
  T& object_;
  Visit visit_;
};

}  // namespace halyard::inline v0::timeline
