// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: from the inbox to a batch for the lane (queue_issue.cpp). Everything here runs under the
// issuer role, on whatever thread took it:
//
//     take role ── drain (<= kBound) ── release role ── check again: inbox, marks, loss, overtaken
//                                            │
//              others push to the inbox ─────┘   and leave it to the holder
#include <algorithm>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {

void Queue::run(bool shell) noexcept {
  scheduled_.store(false, std::memory_order_seq_cst);
  if (IssuerRole role{*this}) role.work(shell);
  leave();
}

void IssuerRole::work(bool shell, Submission* direct, LanePoint* issued) noexcept {
  // If another thread takes the role between two drains, that thread checks again.
  if (direct != nullptr && queue_.accept(*direct, issued) && !(release() && take())) return;
  for (std::size_t budget = Queue::kBound;;) {
    const std::size_t done = queue_.drain(budget);
    if (!release()) return;
    budget -= std::max<std::size_t>(done, 1);
    if (budget == 0) break;
    if (!take()) return;
  }
  visit_.leave();
  queue_.work_later(shell);
}

bool IssuerRole::release() noexcept {
  LaneTracker* lane = queue_.lane_.get();
  const bool held_back = queue_.held_back_;
  held_ = false;
  queue_.role_.store(false, std::memory_order_seq_cst);
  if (lane != nullptr && lane->overtaken()) [[unlikely]] {
    if (overtaken_ == Overtaken::kLeave) return true;
    lane->retire_overtaken(visit_);
  }
  return queue_.inbox_.load(std::memory_order_seq_cst) != nullptr ||
         queue_.want_mark_.load(std::memory_order_seq_cst) != 0 ||
         queue_.sweep_.load(std::memory_order_seq_cst) ||
         queue_.retry_.load(std::memory_order_seq_cst) ||
         // Work is held back and the lane has room. The thread that was to drain it, or freed the
         // room, may have found the role taken, even by a thread that drains nothing.
         (held_back && !queue_.busy_.load(std::memory_order_seq_cst));
}

// On a shell, after this thread's other effects; for an outside caller, on the issue shell if a
// thread can run that.
void Queue::work_later(bool shell) noexcept {
  if (shell || !engine_.work_source().ensure(base::Shell::kIssue).ok()) return schedule();
  enter();
  if (scheduled_.exchange(true, std::memory_order_seq_cst)) {
    leave();
  } else {
    engine_.post(base::Shell::kIssue, *this);
  }
}

// Issues a submission of which no other thread knows, or queues it behind others. True: issued, or
// failed.
bool Queue::accept(Submission& submission, LanePoint* issued) noexcept {
  take_inbox();
  if (carry_ == nullptr && in_parts_ == nullptr && lane_ != nullptr &&
      submission.gate_ == nullptr && submission.depth_ == 1 && room(1) != 0) {
    const LanePoint at = issue_direct(submission);
    if (issued != nullptr) *issued = at;
    return true;
  }
  if (!submission.listed_) list(submission);
  push_back(submission);
  backlog_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// Moves the inbox to the end of the carry list, oldest first.
void Queue::take_inbox() noexcept {
  if (inbox_.load(std::memory_order_relaxed) == nullptr) return;
  Submission* const newest = inbox_.exchange(nullptr, std::memory_order_seq_cst);
  Submission* oldest = nullptr;
  for (Submission* at = newest; at != nullptr;) {
    Submission* older = at->next_;
    at->next_ = oldest;
    oldest = at;
    at = older;
  }
  if (oldest == nullptr) return;
  (carry_ == nullptr ? carry_ : carry_tail_->next_) = oldest;
  carry_tail_ = newest;
}

void Queue::push_back(Submission& submission) noexcept {
  submission.next_ = nullptr;
  (carry_ == nullptr ? carry_ : carry_tail_->next_) = &submission;
  carry_tail_ = &submission;
}

void Queue::push_front(Submission& submission) noexcept {
  if (carry_ == nullptr) carry_tail_ = &submission;
  submission.next_ = carry_;
  carry_ = &submission;
}

Submission* Queue::next() noexcept {
  if (carry_ == nullptr) take_inbox();
  Submission* submission = carry_;
  if (submission == nullptr) return nullptr;
  carry_ = submission->next_;
  // Thousands that were parked are in no near cache; prefetch the next while this one is handled.
  if (carry_ != nullptr) {
    __builtin_prefetch(&carry_->state_);
    __builtin_prefetch(&carry_->inline_waits_[0].key);
    __builtin_prefetch(&carry_->inline_signals_[0].key);
  }
  backlog_.fetch_sub(1, std::memory_order_seq_cst);
  return submission;
}

// Puts it in front of everything that is ready.
void Queue::put_back(Submission& submission) noexcept {
  undo_gate(submission);
  submission.unbind();
  if (!submission.listed_) list(submission);
  push_front(submission);
  backlog_.fetch_add(1, std::memory_order_relaxed);
  submission.store(Submission::State::kParked);
}

// Sets it aside until retry(). To all other threads it is parked.
void Queue::hold(Submission& submission) noexcept {
  submission.unbind();
  if (!submission.listed_) list(submission);
  submission.next_ = held_submissions_;
  held_submissions_ = &submission;
  held_count_.fetch_add(1, std::memory_order_relaxed);
  submission.store(Submission::State::kParked);
  if (engine_.held_count_.fetch_add(1, std::memory_order_acq_rel) == 0) {
    engine_.work_source().wake(base::Shell::kCompletion);
  }
  // Closed while it was being issued: no thread asks its gate again, nor fails it.
  if (refuses_.load(std::memory_order_seq_cst)) [[unlikely]] {
    (void)submission.end(Submission::State::kParked, Submission::State::kCancelled, closed_);
    retry();
  }
}

// Puts the held submissions in front of everything that is ready, the oldest first.
void Queue::unhold() noexcept {
  (void)retry_.exchange(false, std::memory_order_seq_cst);  // as sweep_ in check_for_loss()
  while (held_submissions_ != nullptr) {
    Submission& submission = *held_submissions_;
    held_submissions_ = submission.next_;
    backlog_.fetch_add(1, std::memory_order_relaxed);
    push_front(submission);
    held_count_.fetch_sub(1, std::memory_order_relaxed);
    engine_.held_count_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

std::size_t Queue::drain(std::size_t bound) noexcept {
  serve_marks();
  if (sweep_.load(std::memory_order_relaxed)) [[unlikely]] {
    visit_->leave();  // releases what a lost device held
    check_for_loss();
  }
  if (retry_.load(std::memory_order_relaxed)) unhold();
  std::size_t done = 0;
  held_back_ = false;
  std::uint64_t wanted = 1;  // native commands that the next one needs
  while (done < bound && (in_parts_ != nullptr || carry_ != nullptr ||
                          inbox_.load(std::memory_order_relaxed) != nullptr)) {
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
        backlog_.fetch_add(1, std::memory_order_relaxed);
        break;
      }
      ++done;
      if (!submission->exchange(Submission::State::kParked, Submission::State::kIssuing)) {
        submission->release();  // ended in the inbox
        continue;
      }
      if (!may_issue(*submission, count)) continue;
      if (tracer_ != nullptr) [[unlikely]]
        submission->issued_ = tracer_->now();
      if (submission->host_call_ != nullptr) {
        start_host_call(*submission);
      } else if (submission->start_host_work_ != nullptr) {
        enter();
        visit_->leave();
        submission->start_host_work_(*submission);
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
  if (is_watched_.load(std::memory_order_relaxed) && lane_ != nullptr &&
      lane_->retired() < lane_->published()) [[unlikely]] {
    lane_->watch(lane_->published());
  }
  // A thread that waits for room counts itself before it reads the backlog, lowered before this.
  if (done != 0 && room_waiters_.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    wake_waiting();
  }
  return done;
}

// False: it has failed, or is held.
bool Queue::may_issue(Submission& submission, std::size_t index) noexcept {
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

void Queue::start_host_call(Submission& submission) noexcept {
  enter();
  if (!submission.own_thread_) return engine_.post(base::Shell::kHost, submission);
  const auto run = [](void* at) { static_cast<Submission*>(at)->run(true); };
  const Status status = engine_.work_source().start_thread(run, &submission);
  if (status.ok()) return;  // it may have ended
  submission.end_host_work(Status(
      status.code(), base::format("{}: host call that may block: {}", name(), status.message()),
      status.native_error()));
}

}  // namespace halyard::inline v0::timeline
