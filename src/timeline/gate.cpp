// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/gate.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "timeline/lane_tracker.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

IssueSite::Order IssueSite::order_after(LaneTracker& other, std::uint64_t sequence) const noexcept {
  if (&other == &lane_) return Order::kSameLane;
  if (other.retired() >= sequence) return Order::kReached;
  if (lane_.waited_for(other, sequence)) return Order::kWaited;
  for (std::uint32_t i = 0; i < submission_.wait_count_; ++i) {
    const WaitNode& wait = submission_.waits_[i];
    if (wait.bound_lane == &other && wait.bound_sequence >= sequence) return Order::kWaited;
  }
  if (other.dead_from_.load(std::memory_order_acquire) <= sequence) return Order::kNone;
  if (other.marker_for(sequence) != 0) return Order::kEdge;
  return other.retired() >= sequence ? Order::kReached : Order::kNone;
}

void IssueSite::wait_for(LaneTracker& other, std::uint64_t sequence) noexcept {
  assert(submission_.hidden_lane_ == nullptr);
  const std::uint64_t marker = other.marker_for(sequence);
  if (marker == 0) return;  // it has been retired since
  other.pin();
  submission_.hidden_lane_ = &other;
  submission_.hidden_sequence_ = marker;
  (void)edges_.push_back(Edge{&other.native_queue(), marker});  // there is room
}

void IssueSite::watch(LaneTracker& other, std::uint64_t sequence) noexcept {
  if (other.marker_for(sequence) == 0) other.queue().request_mark(lane_.queue().mark_bit(), visit_);
  other.watch(sequence);
}

bool IssueSite::is_given_up() const noexcept {
  const std::span signals(submission_.signals_, submission_.signal_count_);
  return !signals.empty() && std::ranges::all_of(signals, [](const SignalNode& signal) {
    return signal.semaphore->is_given_up(signal.key);
  });
}

void IssueSite::retire(LaneTracker& other) noexcept { (void)other.try_retire(visit_); }

void IssueSite::retire_own() noexcept {
  (void)lane_.queue().mark_tail(visit_);
  (void)lane_.try_retire(visit_);
}

}  // namespace halyard::inline v0::timeline
