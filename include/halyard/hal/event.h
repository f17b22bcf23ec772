// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event: orders a part of a recording after another part, finer than a barrier.
//
//   set_event signals the event once all earlier commands of the recording have completed
//   wait_event orders the commands after it, and the memory that they see, after the latest set
//   reset_event clears the event
//
// A wait needs its set, in one of two places:
//   - Earlier in the same recording, with no reset between. A wait after a reset, with no set
//     between, is kFailedPrecondition at finish().
//   - Otherwise in the latest submission that set or reset the event, in the order of the calls.
//     That submission must have set it, and the wait's submission must wait for one of its signals:
//     for a point (s, v) where it signals (s, u <= v). Otherwise execute() returns
//     kFailedPrecondition and queues nothing. The wait's submission starts when the set's
//     submission has completed, even if another signaller advances s to v earlier, and fails if the
//     set's submission fails.
//
// So, unlike with semaphores, a wait is submitted after its set. A refused submission sets and
// resets nothing; another thread's submission that already waits for that set fails with the same
// error.
#pragma once

#include "halyard/base/export.h"
#include "halyard/hal/handle.h"

namespace halyard::inline v0::hal {

class EventObject;

// A handle; safe from any thread. May be dropped at any time: recordings keep their events.
class HALYARD_EXPORT Event : public Handle<EventObject> {
 public:
  using Handle::Handle;
};

}  // namespace halyard::inline v0::hal
