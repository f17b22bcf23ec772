// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submission: waits, work and a signal as one MTLCommandBuffer of a lane's queue.
//
//     begin()    makes the command buffer
//     wait()     encodes the waits, before any work
//     (encode)   an Encoder encodes the work
//     signal()   encodes the signal, after all work
//     commit()   submits; then state() is polled until the buffer has ended
//
// Lanes use command buffers only through this class. Metal 4 has waits and signals on the queue,
// and reusable command buffers; support for them would go here.
//
// One thread at a time: until commit() the encoding functions, then state() and the functions after
// it.
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

  // An empty submission.
  Submission() noexcept = default;

  // Returns kResourceExhausted if Metal makes no buffer. Precondition: the queue has room for one
  // more buffer, so that the call does not block.
  static Result<Submission> begin(id<MTLCommandQueue> queue);
  // Work that is encoded later runs once the event has the value. Precondition: no encoder is open.
  void wait(id<MTLSharedEvent> event, std::uint64_t value);
  void signal(id<MTLSharedEvent> event, std::uint64_t value);
  void commit();

  id<MTLCommandBuffer> buffer() const noexcept { return buffer_.get(); }

  // After commit(). kDone and kFailed are final: the submission no longer touches memory. The
  // signalled event does not show this: its value may be set earlier, and after a failure perhaps
  // never.
  State state() const noexcept;
  // The error of a failed submission; may be nil.
  NSError* error() const noexcept;
  // When the device ran the submission, in nanoseconds of host_time(). Precondition: state() is
  // kDone.
  Nanoseconds started_at() const noexcept;
  Nanoseconds ended_at() const noexcept;

 private:
  Retained<id<MTLCommandBuffer>> buffer_;
};

// The time now, on the clock of started_at(). On Apple's systems this clock stops while the system
// sleeps.
Nanoseconds host_time() noexcept;

}  // namespace halyard::inline v0::metal
