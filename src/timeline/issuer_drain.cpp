// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Issuer: from the inbox to a batch for the lane (issuer.cpp), and the role around it.
#include <algorithm>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/issuer.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

void IssuerRole::work(bool shell, Submission* direct, LanePoint* issued) noexcept {
  // If another thread takes the role between two drains, that thread checks again.
  if (direct != nullptr && issuer_.accept(*direct, issued) && !(release() && take())) return;
  for (std::size_t budget = Issuer::kBound;;) {
    const std::size_t done = issuer_.drain(budget);
    if (!release()) return;
    budget -= std::max<std::size_t>(done, 1);
    if (budget == 0) break;
    if (!take()) return;
  }
  visit_.leave();
  issuer_.queue_.work_later(shell);
}

bool IssuerRole::release() noexcept {
  LaneTracker* const lane = issuer_.lane_.get();
  const bool held_back = issuer_.held_back_;
  held_ = false;
  issuer_.inbox_.release_role();
  if (lane != nullptr && lane->overtaken()) [[unlikely]] {
    if (overtaken_ == Overtaken::kLeave) return true;
    lane->retire_overtaken(visit_);
  }
  // Where work is held back and the lane has room, the thread that was to drain it, or freed the
  // room, may have found the role taken, even by a thread that drains nothing.
  return issuer_.inbox_.has_work() || (held_back && (lane == nullptr || !lane->is_busy()));
}

// Issues a submission of which no other thread knows, or queues it after others. True: issued, or
// failed.
bool Issuer::accept(Submission& submission, LanePoint* issued) noexcept {
  take_inbox();
  if (carry_ == nullptr && in_parts_ == nullptr && lane_ != nullptr &&
      submission.gate_ == nullptr && submission.depth_ == 1 && room(1) != 0) {
    const LanePoint at = issue_direct(submission);
    if (issued != nullptr) *issued = at;
    return true;
  }
  if (!submission.listed_) queue_.list(submission);
  push_back(submission);
  return false;
}

// Moves the inbox to the end of the carry list, oldest first.
void Issuer::take_inbox() noexcept {
  Submission* const newest = inbox_.take_submissions();
  Submission* oldest = nullptr;
  for (Submission* at = newest; at != nullptr;) {
    Submission* older = at->next;
    at->next = oldest;
    oldest = at;
    at = older;
  }
  if (oldest == nullptr) return;
  (carry_ == nullptr ? carry_ : carry_tail_->next) = oldest;
  carry_tail_ = newest;
}

void Issuer::push_back(Submission& submission) noexcept {
  submission.next = nullptr;
  (carry_ == nullptr ? carry_ : carry_tail_->next) = &submission;
  carry_tail_ = &submission;
  inbox_.add_to_backlog();
}

void Issuer::push_front(Submission& submission) noexcept {
  if (carry_ == nullptr) carry_tail_ = &submission;
  submission.next = carry_;
  carry_ = &submission;
  inbox_.add_to_backlog();
}

Submission* Issuer::next() noexcept {
  if (carry_ == nullptr) take_inbox();
  Submission* submission = carry_;
  if (submission == nullptr) return nullptr;
  carry_ = submission->next;
  // Thousands that were parked are in no near cache; prefetch the next while this one is handled.
  if (carry_ != nullptr) {
    __builtin_prefetch(&carry_->state_);
    __builtin_prefetch(&carry_->inline_waits_[0].key);
    __builtin_prefetch(&carry_->inline_signals_[0].key);
  }
  inbox_.take_from_backlog();
  return submission;
}

// Puts it in front of everything that is ready.
void Issuer::put_back(Submission& submission) noexcept {
  undo_gate(submission);
  submission.unbind();
  if (!submission.listed_) queue_.list(submission);
  push_front(submission);
  submission.store(Submission::State::kParked);
}

// Sets it aside until retry(). To all other threads it is parked.
void Issuer::hold(Submission& submission) noexcept {
  submission.unbind();
  if (!submission.listed_) queue_.list(submission);
  submission.next = held_submissions_;
  held_submissions_ = &submission;
  queue_.add_held();
  submission.store(Submission::State::kParked);
  engine_.add_held();
  // Closed while it was being issued: no thread asks its gate again, nor fails it.
  if (queue_.is_closed()) [[unlikely]] {
    (void)submission.end(Submission::State::kParked, Submission::State::kCancelled,
                         queue_.why_closed());
    queue_.retry();
  }
}

// Puts the held submissions in front of everything that is ready, the oldest first.
void Issuer::unhold() noexcept {
  inbox_.take_retry();
  while (held_submissions_ != nullptr) {
    Submission& submission = *held_submissions_;
    held_submissions_ = submission.next;
    push_front(submission);
    queue_.drop_held();
    engine_.drop_held();
  }
}

std::size_t Issuer::drain(std::size_t bound) noexcept {
  serve_marks();
  if (inbox_.wants_sweep()) [[unlikely]] {
    visit_->leave();  // releases what a lost device held
    check_for_loss();
  }
  if (inbox_.wants_retry()) unhold();
  std::size_t done = 0;
  held_back_ = false;
  std::uint64_t wanted = 1;  // native commands that the next one needs
  while (done < bound && (in_parts_ != nullptr || carry_ != nullptr || inbox_.has_submissions())) {
    if (in_parts_ != nullptr ? !issue_part() : room(wanted) == 0) {
      take_inbox();  // a later check of the inbox must not find work that cannot be issued
      // The rest of a loss is left to the thread that reports it, which schedules the queue.
      held_back_ = in_parts_ == nullptr || !device_.lost();
      break;
    }
    if (in_parts_ != nullptr) continue;
    const std::uint64_t limit = lane_ != nullptr ? lane_->limit_ : kBound;
    std::uint64_t fits = room(wanted);
    std::size_t count = 0;
    edges_.shrink(0);
    wanted = 1;
    for (Submission* submission; fits != 0 && done < bound && (submission = next()) != nullptr;) {
      const bool in_parts = submission->depth_ > limit;
      if (in_parts ? count != 0 : submission->depth_ > fits) {
        wanted = in_parts ? 1 : submission->depth_;
        push_front(*submission);
        break;
      }
      ++done;
      if (!submission->exchange(Submission::State::kParked, Submission::State::kIssuing)) {
        submission->release();  // ended in the inbox
        continue;
      }
      if (!may_issue(*submission, count)) continue;
      if (trace::Tracer* const tracer = queue_.tracer(); tracer != nullptr) [[unlikely]]
        submission->issued_ = tracer->now();
      if (submission->work_ == Submission::Work::kHostWork) {
        queue_.enter();
        visit_->leave();
        submission->start_host_work_(*submission);
      } else if (submission->on_host()) {
        start_host_call(*submission);
      } else {
        batch_[count++] = submission;
        if (in_parts) {
          in_parts_ = submission;
          part_at_ = 0;
        }
        fits -= std::min<std::uint64_t>(fits, in_parts ? fits : submission->depth_);
      }
    }
    if (count != 0) issue(count);
  }
  if (done >= bound && (in_parts_ != nullptr || carry_ != nullptr)) held_back_ = true;
  serve_marks();
  if (queue_.is_watched() && lane_ != nullptr && lane_->retired() < lane_->published())
      [[unlikely]] {
    lane_->watch(lane_->published());
  }
  if (done != 0) queue_.note_room();
  return done;
}

// False: it has failed, or is held.
bool Issuer::may_issue(Submission& submission, std::size_t index) noexcept {
  Status cause;
  switch (resolve(submission, index, cause)) {
    case Resolve::kReady:
      return true;
    case Resolve::kFailed:
      (void)submission.end(Submission::State::kIssuing, Submission::State::kFailed, cause);
      submission.release();
      return false;
    case Resolve::kNeedsMarker:  // its recorder calls retry() (Engine::kick_marked)
    case Resolve::kHeld:
      hold(submission);
      return false;
  }
  return false;
}

void Issuer::start_host_call(Submission& submission) noexcept {
  queue_.enter();
  if (submission.work_ != Submission::Work::kBlockingHostCall) {
    return engine_.post(base::Shell::kHost, submission);
  }
  const auto run = [](void* at) { static_cast<Submission*>(at)->run(true); };
  const Status status = engine_.work_source().start_thread(run, &submission);
  if (status.ok()) return;  // it may have ended
  submission.end_host_work(
      Status(status.code(),
             base::format("{}: host call that may block: {}", queue_.name(), status.message()),
             status.native_error()));
}

}  // namespace halyard::inline v0::timeline
