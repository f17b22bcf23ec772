// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Issuer: from a batch (issuer_drain.cpp) to the lane, under the issuer role:
//
//     room ── resolve the waits ── issue ── publish
//                                    └───── put back, or fail
#include <cassert>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/issuer.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

Issuer::Issuer(Queue& queue, Inbox& inbox) noexcept
    : queue_(queue), inbox_(inbox), engine_(queue.engine()), device_(queue.device()) {}

Issuer::~Issuer() {
  for (LaneTracker* lane : quarantined_) delete lane;
}

bool Issuer::open(NativeQueue& native) noexcept {
  lane_.reset(LaneTracker::create(queue_, native));
  return lane_ != nullptr && quarantined_.make_room(1);
}

bool Issuer::retire_all() noexcept {
  bool busy = carry_ != nullptr || in_parts_ != nullptr;
  if (lane_ != nullptr) {
    // Perhaps no thread waits for the last ones; without a marker their end would never be seen.
    (void)mark_tail();
    (void)lane_->try_retire(*visit_);
    busy |= lane_->published() != lane_->retired();
  }
  // Work in front of a dead wait still runs.
  for (LaneTracker* const lane : quarantined_) {
    (void)lane->try_retire(*visit_);
    busy |= lane->retired() < lane->in_front();
  }
  return busy;
}

void Issuer::watch() noexcept {
  const auto watch = [](LaneTracker& lane, std::uint64_t last) {
    if (lane.retired() < last && !lane.watched_.load(std::memory_order_acquire)) lane.watch(last);
  };
  if (lane_ != nullptr) watch(*lane_, lane_->published());
  for (LaneTracker* const lane : quarantined_) watch(*lane, lane->in_front());
}

bool Issuer::is_idle() const noexcept {
  return carry_ == nullptr && !inbox_.has_submissions() &&
         (lane_ == nullptr || lane_->retired() == lane_->published());
}

PinnedLanePoint Issuer::in_flight() const noexcept {
  LanePoint at;
  if (lane_ != nullptr) at = {lane_.get(), lane_->published()};
  for (LaneTracker* const old : quarantined_) {
    if (at && at.lane->retired() < at.sequence) break;
    at = {old, old->in_front()};
  }
  return PinnedLanePoint(at);
}

void Issuer::schedule() noexcept { queue_.schedule(); }

// Issues one submission, of which no other thread knows; its waits were reached or covered.
LanePoint Issuer::issue_direct(Submission& submission) noexcept {
  if (device_.lost()) {
    (void)submission.end(Submission::State::kParked, Submission::State::kFailed, device_.status());
    submission.release();
    return {};
  }
  submission.store(Submission::State::kIssuing);
  batch_[0] = &submission;
  edges_.shrink(0);
  first_edge_[0] = first_edge_[1] = 0;
  if (submission.wait_count_ != 0 && !may_issue(submission, 0)) return {};
  const std::uint64_t sequence = lane_->issued_ + 1;
  issue(1);
  return lane_->issued_ == sequence ? LanePoint{lane_.get(), sequence} : LanePoint{};
}

// Returns how many native commands the lane takes now, at least `wanted`. At 0 the queue is busy
// and will be kicked.
std::uint64_t Issuer::room(std::uint64_t wanted) noexcept {
  if (lane_ == nullptr || device_.lost())
    return std::max<std::uint64_t>(wanted, kBound);  // to be failed
  LaneTracker& lane = *lane_;
  if (lane.busy_.load(std::memory_order_relaxed)) return 0;
  if (const std::uint64_t free = lane.free_depth(); free >= wanted) return free;
  (void)lane.try_retire(*visit_);
  if (const std::uint64_t free = lane.free_depth(); free >= wanted) return free;
  // Rule 16: the flag is stored before the depth is read again, and a retirer lowers the depth
  // before it reads the flag.
  const std::uint64_t room_at = std::min<std::uint64_t>(lane.limit_ / 2, lane.limit_ - wanted);
  lane.refused_at_.store(LaneTracker::kNotRefused, std::memory_order_relaxed);
  lane.room_at_.store(room_at, std::memory_order_relaxed);
  lane.busy_.store(true, std::memory_order_seq_cst);
  if (const std::uint64_t free = lane.free_depth(); free >= wanted) {
    lane.busy_.store(false, std::memory_order_relaxed);
    return free;
  }
  lane.watch(lane.sequence_leaving(room_at));
  return 0;
}

// Issues the next part of the submission in parts. False: the lane has no room for a part now.
bool Issuer::issue_part() noexcept {
  if (device_.lost()) return false;  // the loss ends it (check_for_loss)
  if (room(1) == 0) return false;
  batch_[0] = in_parts_;
  edges_.shrink(0);
  first_edge_[0] = first_edge_[1] = 0;
  issue(1);
  return !lane_->busy_.load(std::memory_order_relaxed);
}

// Checks every wait anew: reached, then failed, then promise. One of them holds, because a promise
// is removed after its word has moved (rule 11).
Issuer::Resolve Issuer::resolve(Submission& submission, std::size_t index, Status& cause) noexcept {
  first_edge_[index] = edges_.size();
  if (device_.lost()) return cause = device_.status(), Resolve::kFailed;
  if (lane_ == nullptr) {
    cause =
        error(StatusCode::kUnavailable, "{}: no fresh lane after a device was lost", queue_.name());
    return Resolve::kFailed;
  }
  // An edge for each wait, and one that a gate may add.
  if (!edges_.make_room(submission.wait_count_ + std::size_t{1})) {
    cause = error(StatusCode::kResourceExhausted, "{}: no memory for native waits", queue_.name());
    return Resolve::kFailed;
  }
  for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
    WaitNode& wait = submission.waits_[i];
    for (;;) {
      const Semaphore::ValueState state = wait.semaphore->value_state(wait.key);
      if (state == Semaphore::ValueState::kReached) break;
      if (state == Semaphore::ValueState::kFailed) {
        cause = wait.semaphore->failure();
        return Resolve::kFailed;
      }
      assert(wait.domain != kHostDomain && "work of the host is ready when its waits are reached");
      const PinnedLanePoint promise = wait.semaphore->find_promise(wait.key, wait.domain);
      if (!promise) continue;
      if (promise.lane() == lane_.get()) break;  // the FIFO orders it (rule 12)
      const std::uint64_t sequence = promise.sequence();
      if (sequence >= promise->dead_from_.load(std::memory_order_acquire)) {
        cause = promise->why_dead(sequence);
        return Resolve::kFailed;
      }
      const std::uint64_t marker = promise->markers().first_from(sequence);
      if (marker == 0) {
        // Rule 20: where another thread has the role, the bit first; that one marks and kicks us.
        const bool seen = promise->queue().try_mark(*visit_);
        if (!seen) promise->queue().request_mark(queue_.mark_bit(), *visit_);
        const bool marked = promise->markers().first_from(sequence) != 0;
        if (marked) continue;
        if (seen) queue_.retry();  // it was retired meanwhile
        return Resolve::kNeedsMarker;
      }
      wait.edge = PinnedLanePoint({promise.lane(), marker});           // until the submission ends
      (void)edges_.push_back(Edge{&promise->native_queue(), marker});  // there is room
      break;
    }
  }
  if (submission.record_ != nullptr) [[unlikely]] {
    cause = engine_.checker()->issue(submission, submission.waits(), submission.signals());
    if (!cause.ok()) return Resolve::kFailed;
  }
  Resolve resolved = Resolve::kReady;
  if (submission.gate_ != nullptr) {
    IssueSite site(*this, submission);
    const Gate::Answer answer = submission.gate_->ask(submission.payload_, site, cause);
    if (answer == Gate::Answer::kLater) resolved = Resolve::kHeld;
    if (answer == Gate::Answer::kFail) resolved = Resolve::kFailed;
  }
  first_edge_[index + 1] = edges_.size();
  return resolved;
}

// Hands batch_[0, count) to the lane. Submissions that the lane does not take are put back in
// order, or failed.
void Issuer::issue(std::size_t count) noexcept {
  LaneTracker& lane = *lane_;
  Doorbell doorbell = Doorbell::kDefer;
  std::uint64_t depth = lane.issued_depth_;
  for (std::size_t i = 0; i < count; ++i) {
    Submission& submission = *batch_[i];
    const std::uint64_t sequence = lane.issued_ + 1 + i;
    CommandSpan commands{.first = 0, .count = submission.depth_};
    if (&submission == in_parts_) [[unlikely]] {
      const std::uint64_t room = std::max<std::uint64_t>(lane.free_depth(), 1);
      commands.first = part_at_;
      commands.count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(submission.depth_ - part_at_, room));
    }
    submission.place_ = {&lane, sequence};
    if (submission.doorbell_ == Doorbell::kRing) doorbell = Doorbell::kRing;
    bool want_marker = false;
    if (!lane.markers_.marks_all()) {
      want_marker = sequence - lane.markers_.through() >= kMarkEvery;
      for (const SignalNode& signal : submission.signals()) {
        want_marker |= signal.semaphore->has_waiter_for(signal.key, queue_);
      }
    }
    LaneTracker::Entry& entry = lane.entry(sequence);
    entry.submission = &submission;
    entry.depth = depth += commands.count;
    entry.is_part = commands.first + commands.count < submission.depth_;
    entry.wanted.store(false, std::memory_order_relaxed);
    lane.markers_.begin(sequence, want_marker);
    issues_[i] = {.waits = {edges_.data() + first_edge_[i], first_edge_[i + 1] - first_edge_[i]},
                  .operation = submission.operation_,
                  .sequence = sequence,
                  .want_marker = want_marker,
                  .commands = commands};
  }
  if (trace::Tracer* const tracer = queue_.tracer(); tracer != nullptr) [[unlikely]] {
    const Nanoseconds now = tracer->now();
    for (std::size_t i = 0; i < count; ++i) {
      batch_[i]->issued_ = now;
      const bool is_part = lane.entry(issues_[i].sequence).is_part;
      issues_[i].stamps = is_part ? nullptr : &batch_[i]->stamps_;
    }
  }
  // Read before the call: after it, what made the lane busy may have ended and been retired.
  const std::uint64_t retired = lane.retired();
  const bool was_empty = lane.issued_ == retired;
  const std::span<const Issue> batch(issues_, count);
  const IssueResult result = lane.native_for(batch, *visit_)->issue(batch, doorbell);
  assert(result.count <= count);
  for (std::size_t i = 0; i < result.count; ++i) {
    const Issue& issued = issues_[i];
    if (!issued.want_marker) continue;
    if (result.unmarked) [[unlikely]] {
      lane.markers_.missed(issued.sequence);
    } else {
      lane.markers_.recorded(issued.sequence);
    }
  }
  if (result.count != 0) {  // all of them, as any later marker is behind all
    lane.issued_ = issues_[result.count - 1].sequence;
    lane.issued_depth_ = lane.entry(lane.issued_).depth;
  }
  for (std::size_t i = 0; i < result.count; ++i) {
    if (batch_[i] == in_parts_) [[unlikely]] {
      part_at_ += issues_[i].commands.count;
      if (part_at_ != in_parts_->depth_) {
        publish_part(lane, *in_parts_);
        continue;
      }
      in_parts_ = nullptr;
    }
    publish(lane, *batch_[i]);
  }
  if (result.count == count) return;

  // Rule 26: a fault is loss of the device, wherever it shows.
  Status cause = result.status;
  if (cause.code() == StatusCode::kDeviceLost) {
    device_.lose(cause);
    cause = device_.status();
  }
  std::size_t first_back = result.count;
  const bool does_not_fit = result.busy && was_empty && result.count == 0;
  if (does_not_fit) {
    cause = error(StatusCode::kResourceExhausted, "{}: the submission does not fit an empty lane",
                  queue_.name());
  }
  if (!cause.ok()) fail_issue(lane, *batch_[first_back++], cause, result);
  for (std::size_t i = count; i-- > first_back;) {
    if (batch_[i] == in_parts_) {
      if (part_at_ != 0) continue;  // it stays in front of all other work
      in_parts_ = nullptr;
    }
    put_back(*batch_[i]);
  }
  if (result.busy && !does_not_fit) {
    held_back_ = true;
    lane.refused_at_.store(retired, std::memory_order_relaxed);
    lane.room_at_.store(lane.limit_ / 2, std::memory_order_relaxed);
    lane.busy_.store(true, std::memory_order_seq_cst);
    // As in room(): a thread that retired the last one before the flag was set will not kick us.
    const std::uint64_t in_flight = lane.limit_ - lane.free_depth();
    if (in_flight == 0) {
      lane.busy_.store(false, std::memory_order_relaxed);
    } else {
      lane.watch(lane.sequence_leaving(in_flight / 2));
    }
  }
}

// Reports its place in the lane, whether or not it fails later.
void Issuer::note_issued_to_gate(LaneTracker& lane, Submission& submission) noexcept {
  if (submission.gate_ == nullptr || submission.gate_->issued == nullptr) return;
  submission.gate_->issued(submission.payload_, {&lane, submission.place_.sequence});
}

void Issuer::undo_gate(Submission& submission) noexcept {
  if (submission.gate_ == nullptr || submission.gate_->undo == nullptr) return;
  submission.gate_->undo(submission.payload_);
}

// Fails a submission that the lane did not take.
void Issuer::fail_issue(LaneTracker& lane, Submission& submission, const Status& cause,
                        const IssueResult& result) noexcept {
  const bool has_parts = &submission == in_parts_ && part_at_ != 0;
  if (&submission == in_parts_) in_parts_ = nullptr;
  if (result.left != Left::kNothing) {
    // Rule 10: it takes its place in the lane, never covers, and keeps its memory and code until
    // the lane has passed it. Ended before it is published: a retirer releases it then. Where some
    // of its waits may be missing it orders nothing, and gives and uses nothing.
    const std::uint64_t sequence = lane.issued_ + 1;
    LaneTracker::Entry& entry = lane.entry(sequence);
    entry.is_part = false;
    lane.markers_.missed(sequence);
    lane.issued_ = sequence;
    lane.issued_depth_ = entry.depth;
    if (result.left == Left::kStarted) {
      note_issued_to_gate(lane, submission);
      lane.note_waits(submission);
    } else {
      undo_gate(submission);
    }
    submission.keep();
    (void)submission.end(has_parts ? Submission::State::kIssued : Submission::State::kIssuing,
                         Submission::State::kFailed, cause);
    lane.publish(sequence);
    return;
  }
  if (has_parts) {
    note_issued_to_gate(lane, submission);
    lane.take_retire_role();
    const bool passed = lane.retired() == lane.issued_;
    if (!passed) {
      lane.entry(lane.issued_).is_part = false;
      submission.keep();
    }
    (void)submission.end(Submission::State::kIssued, Submission::State::kFailed, cause);
    lane.release_retire_role();
    if (passed) submission.release();
    return;
  }
  undo_gate(submission);
  (void)submission.end(Submission::State::kIssuing, Submission::State::kFailed, cause);
  submission.release();
}

void Issuer::publish(LaneTracker& lane, Submission& submission) noexcept {
  const std::uint64_t sequence = submission.place_.sequence;
  note_issued_to_gate(lane, submission);
  lane.note_waits(submission);
  submission.store(Submission::State::kIssued);
  if (submission.listed_) queue_.unlist(submission);
  bool foreign = false;
  for (SignalNode& signal : std::span(submission.signals_, submission.signal_count_)) {
    foreign |= signal.semaphore->publish(signal, lane);
  }
  // Another lane's work was released just now and will need a marker.
  if (foreign && !lane.markers_.cover(sequence)) (void)mark();
  // From here on a retirer may end the submission.
  lane.publish(sequence);
  if (device_.hang_timeout() != 0) lane.watch(sequence);
}

// Publishes one part; more follow. Like an unissued submission it covers nothing and is listed.
void Issuer::publish_part(LaneTracker& lane, Submission& submission) noexcept {
  if (submission.state() == Submission::State::kIssuing) {
    if (!submission.listed_) queue_.list(submission);
    lane.note_waits(submission);
    submission.store(Submission::State::kIssued);
  }
  lane.publish(submission.place_.sequence);
}

// Records a marker at the tail of the lane. False: none can be recorded now, or the device is lost.
// Held submissions and the completion shell ask again every Engine::kCheckInterval.
bool Issuer::mark() noexcept {
  if (device_.lost()) return false;  // the native queue may be abandoned
  LaneTracker& lane = *lane_;
  if (Status status = lane.native(*visit_, Calls::kEnqueue)->mark(); !status.ok()) {
    if (status.code() != StatusCode::kResourceExhausted) device_.lose(status);
    return false;
  }
  lane.markers_.add(lane.issued_);
  return true;
}

void Issuer::serve_marks() noexcept {
  const std::uint64_t bits = inbox_.take_marks();
  if (bits != 0 && mark_tail()) engine_.kick_marked(bits);
}

// Under the role: true if the end of the issued work can be seen.
bool Issuer::mark_tail() noexcept {
  if (device_.lost()) return false;  // the end of the lane notifies all queues (notify_others)
  return lane_ == nullptr || lane_->markers_.cover(lane_->issued_) || mark();
}

}  // namespace halyard::inline v0::timeline
