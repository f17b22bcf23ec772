// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Record: one event, recorded by the thread that observed it. chrome_trace.h describes its form in
// a file.
//
//     kSubmission   submitted ── parked ── issued ── begin ──(device)── end ── at (end was seen)
//                   followed by its kWait and kSignal, in the same batch
//     kCommand      begin .. at, on the track of its queue
//     kHostWait     begin .. at, on the thread's own track; followed by its kWait
//     kHostSignal   at; followed by its kSignal
//     kMemory       at, value: bytes that a device has allocated from then on
#pragma once

#include <cstdint>

#include "halyard/base/clock.h"

namespace halyard::inline v0::trace {

using Name = std::uint32_t;   // Tracer::add_name
using Track = std::uint32_t;  // Tracer::add_track; 0: none

// Names that exist in every tracer.
enum KnownName : Name {
  kNoName,
  kBarrier,
  kExecute,
  kDispatch,
  kFill,
  kUpdate,
  kCopy,
  kHostCall,
  kRead,
  kWrite,
  kAllocate,
  kDeallocate,
  kWaitFor,
  kWaitIdle,
  kSignalNow,
  kCopyRead,   // of a staged copy: source to staging memory
  kCopyHost,   // between two staging memories
  kCopyWrite,  // staging memory to target
  kKnownNames
};

struct Record {
  enum class Kind : std::uint8_t {
    kSubmission,
    kWait,
    kSignal,
    kCommand,
    kHostWait,
    kHostSignal,
    kMemory
  };
  enum class Outcome : std::uint8_t { kComplete, kFailed, kCancelled };

  Kind kind = Kind::kSubmission;
  Outcome outcome = Outcome::kComplete;
  bool on_thread = false;  // kSubmission: begin .. end was on the recording thread
  Track track = 0;         // of the queue; 0: the thread's own
  Name name = kNoName;     // of the operation, command, semaphore or device
  Name group = kNoName;    // kCommand: its debug groups
  std::uint64_t id = 0;    // Tracer::next_id; shared by a batch
  union {
    Nanoseconds submitted;    // kSubmission
    std::uint64_t semaphore;  // kWait, kSignal
  };
  union {
    Nanoseconds issued;   // kSubmission; 0: never
    std::uint64_t value;  // kWait, kSignal, kMemory
  };
  std::int64_t begin = 0;  // in the clock of the track
  std::int64_t end = 0;    // kSubmission: the same; 0: it never ran
  Nanoseconds at = 0;      // when it was recorded, on the tracer's clock

  Record() noexcept : semaphore(0), value(0) {}
};
static_assert(sizeof(Record) == 64);

// The name of a command of a recording.
struct Label {
  Name name = kNoName;
  Name group = kNoName;
};

}  // namespace halyard::inline v0::trace
