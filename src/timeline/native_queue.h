// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeQueue: the part of a driver that the timeline engine calls. A NativeQueue is a lane: a
// native FIFO (a ring, a CUDA stream, a Metal queue) with a 64-bit sequence that only the lane
// advances.
//
//      engine                                   driver                         device
//   issue {1}{2}{3}  ── one doorbell ──>   wait edges, operation,   ──>   executes in order,
//                                          "sequence := n" each            stores 1, 2, 3
//   poll()           <──────────────────   reads the sequence       <──
//
// The engine numbers the submissions that it issues to a lane 1, 2, 3 ... without gaps. It never
// issues work that waits for unissued work, so native queues cannot deadlock (timelines.md, rule
// 14).
//
// Obligations of the driver:
//   - issue() and mark() are called by the holder of the queue's issuer role: one thread at a time,
//     not always the same. poll() is called by one poller at a time, beside the issuer; probe(),
//     arm() and help() by any thread.
//   - Nothing here blocks on the device, calls back into the engine, or throws.
//   - `Issue::operation` and the objects that it refers to stay alive until the lane has passed its
//     sequence, or until abandon() has returned kStopped.
//   - An operation that faults is loss of the device: poll() reports it as a fault. kDeviceLost
//     from any function here, and any error from probe() or arm(), is loss of the device, too.
//   - A lane passes a native wait for another lane of its device only once that lane has passed the
//     edge. A faulted producer must not satisfy the wait until poll() of the waiting lane has
//     reported the fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/work_source.h"
#include "halyard/base/status.h"
#include "timeline/entry_guard.h"
#include "trace/tracer.h"

namespace halyard::inline v0::timeline {

class NativeQueue;

// Base of the operations that a driver executes: hal::Operation.
struct Operation {};

// A point in a lane: reached when the lane's sequence is at least `sequence`. On a lane that does
// not mark every submission, a marker was recorded after exactly this sequence. If the lane has
// passed it, the driver may have recycled the marker since: a sequence without a marker is reached,
// and needs no native wait.
struct Edge {
  NativeQueue* queue = nullptr;
  std::uint64_t sequence = 0;
};

// Native commands [first, first + count) of an operation.
struct CommandSpan {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
};

// A submission, or a part of it, to be put into the lane. A submission has more than one part only
// if it needs more native commands than an empty lane takes (QueueCapabilities::max_in_flight); its
// parts follow each other directly, each with a sequence of its own.
struct Issue {
  std::span<const Edge> waits;  // edges of lanes that this queue can wait on; first part only
  const Operation* operation;   // the payload of the submission
  std::uint64_t sequence;       // what the lane's sequence becomes when this is done
  bool want_marker;             // something outside the lane already waits for it
  CommandSpan commands = {};
  // Not null while tracing: the driver stamps begin and end of the operation before the lane's
  // sequence says that it is done, and notes its commands. Null for all parts but the last.
  trace::Stamps* stamps = nullptr;
};

// The part of a failed submission that is in the lane.
enum class Left : std::uint8_t {
  kNothing,
  kWaits,    // some of its native waits, and no more than these
  kStarted,  // all its native waits, and perhaps some of its commands
};

struct IssueResult {
  std::size_t count = 0;  // how many of the batch are in the lane now, from the front
  bool busy = false;      // batch[count] did not fit; it is issued again later
  Status status;          // not ok: batch[count] failed
  // Says what batch[count] left in the lane, if the status is not ok. If it left nothing, the next
  // submission has its sequence. Otherwise native calls were made for it and cannot be undone. It
  // keeps its sequence; the lane passes the sequence when the queued part is done, and nothing
  // waits for it before that. A driver that cannot promise this reports kDeviceLost.
  Left left = Left::kNothing;
  // A wanted marker could not be recorded. The engine counts no submission of this batch as marked,
  // and calls mark() when a marker is needed.
  bool unmarked = false;
};

// Progress of a lane. `sequence` is cumulative and never goes back.
struct Progress {
  std::uint64_t sequence = 0;
  Status fault;  // not ok: the device is lost; nothing beyond `sequence` completes
};

enum class Doorbell : std::uint8_t {
  kRing,   // the device starts without further calls
  kDefer,  // may be left out: the caller calls help() until the work is done
};

enum class Abandoned : std::uint8_t {
  kStopped,       // nothing of the lane runs or will run; operations are not touched any more
  kStopping,      // what runs may still touch what it was given: ask again
  kStillRunning,  // given up: what runs may touch what it was given at any time
};

struct QueueCapabilities {
  // Every submission writes the lane's sequence where the host and peers see it, so that mark() is
  // never needed (hcq). Otherwise progress and edges are seen through markers only (cuda, hip).
  bool marks_every_submission = true;
  // Native commands in flight beyond which the engine holds work back. Below the depth at which
  // issue() would block or be busy.
  std::uint32_t max_in_flight = 1024;
  // How long a thread that waits polls before it sleeps, beyond WorkSource::spin_turns(). A
  // sleeping thread is woken so much later than a polling thread sees the end (rule 22).
  Nanoseconds poll_time = 0;
};

class NativeQueue {
 public:
  virtual ~NativeQueue() = default;

  virtual const QueueCapabilities& capabilities() const noexcept = 0;

  // Entered around every other call to this lane. Null: a calling thread needs no preparation.
  // Asked once, when the lane is opened; outlives the lane.
  virtual EntryGuard* entry_guard() const noexcept { return nullptr; }

  // False: putting `issue` into the lane takes no native call, so issue() of only such submissions
  // need not be within the guard. By the issuer, perhaps outside of the guard, of a lane that has
  // one.
  virtual bool needs_guard(const Issue& issue) const noexcept {
    (void)issue;
    return true;
  }

  // Puts batch[0..count) into the lane, in order, with a single doorbell.
  virtual IssueResult issue(std::span<const Issue> batch, Doorbell doorbell) noexcept = 0;

  // Records a marker after everything issued so far. Not called if marks_every_submission.
  // kResourceExhausted: no marker can be recorded now; the engine calls again. Any other error is
  // loss of the device.
  virtual Status mark() noexcept { return {}; }

  virtual Progress poll() noexcept = 0;

  // Another lane of this device has passed a native wait for `sequence` of this one, so this one
  // has passed it, too. In place of a poll(), by the same thread; makes no native call, and may be
  // called outside of the guard. Not called where marks_every_submission.
  virtual void note_passed(std::uint64_t sequence) noexcept { (void)sequence; }

  // Checks for a fault when nothing arrives (rule 23). Ok: none found.
  virtual Status probe() noexcept { return {}; }

  // Calls notify.notify() once, soon after the lane has reached `sequence`, or at once if it has.
  // May call early as well, never late: the last arming of a notify is kept even if an early call
  // follows it. NotifyList (timeline/notify_list.h) does this for a lane whose own threads see its
  // progress. `notify` lives until the lane is destroyed, or abandon() has given up.
  virtual Status arm(std::uint64_t sequence, base::Notify& notify) noexcept = 0;

  // A host thread waits for `sequence` of this lane and offers its time. Runs one small piece of
  // the device's work (some workgroups, a chunk of a copy; never host calls) on the calling thread.
  // False if there is nothing to run now. Work that it runs never helps (rule 32).
  virtual bool help(std::uint64_t sequence) noexcept {
    (void)sequence;
    return false;
  }

  // The device is lost or closing: drops work that has not run, and stops running work if possible.
  // Lasts a millisecond at most: the calling thread serves other devices too. issue() and mark()
  // are not called any more; the others may be. After kStopping the engine asks again every 10 ms,
  // without the cause; `waited` is for how long it has asked, by its clock. Another answer is the
  // last. kStillRunning: the driver has given up, after a time of its choice. The engine leaks
  // every operation that the lane has not passed, and the driver leaks the native queue and its
  // memory; the lane does not notify any more. One thread at a time.
  [[nodiscard]] virtual Abandoned abandon(const Status& cause, Nanoseconds waited) noexcept = 0;
};

}  // namespace halyard::inline v0::timeline
