// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Issuer: puts a queue's ready submissions into its lane. IssuerRole: the right to use it.
//
//     take role ── drain (<= kBound) ── release role ── check again: inbox, lane
//                                            │
//              others push to the inbox ─────┘   and leave it to the holder
//
// A thread takes the role by an exchange, and never waits for it. A drain takes the carry list
// first (what did not fit before), then the inbox, at most kBound at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/array.h"
#include "base/build.h"
#include "halyard/base/status.h"
#include "timeline/inbox.h"
#include "timeline/lane_tracker.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

class Device;
class Engine;
class Queue;

// All functions are called under the role: only IssuerRole gives access to them.
class Issuer {
 public:
  Issuer(Queue& queue, Inbox& inbox) noexcept;
  ~Issuer();

  // Submissions per drain (rule 15).
  static constexpr std::size_t kBound = base::kSmallBounds ? 3 : 64;

  // Makes the first lane. False: no memory.
  [[nodiscard]] bool open(NativeQueue& native) noexcept;

  // Issues a submission of which no other thread knows, or queues it after others. True: issued,
  // or failed. `issued` (may be null) says where.
  bool accept(Submission& submission, LanePoint* issued) noexcept;
  // Issues ready submissions. Returns how many it has taken.
  std::size_t drain(std::size_t bound) noexcept;

  // Records a marker at the end of the lane if a thread wants it. The second function: true if the
  // end of the issued work can be seen, after a marker of its own if necessary.
  void serve_marks() noexcept;
  bool mark_tail() noexcept;

  // Retires the submissions that the lane has passed.
  void retire() noexcept {
    if (lane_ != nullptr) (void)lane_->try_retire(*visit_);
  }
  // Retires what all lanes have passed, after a marker of its own if necessary. True if work is
  // left.
  bool retire_all() noexcept;
  // Has the completion shell retire the submissions in the lanes.
  void watch() noexcept;
  // Nothing is queued or in the lane.
  bool is_idle() const noexcept;
  // No lane was quarantined.
  bool is_whole() const noexcept { return lane_ != nullptr && quarantined_.empty(); }
  // The last point of a lane with work in flight.
  PinnedLanePoint in_flight() const noexcept;

  // Loss: issuer_loss.cpp.
  void check_for_loss() noexcept;
  // Once the queue is idle: no thread is inside a lane. Closes the lanes in quarantine.
  bool quiet() noexcept;
  // Closes the lane. True once it is not touched any more.
  bool close_lane(const Status& cause) noexcept;

  // Appends the submissions in the lanes: dump.cpp.
  template <class Describe, class TellWaits>
  void dump(std::string& text, Describe&& describe, TellWaits&& tell_waits) noexcept;

  // The lane, and its edges and visit, for the submission that is about to be issued.
  LaneTracker& lane() const noexcept { return *lane_; }
  base::Array<Edge>& edges() noexcept { return edges_; }
  Visit& visit() const noexcept { return *visit_; }

 private:
  friend class IssuerRole;
  static constexpr std::uint64_t kMarkEvery = 32;  // submissions between markers at most (rule 20)

  // issuer_drain.cpp
  Submission* next() noexcept;
  void take_inbox() noexcept;
  void push_back(Submission& submission) noexcept;
  void push_front(Submission& submission) noexcept;
  void put_back(Submission& submission) noexcept;
  void hold(Submission& submission) noexcept;
  void unhold() noexcept;
  bool may_issue(Submission& submission, std::size_t index) noexcept;
  void start_host_call(Submission& submission) noexcept;

  // issuer.cpp
  enum class Resolve { kReady, kFailed, kNeedsMarker, kHeld };
  Resolve resolve(Submission& submission, std::size_t index, Status& cause) noexcept;
  LanePoint issue_direct(Submission& submission) noexcept;
  std::uint64_t room(std::uint64_t wanted) noexcept;
  bool issue_part() noexcept;
  void issue(std::size_t count) noexcept;
  void fail_issue(LaneTracker& lane, Submission& submission, const Status& cause,
                  const IssueResult& result) noexcept;
  void publish(LaneTracker& lane, Submission& submission) noexcept;
  void publish_part(LaneTracker& lane, Submission& submission) noexcept;
  void note_issued_to_gate(LaneTracker& lane, Submission& submission) noexcept;
  void undo_gate(Submission& submission) noexcept;
  bool mark() noexcept;
  void schedule() noexcept;

  // issuer_loss.cpp
  void fail_lane(LaneTracker& lane, const Status& cause) noexcept;
  void end_parts(LaneTracker& lane, const Status& cause) noexcept;
  bool sweep_lane(LaneTracker& lane) noexcept;
  void notify_others() noexcept;

  Queue& queue_;
  Inbox& inbox_;
  Engine& engine_;
  Device& device_;
  Visit* visit_ = nullptr;       // of the native calls of the thread that has the role
  Submission* carry_ = nullptr;  // ready, oldest first: what did not fit, then what was taken
  Submission* carry_tail_ = nullptr;
  Submission* held_submissions_ = nullptr;  // for a gate, or a marker on another lane; newest first
  bool held_back_ = false;  // the last drain left some: the lane was full, or at its bound
  // Issued up to `part_at_`: it is deeper than an empty lane, so it is issued in parts. Nothing
  // else is issued before its last part.
  Submission* in_parts_ = nullptr;
  std::uint32_t part_at_ = 0;
  Submission* batch_[kBound];
  Issue issues_[kBound];
  std::size_t first_edge_[kBound + 1];
  base::Array<Edge> edges_;
  std::unique_ptr<LaneTracker> lane_;      // null when no fresh lane could be opened
  base::Array<LaneTracker*> quarantined_;  // its own, with room for lane_
};

// The role, from here to the end of the scope; false if another thread has it. The thread that
// releases it schedules the queue if work was left meanwhile, so an EffectScope is open around it.
class [[nodiscard]] IssuerRole {
 public:
  // On release, submissions that the lane has passed too early are retired. That may find a loss,
  // so under a lock of the engine it is left to another thread.
  enum class Overtaken : std::uint8_t { kRetire, kLeave };

  explicit IssuerRole(Issuer& issuer, Overtaken overtaken = Overtaken::kRetire) noexcept
      : IssuerRole(issuer, own_visit_, overtaken) {}
  // Uses a visit that began before, or that continues afterwards.
  IssuerRole(Issuer& issuer, Visit& visit, Overtaken overtaken = Overtaken::kRetire) noexcept
      : issuer_(issuer), visit_(visit), overtaken_(overtaken) {
    (void)take();
  }
  ~IssuerRole() {
    if (held_ && release()) issuer_.schedule();
  }
  IssuerRole(const IssuerRole&) = delete;
  IssuerRole& operator=(const IssuerRole&) = delete;

  explicit operator bool() const noexcept { return held_; }
  Issuer* operator->() const noexcept { return &issuer_; }

  // Drains, and releases. With `direct`, issues that one first if nothing is queued before it.
  void work(bool shell, Submission* direct = nullptr, LanePoint* issued = nullptr) noexcept;

 private:
  bool take() noexcept {
    held_ = issuer_.inbox_.take_role();
    if (held_) issuer_.visit_ = &visit_;
    return held_;
  }
  // True if work was left meanwhile.
  [[nodiscard]] bool release() noexcept;

  Issuer& issuer_;
  Visit own_visit_;
  Visit& visit_;
  const Overtaken overtaken_;
  bool held_ = false;
};

}  // namespace halyard::inline v0::timeline
