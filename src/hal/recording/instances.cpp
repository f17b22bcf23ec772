// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/recording/instances.h"

#include <utility>

#include "base/format.h"
#include "timeline/lane_tracker.h"

namespace halyard::inline v0::hal {

using Answer = timeline::Gate::Answer;
using Order = timeline::IssueSite::Order;

Answer Instances::take(timeline::IssueSite& site, std::uint32_t& index, Status& cause) noexcept {
  base::LockGuard lock(mutex_);
  Order best = Order::kNone;
  bool all_dead = true;
  for (std::uint32_t i = 0; i < info_.count; ++i) {
    const Instance& instance = instances_[i];
    if (instance.taken) {
      all_dead = false;
      continue;
    }
    const LanePoint& latest = instance.latest;
    Order order = latest ? site.order_after(latest) : Order::kReached;
    all_dead &= order == Order::kNone && latest.lane->is_dead(latest.sequence);
    if (info_.reuse == InstanceReuse::kRetired && latest) {
      const bool retired = latest.lane->retired() >= latest.sequence;
      order = retired ? Order::kReached : Order::kNone;
    }
    // Prefers an instance that the same lane used last, and leaves the others to other lanes.
    if (order < best) best = order, index = i;
  }
  if (best != Order::kNone) {
    const LanePoint& latest = instances_[index].latest;
    if (best == Order::kEdge) site.wait_for(latest);
    instances_[index].taken = true;
    return Answer::kGo;
  }
  if (all_dead) {
    cause = error(StatusCode::kUnavailable,
                  "all instances of the recording ({}) are in use by work that will not end",
                  info_.count);
    return Answer::kFail;
  }
  // The first use to end makes held submissions ask again (end()), so each end is watched.
  wanted_ = true;
  for (std::uint32_t i = 0; i < info_.count; ++i) {
    const LanePoint& latest = instances_[i].latest;
    if (latest && !latest.lane->is_dead(latest.sequence)) site.watch(latest);
  }
  return Answer::kLater;
}

void Instances::issued(std::uint32_t index, const LanePoint& use) noexcept {
  base::LockGuard lock(mutex_);
  instances_[index] = {.latest = use, .taken = false};
}

void Instances::undo(std::uint32_t index) noexcept {
  base::LockGuard lock(mutex_);
  instances_[index].taken = false;
}

bool Instances::end() noexcept {
  base::LockGuard lock(mutex_);
  return std::exchange(wanted_, false);
}

}  // namespace halyard::inline v0::hal
