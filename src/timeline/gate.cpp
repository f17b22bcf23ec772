// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/gate.h"

#include <algorithm>
#include <span>

#include "timeline/issuer.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

LaneTracker& IssueSite::lane() const noexcept { return issuer_.lane(); }

IssueSite::Order IssueSite::order_after(const LanePoint& at) const noexcept {
  LaneTracker& other = *at.lane;
  const std::uint64_t sequence = at.sequence;
  if (&other == &lane()) return Order::kSameLane;
  if (other.retired() >= sequence) return Order::kReached;
  if (lane().waited_for(at)) return Order::kWaited;
  for (const WaitNode& wait : submission_.waits()) {
    if (wait.edge.lane() == &other && wait.edge.sequence() >= sequence) return Order::kWaited;
  }
  if (other.is_dead(sequence)) return Order::kNone;
  if (other.markers().first_from(sequence) != 0) return Order::kEdge;
  return other.retired() >= sequence ? Order::kReached : Order::kNone;
}

void IssueSite::wait_for(const LanePoint& at) noexcept {
  const std::uint64_t marker = at.lane->markers().first_from(at.sequence);
  if (marker == 0) return;  // it has been retired since
  submission_.hide_edge({at.lane, marker});
  (void)issuer_.edges().push_back(Edge{&at.lane->native_queue(), marker});  // there is room
}

void IssueSite::watch(const LanePoint& at) noexcept {
  if (at.lane->markers().first_from(at.sequence) == 0) {
    at.lane->queue().request_mark(lane().queue().mark_bit(), issuer_.visit());
  }
  at.lane->watch(at.sequence);
}

bool IssueSite::is_given_up() const noexcept {
  const std::span signals = submission_.signals();
  return !signals.empty() && std::ranges::all_of(signals, [](const SignalNode& signal) {
    return signal.semaphore->is_given_up(signal.key);
  });
}

void IssueSite::retire(LaneTracker& other) noexcept { (void)other.try_retire(issuer_.visit()); }

void IssueSite::retire_own() noexcept {
  (void)issuer_.mark_tail();
  issuer_.retire();
}

}  // namespace halyard::inline v0::timeline
