// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HostWait: a host thread's place in a semaphore, on its stack.
#pragma once

#include "base/atomic.h"
#include "base/parker.h"
#include "base/work_source.h"
#include "timeline/semaphore.h"

namespace halyard::inline v0::timeline {

struct HostWait {
  WaitNode node;
  base::Parker* parker = nullptr;
  base::Atomic<bool> done{false};

  // Called by the thread that popped the node. `done` is its last access: the waiter may leave as
  // soon as it is set, but its parker stays (rule 28).
  void popped() noexcept {
    base::Parker& mine = *parker;
    done.store(true, std::memory_order_release);
    mine.wake();
  }

  // By the waiter, before it leaves.
  void leave(base::WorkSource& work_source) noexcept {
    if (node.semaphore->unpark(node)) return;
    for (unsigned turns = 0; !done.load(std::memory_order_acquire); ++turns) {
      work_source.pause(turns);
    }
  }
};

}  // namespace halyard::inline v0::timeline
