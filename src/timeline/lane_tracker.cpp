// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/lane_tracker.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <new>

#include "timeline/engine.h"
#include "timeline/queue.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

LaneTracker* LaneTracker::create(Queue& queue, NativeQueue& native) noexcept {
  std::unique_ptr<LaneTracker> lane(new (std::nothrow) LaneTracker(queue, native));
  if (lane == nullptr) return nullptr;
  lane->entries_.reset(new (std::nothrow) Entry[lane->mask_ + 1]);
  return lane->entries_ != nullptr && lane->markers_.allocate() ? lane.release() : nullptr;
}

LaneTracker::LaneTracker(Queue& queue, NativeQueue& native) noexcept
    : queue_(queue),
      native_(native),
      guard_(native.entry_guard()),
      mask_(std::bit_ceil(std::max<std::uint64_t>(native.capabilities().max_in_flight, 1)) - 1),
      limit_(std::max<std::uint32_t>(native.capabilities().max_in_flight, 1)),
      poll_time_(native.capabilities().poll_time),
      markers_(*this, native.capabilities().marks_every_submission, mask_) {}

LaneTracker::~LaneTracker() = default;

bool LaneTracker::try_retire(Visit& visit) noexcept {
  if (retire_role_.exchange(true, std::memory_order_acquire)) return false;
  retire_in_role(visit);
  return true;
}

void LaneTracker::retire_overtaken(Visit& visit) noexcept {
  overtaken_.store(false, std::memory_order_seq_cst);
  take_retire_role();  // not try_retire(): a retirer may have polled before we published
  retire_in_role(visit);
}

void LaneTracker::retire_in_role(Visit& visit) noexcept {
  const Status fault = advance(visit);
  release_retire_role();
  if (!fault.ok()) {
    visit.leave();
    queue_.device().lose(fault);
  }
  notify_room();
}

void LaneTracker::notify_room() noexcept {
  // Rule 16: the issuer stored `busy` before it re-read the depth; this thread lowered the depth
  // before this load. A native queue that was busy is asked again only after something has ended.
  if (busy_.load(std::memory_order_seq_cst) &&
      depth_in_flight() <= room_at_.load(std::memory_order_relaxed) &&
      refused_at_.load(std::memory_order_relaxed) != retired() &&
      busy_.exchange(false, std::memory_order_seq_cst)) {
    queue_.schedule();
  }
}

void LaneTracker::take_retire_role() noexcept {
  base::WorkSource& work_source = queue_.engine().work_source();
  for (unsigned turns = 0; retire_role_.exchange(true, std::memory_order_acquire); ++turns) {
    work_source.pause(turns);
  }
}

Status LaneTracker::advance(Visit& visit, std::uint64_t enough) noexcept {
  if (closed_) return {};
  Progress progress{passed_, {}};
  if (passed_ < enough) progress = native(visit)->poll();
  passed_ = std::max(passed_, progress.sequence);  // a poll may know less than note_passed()
  std::uint64_t end = published_.load(std::memory_order_acquire);
  if (passed_ > end) [[unlikely]] {
    // The device was faster than the issuer, which reads `overtaken` after it has released its
    // role. If the issuer has read it already, the load of the role acquires the issuer's
    // publication: `published_` is a release store, outside the order of seq_cst accesses.
    overtaken_.store(true, std::memory_order_seq_cst);
    (void)queue_.is_issuing();
    end = published_.load(std::memory_order_acquire);
  }
  const std::uint64_t alive = dead_from_.load(std::memory_order_relaxed) - 1;
  const std::uint64_t through = std::min({passed_, end, alive});
  std::uint64_t at = retired_.load(std::memory_order_relaxed);
  // Retiring may destroy user objects, so leave the guard first.
  if (at < through || quarantined()) visit.leave();
  bool unsure = false;
  while (at < through) {
    unsure = !edges_are_complete(at, visit) && !markers_.marks_all();
    if (unsure) break;
    const Entry& passed = entry(++at);
    if (at < through) __builtin_prefetch(entry(at + 1).submission);
    if (passed.is_part) continue;
    if (passed.submission->is_kept_in_flight()) [[unlikely]] {
      release_held(at);  // its issue failed after native calls had been made (rule 10)
    } else {
      passed.submission->complete();
    }
  }
  set_retired(at);
  unsure_.store(unsure, std::memory_order_relaxed);
  // Quarantined entries that the native queue has passed after all release their payloads.
  while (quarantined() && kept_until_ < passed_ && kept_until_ < end) {
    release_held(++kept_until_);
  }
  return std::move(progress.fault);
}

// Completes the work in other lanes that the work after `before` waited for: it holds memory, and
// perhaps no thread ever asks its own lane. Rule 27: a native library may release work that waits
// for a device with a fault, so that this lane passes work whose input was never written. An edge
// that has held is complete in its own lane. Of a lane of this device it is known without a poll.
bool LaneTracker::edges_are_complete(std::uint64_t before, Visit& visit) noexcept {
  const Entry& next = entry(before + 1);
  const Submission& submission = *next.submission;
  if (submission.is_kept_in_flight()) return true;
  return submission.all_edges([&](const LanePoint& edge) {
    const auto& [lane, sequence] = edge;
    if (lane->is_complete(sequence)) return true;
    set_retired(before);  // the other lane may ask this one
    const bool passed = &lane->queue_.device() == &queue_.device();
    if (lane->complete_to(sequence, passed, visit)) return true;
    if (!markers_.marks_all()) lane->watch(sequence);
    return false;
  });
}

// Called within the retirement of another lane. A fault is left to the completion shell: the loss
// of the device takes the roles of other lanes, perhaps of that one.
bool LaneTracker::complete_to(std::uint64_t sequence, bool passed, Visit& visit) noexcept {
  if (retire_role_.exchange(true, std::memory_order_acquire)) return false;
  // If a lane marks every submission, its driver learns in poll() which resources it may use again.
  if (passed && !markers_.marks_all() && passed_ < sequence && !closed_) {
    passed_ = sequence;
    native_.note_passed(sequence);
  }
  (void)advance(visit, sequence);
  release_retire_role();
  notify_room();
  return is_complete(sequence);
}

// The sequence first: the issuer uses an entry again once the depth has been lowered, and others
// recognise that by the sequence (Markers). The depth before notify_room() reads `busy` (rule
// 16).
void LaneTracker::set_retired(std::uint64_t sequence) noexcept {
  if (sequence == retired_.load(std::memory_order_relaxed)) return;
  const std::uint64_t depth = entry(sequence).depth;
  retired_.store(sequence, std::memory_order_release);
  retired_depth_.store(depth, std::memory_order_seq_cst);
}

void LaneTracker::release_held(std::uint64_t sequence) noexcept {
  if (entry(sequence).is_part) return;
  entry(sequence).submission->release_kept();
}

void LaneTracker::close(const Status& cause) noexcept {
  take_retire_role();
  if (!closed_) {
    if (!quarantined()) kept_until_ = published();  // it is idle
    abandon(cause);
    release_abandoned();
  }
  release_retire_role();
}

void LaneTracker::abandon(const Status& cause) noexcept {
  const Nanoseconds now = queue_.engine().clock().now();
  if (!std::exchange(closed_, true)) closed_at_ = now;
  unsure_.store(false, std::memory_order_relaxed);  // nothing is completed from here on
  abandoned_.store(native()->abandon(cause, now - closed_at_), std::memory_order_seq_cst);
}

void LaneTracker::release_abandoned() noexcept {
  if (stopping()) {
    // `abandoned_` was stored before: the shell reads it after it has stored `watched_`.
    if (!watched_.exchange(true, std::memory_order_seq_cst)) queue_.engine().add_watched(*this);
    return queue_.engine().work_source().wake(base::Shell::kCompletion);
  }
  const std::uint64_t end = published();
  if (abandoned_.load(std::memory_order_relaxed) == Abandoned::kStillRunning) {
    keep_in_flight(kept_until_ + 1, end);
    kept_until_ = end;
  }
  while (kept_until_ < end) release_held(++kept_until_);
}

bool LaneTracker::try_stop() noexcept {
  if (retire_role_.exchange(true, std::memory_order_acquire)) return false;
  abandon({});
  const bool ended = !stopping();
  if (ended) release_abandoned();
  release_retire_role();
  return ended;
}

// The device may touch the payloads of these entries at any time: neither they nor the queue whose
// memory they lie in are ever released.
void LaneTracker::keep_in_flight(std::uint64_t first, std::uint64_t last) noexcept {
  std::uint32_t kept = 0;
  for (std::uint64_t at = first; at <= last; ++at) {
    if (entry(at).is_part) continue;
    entry(at).submission->unbind();
    ++kept;
  }
  if (kept != 0) queue_.engine().leak(queue_, kept);
}

std::uint64_t LaneTracker::sequence_leaving(std::uint64_t left) const noexcept {
  std::uint64_t first = retired_.load(std::memory_order_relaxed) + 1;
  std::uint64_t last = issued_;
  while (first < last) {  // entries in flight have ascending depths
    const std::uint64_t middle = first + (last - first) / 2;
    const bool enough = issued_depth_ - entries_[middle & mask_].depth <= left;
    (enough ? last : first) = enough ? middle : middle + 1;
  }
  return last;
}

Status LaneTracker::why_dead(std::uint64_t sequence) const noexcept {
  return sequence >= quarantined_from_.load(std::memory_order_acquire) ? quarantine_cause_
                                                                       : queue_.device().status();
}

void LaneTracker::note_waits(const Submission& submission) noexcept {
  (void)submission.all_edges([this](const LanePoint& edge) { return note_wait(edge), true; });
}

void LaneTracker::note_wait(const LanePoint& other) noexcept {
  // Lanes of the same device end together; a lane of another device could end, and its address be
  // reused.
  if (&other.lane->queue_.device() != &queue_.device()) return;
  LanePoint* at = waited_;
  while (at != std::end(waited_) && *at && at->lane != other.lane) ++at;
  if (at == std::end(waited_)) at = waited_;
  const bool known = at->lane == other.lane;
  *at = {other.lane, known ? std::max(at->sequence, other.sequence) : other.sequence};
}

bool LaneTracker::waited_for(const LanePoint& at) const noexcept {
  return std::any_of(std::begin(waited_), std::end(waited_), [&](const LanePoint& waited) {
    return waited.lane == at.lane && waited.sequence >= at.sequence;
  });
}

void PinnedLanePoint::pin(LaneTracker& lane) noexcept { lane.pin(); }
void PinnedLanePoint::unpin(LaneTracker& lane) noexcept { lane.unpin(); }

bool LaneTracker::help(std::uint64_t sequence, Visit& visit) noexcept {
  // The marker may show that the lane is there.
  const bool marked = markers_.make(sequence, visit);
  return native(visit)->help(sequence) || marked;
}

void LaneTracker::watch(std::uint64_t sequence) noexcept {
  entry(sequence).wanted.store(true, std::memory_order_relaxed);
  std::uint64_t target = watch_target_.load(std::memory_order_relaxed);
  while (target < sequence &&
         !watch_target_.compare_exchange_weak(target, sequence, std::memory_order_seq_cst)) {
  }
  markers_.make_for_shell(sequence);
  if (!watched_.exchange(true, std::memory_order_seq_cst)) queue_.engine().add_watched(*this);
  // Also if it was watched before: the completion shell may be armed for a later sequence.
  queue_.engine().work_source().wake(base::Shell::kCompletion);
}

void LaneTracker::watch_edges(Nanoseconds now) noexcept {
  if (retire_role_.exchange(true, std::memory_order_acquire)) return;
  const std::uint64_t first = retired() + 1;
  if (first <= published() && first < dead_from_.load(std::memory_order_relaxed)) {
    (void)entry(first).submission->all_edges([&](const LanePoint& edge) {
      if (edge.lane->retired() >= edge.sequence) return true;
      waited_at_ = now;
      // Each only once and only while it is in flight: watch() wakes the calling thread.
      if (!edge.lane->watched_.load(std::memory_order_acquire)) edge.lane->watch(edge.sequence);
      return true;
    });
  }
  release_retire_role();
}

}  // namespace halyard::inline v0::timeline
