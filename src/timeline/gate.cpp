// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/gate.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "timeline/lane_tracker.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

IssueSite::Order IssueSite::order_after(const LanePoint& at) const noexcept {
  const auto& [lane, sequence] = at;
  LaneTracker& other = *lane;
  if (&other == &lane_) return Order::kSameLane;
  if (other.retired() >= sequence) return Order::kReached;
  if (lane_.waited_for(at)) return Order::kWaited;
  for (std::uint32_t i = 0; i < submission_.wait_count_; ++i) {
    const WaitNode& wait = submission_.waits_[i];
    if (wait.edge.lane() == &other && wait.edge.sequence() >= sequence) return Order::kWaited;
  }
  if (other.dead_from_.load(std::memory_order_acquire) <= sequence) return Order::kNone;
  if (other.marker_for(sequence) != 0) return Order::kEdge;
  return other.retired() >= sequence ? Order::kReached : Order::kNone;
}

void IssueSite::wait_for(const LanePoint& at) noexcept {
  assert(!submission_.hidden_edge_);
  const std::uint64_t marker = at.lane->marker_for(at.sequence);
  if (marker == 0) return;  // it has been retired since
  submission_.hidden_edge_ = PinnedLanePoint({at.lane, marker});
  (void)edges_.push_back(Edge{&at.lane->native_queue(), marker});  // there is room
}

void IssueSite::watch(const LanePoint& at) noexcept {
  if (at.lane->marker_for(at.sequence) == 0) {
    at.lane->queue().request_mark(lane_.queue().mark_bit(), visit_);
  }
  at.lane->watch(at.sequence);
}

bool IssueSite::is_given_up() const noexcept {
  const std::span signals(submission_.signals_, submission_.signal_count_);
  return !signals.empty() && std::ranges::all_of(signals, [](const SignalNode& signal) {
    return signal.semaphore->is_given_up(signal.key);
  });
}

void IssueSite::retire(LaneTracker& other) noexcept { (void)other.try_retire(visit_); }

void IssueSite::retire_own() noexcept {
  (void)lane_.queue().mark_tail();
  (void)lane_.try_retire(visit_);
}

}  // namespace halyard::inline v0::timeline
