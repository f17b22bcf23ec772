// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gate: a condition of an operation beyond its waits, for instance memory of a pool (rules 30 and
// 31). Called under the issuer role each time the waits hold and the submission is about to be
// issued:
//
//     waits hold ──> ask ── kGo ────> lane ──> issued     before its signals are published
//                     │ ▲              └─────> undo       it did not get in; asked again later
//                     │ └── kLater ── held by the queue until Queue::retry(); cancelled like a
//                     └──── kFail     parked one, and not covering
//
// The queue also calls again every Engine::kCheckInterval: the gate may wait for work in a lane
// that has been quarantined since, and gates are not notified of that.
//
// A gate belongs to a type of payload and is constant.
#pragma once

#include <cstdint>
#include <string>

#include "halyard/base/status.h"
#include "timeline/lane_point.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::timeline {

class Issuer;
class LaneTracker;
class Submission;

// The place that a submission would take in a lane.
class IssueSite {
 public:
  IssueSite(Issuer& issuer, Submission& submission) noexcept
      : issuer_(issuer), submission_(submission) {}

  // How this submission is ordered after `at`, in a lane of the same device; in order of
  // preference.
  enum class Order : std::uint8_t {
    kSameLane,
    kReached,
    kWaited,  // this submission or an earlier one of the lane waits for it
    kEdge,    // if wait_for() is called
    kNone,
  };
  Order order_after(const LanePoint& at) const noexcept;

  // Adds a native wait that the caller did not ask for, unless `at` has been retired by now. Call
  // it once, if order_after() returned kEdge.
  void wait_for(const LanePoint& at) noexcept;

  // Has the gate called again once the lane has passed `at` or has a marker for it. Call it before
  // kLater is returned.
  void watch(const LanePoint& at) noexcept;

  // Whether nothing waits any more for the submission's signals (Semaphore::give_up).
  bool is_given_up() const noexcept;

  // Retires the submissions that `other` has passed by now.
  void retire(LaneTracker& other) noexcept;
  // Retires its own lane to the end: another thread may find the queue's role taken.
  void retire_own() noexcept;

  LaneTracker& lane() const noexcept;

 private:
  Issuer& issuer_;  // with room for one more edge
  Submission& submission_;
};

struct Gate {
  enum class Answer : std::uint8_t { kGo, kLater, kFail };
  Answer (*ask)(void* payload, IssueSite& site, Status& cause) noexcept;
  // May be null, like the next functions. Also called if the submission failed after some of its
  // commands had been issued (IssueResult::started): it has its place in the lane then.
  void (*issued)(void* payload, const LanePoint& at) noexcept = nullptr;
  // Undoes ask(), if it was called.
  void (*undo)(void* payload) noexcept = nullptr;
  // Describes the wait of the gate for dumps and errors: "4096 bytes of ..."; "" if it waits for
  // nothing.
  // Called under the queue's lock.
  std::string (*describe)(const void* payload) noexcept = nullptr;
};

}  // namespace halyard::inline v0::timeline
