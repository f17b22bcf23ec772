// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Issuer: loss of a device (timelines.md, rules 26 and 27). All of it runs under the issuer role.
//
// On the lost device everything fails. On other devices, work that waits on it natively never runs.
// Nor does later work of the same lane:
//
//     lane of device B    1   2   3(waits on lost A)   4   5
//                         └───┘   └────────────────────────┘
//                       completes   fails now; the lane is quarantined, a fresh one takes over
//
// Lanes that wait on 3, 4 or 5 are dead from that wait on as well, so every queue checks again.
#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/issuer.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

void Issuer::check_for_loss() noexcept {
  inbox_.take_sweep();
  if (device_.lost()) {
    const Status cause = device_.status();
    if (lane_ != nullptr) fail_lane(*lane_, cause);
    for (auto& lane : quarantined_) fail_lane(*lane, cause);
    queue_.fail_unissued(cause);
    // Held submissions have ended; the next drain releases them.
    if (held_submissions_ != nullptr) inbox_.want_retry();
    return;
  }
  for (auto& lane : quarantined_) (void)sweep_lane(*lane);
  if (lane_ == nullptr) return;
  if (!sweep_lane(*lane_)) return lane_->notify_room();  // sweep_lane() has retired some
  (void)quarantined_.push_back(lane_.release());       // there is room
  if (queue_.is_closed()) return;
  // Without a fresh lane, later submissions fail Unavailable (resolve).
  if (!quarantined_.make_room(1)) return;
  if (Result<NativeQueue*> fresh = queue_.open_lane(); fresh.ok()) {
    lane_.reset(LaneTracker::create(queue_, **fresh));
  }
}

void Issuer::fail_lane(LaneTracker& lane, const Status& cause) noexcept {
  lane.take_retire_role();
  if (lane.closed_) return lane.release_retire_role();
  (void)lane.advance();  // what the device has finished is complete
  end_parts(lane, cause);
  lane.abandon(cause);
  // In a quarantined lane only the work in front of the dead wait: the rest has failed before.
  const std::uint64_t first = lane.retired() + 1;
  const std::uint64_t last =
      lane.quarantined() ? lane.dead_from_.load(std::memory_order_relaxed) - 1 : lane.published();
  if (!lane.quarantined() || first <= last) lane.kept_until_ = first - 1;
  lane.dead_from_.store(first, std::memory_order_release);
  for (std::uint64_t at = first; at <= last; ++at) {
    if (lane.entry(at).is_part) continue;
    Submission& submission = *lane.entry(at).submission;
    submission.keep_issued();
    (void)submission.end(Submission::State::kIssued, Submission::State::kFailed, cause);
  }
  lane.set_retired(last);
  lane.release_abandoned();
  lane.release_retire_role();
  notify_others();
}

// Under the retire role: ends a submission of which parts are in this lane with the latest part.
void Issuer::end_parts(LaneTracker& lane, const Status& cause) noexcept {
  if (in_parts_ == nullptr || &lane != lane_.get()) return;
  Submission& submission = *std::exchange(in_parts_, nullptr);
  note_issued_to_gate(lane, submission);
  if (lane.retired() != lane.published()) {
    lane.entry(lane.published()).is_part = false;
    return;
  }
  (void)submission.end(Submission::State::kIssued, Submission::State::kFailed, cause);
  submission.release();
}

// True if the lane has become dead from some wait on.
bool Issuer::sweep_lane(LaneTracker& lane) noexcept {
  lane.take_retire_role();
  (void)lane.advance();
  const std::uint64_t last =
      std::min(lane.published(), lane.dead_from_.load(std::memory_order_relaxed) - 1);
  LanePoint lost;
  std::uint64_t dead = lane.retired() + 1;
  for (; dead <= last; ++dead) {
    const bool alive = lane.entry(dead).submission->all_edges([&](const LanePoint& edge) {
      if (edge.sequence < edge.lane->dead_from_.load(std::memory_order_acquire)) return true;
      lost = edge;
      return false;
    });
    if (!alive) break;
  }
  if (!lost) return lane.release_retire_role(), false;

  const Status cause = lost.lane->why_dead(lost.sequence);
  const Submission* const first_dead = lane.entry(dead).submission;
  end_parts(lane, cause);
  const Status behind =
      error(StatusCode::kUnavailable, "{}: behind a wait for {} that will never be reached: {}",
            queue_.name(), lost.lane->queue().name(), cause.message());
  // Progress after the last marker in front of the dead wait will never be seen.
  std::uint64_t from = dead;
  while (from > lane.retired() + 1 && !lane.markers_.has(from - 1)) --from;
  if (!lane.quarantined()) lane.quarantine_cause_ = behind;  // others may read the first one
  lane.quarantined_from_.store(from, std::memory_order_release);
  lane.kept_until_ = from - 1;
  lane.dead_from_.store(from, std::memory_order_release);
  for (std::uint64_t at = from; at <= last; ++at) {
    if (lane.entry(at).is_part) continue;
    Submission& submission = *lane.entry(at).submission;
    submission.keep_issued();
    (void)submission.end(Submission::State::kIssued, Submission::State::kFailed,
                         &submission == first_dead ? cause : behind);
  }
  lane.release_retire_role();
  notify_others();
  return true;
}

bool Issuer::quiet() noexcept {
  if (lane_ != nullptr && !lane_->quiet()) return false;
  for (LaneTracker* const lane : quarantined_) {
    // Work after its dead wait will not run, and may hold lanes of this device's queues.
    lane->close(lane->why_dead(lane->in_front() + 1));
    if (!lane->quiet()) return false;
  }
  return true;
}

bool Issuer::close_lane(const Status& cause) noexcept {
  if (lane_ == nullptr) return true;
  lane_->close(cause);  // those in quarantine have been closed: quiet()
  return lane_->quiet();
}

// After a lane became dead: has the other queues check their edges to it.
void Issuer::notify_others() noexcept {
  engine_.work_source().wake(base::Shell::kCompletion);  // it may watch the lane
  engine_.for_each_queue([this](Queue& queue) {
    if (&queue != &queue_) queue.schedule_after_loss();
  });
}

}  // namespace halyard::inline v0::timeline
