// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeQueue: what a driver supplies to the timeline engine. One NativeQueue is one lane: a native
// FIFO (a ring, a CUDA stream, a Metal queue) with one 64-bit sequence that only the lane writes.
//
//      engine                                   driver                         device
//   issue {1}{2}{3}  ── one doorbell ──>   wait edges, operation,   ──>   executes in order,
//                                          "sequence := n" each            stores 1, 2, 3
//   poll()           <──────────────────   reads the sequence       <──
//
// The engine numbers the submissions of a lane 1, 2, 3 ... without gaps. It never issues work that
// waits for something not yet issued, so native queues cannot deadlock (timelines.md, rule 14).
//
// Obligations of the driver:
//   - issue() and mark() are called by the holder of the queue's issuer role only: one thread at a
//     time, not always the same. poll() by one poller at a time, beside the issuer; probe(), arm()
//     and help() by any thread.
//   - nothing here blocks on the device, calls back into the engine, or throws.
//   - `Issue::operation` and what it refers to stay alive until the lane has passed its sequence,
//     or until abandon() has returned.
//   - an operation that faults is loss of the device: poll() reports it as a fault. kDeviceLost
//     from issue(), and any error from mark(), probe() or arm(), is loss of the device, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/work_source.h"
#include "halyard/base/status.h"
#include "trace/tracer.h"

namespace halyard::inline v0::timeline {

class NativeQueue;

// A point in a lane: reached when the lane's sequence is at least `sequence`.
struct Edge {
  NativeQueue* queue = nullptr;
  std::uint64_t sequence = 0;
};

// One submission to be put into the lane.
struct Issue {
  std::span<const Edge> waits;  // edges of other lanes, of domains this queue can wait on
  void* operation;              // the driver's own: the payload of the submission
  std::uint64_t sequence;       // what the lane's sequence becomes when the operation is done
  bool want_marker;             // somebody outside the lane waits for it already
  // Not null while tracing: the driver stamps begin and end of the operation, before the lane's
  // sequence says that it is done, and notes its commands.
  trace::Stamps* stamps = nullptr;
};

struct IssueResult {
  std::size_t count = 0;  // how many of the batch are in the lane now, from the front
  bool busy = false;      // batch[count] did not fit; issue it again later
  Status status;          // not ok: batch[count] failed, nothing of it runs
};

// How far a lane has come. `sequence` is cumulative and never goes back.
struct Progress {
  std::uint64_t sequence = 0;
  Status fault;  // not ok: the device is lost; nothing beyond `sequence` completes
};

struct QueueCapabilities {
  // Every submission writes the lane's sequence where the host and peers see it, so that mark() is
  // never needed (hcq). Otherwise progress and edges are seen through markers only (cuda, hip).
  bool marks_every_submission = true;
  // Submissions in flight beyond which the engine holds work back. Below the depth at which issue()
  // would block or be busy.
  std::uint32_t max_in_flight = 1024;
};

class NativeQueue {
 public:
  virtual ~NativeQueue() = default;

  virtual const QueueCapabilities& capabilities() const noexcept = 0;

  // Puts batch[0..count) into the lane, in order, with one doorbell. The doorbell may be left out
  // when `ring` is false: the caller is about to help() until the work is done.
  virtual IssueResult issue(std::span<const Issue> batch, bool ring) noexcept = 0;

  // Records a marker behind everything issued so far. Not called where marks_every_submission.
  virtual Status mark() noexcept = 0;

  virtual Progress poll() noexcept = 0;

  // Looks for a fault when nothing arrives (rule 23). Ok: none found.
  virtual Status probe() noexcept = 0;

  // Calls notify.notify() once soon after the lane has reached `sequence` (at once if it has). May
  // call early besides, never late. `notify` is never freed; a stale call is harmless. Of two
  // armings of one notify the lower may stand for both, unless it is reached by the second: then
  // the second is one of its own, and may replace the first, whose caller has looked since.
  virtual Status arm(std::uint64_t sequence, base::Notify& notify) noexcept = 0;

  // A host thread waits for `sequence` of this lane and offers its time. Runs one small piece of
  // the device's work (some workgroups, a chunk of a copy; never host calls) on the calling thread.
  // False if there is nothing it could do now. Work it runs never helps (rule 32).
  virtual bool help(std::uint64_t sequence) noexcept = 0;

  // The device is lost or closing: drops what has not run. On return nothing of the lane runs or
  // will run, and operations are no longer touched. issue() and mark() are not called any more; the
  // others may be, by who has just been looking at the lane.
  virtual void abandon(const Status& cause) noexcept = 0;
};

}  // namespace halyard::inline v0::timeline
