// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event: orders a part of a recording after another part, finer than a barrier.
//
//   set_event     marks a place: what follows a wait comes after everything before it
//   wait_event    what follows it runs, and sees memory, after the latest set
//   reset_event   the event is not set any more
//
// A wait needs its set:
//   - earlier in the same recording, with no reset between. A wait after a reset, with no set
//     between, is kFailedPrecondition at finish().
//   - else in a submission on whose signals the wait's submission waits: for some (s, v) that it
//     waits for, the other signals (s, u <= v). It then starts when the other has completed, also
//     if somebody else makes s reach v before, and fails if the other fails. That other is the
//     latest submission, in the order of the calls, that set or reset the event; if it reset it, is
//     not waited on or is none, execute() answers kFailedPrecondition and nothing is queued.
//
// So unlike with semaphores, an execution that waits is submitted after the one that sets. One that
// is refused sets and resets nothing; who has found the event set by it on another thread, while it
// was being refused, fails with its error.
#pragma once

#include "halyard/base/export.h"
#include "halyard/base/ref.h"

namespace halyard::inline v0::hal {

class EventObject;

// A handle; safe from any thread. Recordings keep what they use: it may be dropped at any time.
class HALYARD_EXPORT Event {
 public:
  Event() noexcept = default;
  explicit Event(EventObject* object) noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Event& a, const Event& b) noexcept = default;
  EventObject* object() const noexcept { return reinterpret_cast<EventObject*>(object_.get()); }

 private:
  HandleRef<RefCounted> object_;
};

}  // namespace halyard::inline v0::hal
