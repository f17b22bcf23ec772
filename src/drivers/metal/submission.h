// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submission: waits, work and a signal as one MTLCommandBuffer of a lane's queue.
//
//     begin()    makes the buffer        waits, encoded before any work
//     encode     work, by an Encoder
//     signal()   after all work          commit(), then state() until it has ended
//
// This is all that a lane knows of command buffers. Metal 4 has waits and signals on the queue, and
// command buffers that can be submitted again: this file is where they would go.
//
// One thread at a time until commit(); then state() and what follows it, one thread at a time, too.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "drivers/metal/retained.h"
#include "halyard/base/clock.h"
#include "halyard/base/result.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::metal {

class Submission {
 public:
  enum class State : std::uint8_t { kRunning, kDone, kFailed };

  // An empty one.
  Submission() noexcept = default;

  // kResourceExhausted. Precondition: the queue has room for it, so that this does not block.
  static Result<Submission> begin(id<MTLCommandQueue> queue);
  // What is encoded later runs once the event has the value. Precondition: no encoder is open.
  void wait(id<MTLSharedEvent> event, std::uint64_t value);
  void signal(id<MTLSharedEvent> event, std::uint64_t value);
  void commit();

  id<MTLCommandBuffer> buffer() const noexcept { return buffer_.get(); }

  // After commit(). kDone and kFailed are the last: nothing of it touches memory any more. The
  // event that it signals says less: its value may be there earlier, and after a failure never.
  State state() const noexcept;
  // Of one that failed; may be nil.
  NSError* error() const noexcept;
  // When the device ran it, in nanoseconds of the clock of host_time(). Of one that is done.
  Nanoseconds started_at() const noexcept;
  Nanoseconds ended_at() const noexcept;

 private:
  Retained<id<MTLCommandBuffer>> buffer_;
};

// Now, on the clock of started_at(): on Apple's systems the one that stops while they sleep.
Nanoseconds host_time() noexcept;

}  // namespace halyard::inline v0::metal
