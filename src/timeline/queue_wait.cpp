// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: host threads that wait until everything submitted so far has ended, or until the backlog
// has room.
#include <algorithm>
#include <limits>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/queue.h"
#include "timeline/spin.h"
#include "timeline/trace.h"

namespace halyard::inline v0::timeline {
void Queue::flush() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kRun);
  request_mark(kQuietMark);
  // Also retires work that no thread waits for, which releases what that kept alive.
  if (const IssuerRole role{issuer_}) role->retire();
  schedule();
}

bool Queue::has_unissued() noexcept {
  base::LockGuard lock(mutex_);
  return !unissued_.empty();
}

void Queue::wake_waiters() noexcept {
  for (const Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->next) {
    waiter->parker->wake();
  }
}

// Helps, spins and sleeps until next_step() returns kDone. False: `until` passed first.
template <class F>
bool Queue::wait_here(Nanoseconds until, F&& next_step) noexcept {
  base::Parker& parker = base::ParkerPool::acquire();
  Waiter waiter{&parker, nullptr};
  {
    base::LockGuard lock(mutex_);
    waiter.next = waiters_;
    waiters_ = &waiter;
  }
  bool in_time = true;
  Nanoseconds check_at = Deadline::kForeverTime, long_from = engine_.long_from(until);
  for (Spin spin(engine_.work_source());;) {
    const std::uint32_t epoch = parker.prepare();
    const NextStep step = next_step();
    if (step == NextStep::kDone) break;
    const Nanoseconds now = engine_.clock().now();
    in_time = until == Deadline::kForeverTime || now < until;
    if (!in_time) break;
    engine_.report_if_long(long_from, [this] {
      return error(StatusCode::kDeadlineExceeded, "{}: still waited for\n{}", name(),
                   engine_.dump_timelines(this));
    });
    // Arms the lane for work in flight. For anything else another thread wakes this one.
    PinnedLanePoint lane;
    if (EffectScope scope(engine_, EffectScope::Mode::kDefer); const IssuerRole role{issuer_}) {
      lane = role->in_flight();
    }
    const std::uint64_t sequence = lane.sequence();
    const bool running = lane && lane->retired() < sequence;
    const bool moved = running && lane->help(sequence);
    const bool sleeps = !moved && !spin.again(running ? lane->poll_time() : 0);
    // Where nothing has moved for long, the completion shell checks for a fault.
    if (running && sleeps &&
        (now >= check_at ||
         !(lane->markers().cover(sequence) && lane->native()->arm(sequence, parker).ok()))) {
      lane->watch(sequence);
    }
    lane.reset();
    if (moved) {
      spin.restart();
    } else if (!sleeps || (step == NextStep::kSpin && !running)) {
      spin.pause();
    } else if (parker.prepare() != epoch) {
      // Woken before it slept: the lane is there already, and another thread is retiring it. That
      // one must run. Or the lane has no memory to arm with: look as often as a sleeper does.
      check_at = std::min(check_at, now + Engine::kCheckInterval);
      spin.pause();
    } else {
      check_at = now + Engine::kCheckInterval;  // rule 23
      engine_.work_source().park(parker, epoch, until < check_at ? until : check_at);
    }
  }
  {
    base::LockGuard lock(mutex_);
    Waiter** at = &waiters_;
    while (*at != &waiter) at = &(*at)->next;
    *at = waiter.next;
  }
  base::ParkerPool::release(parker);
  return in_time;
}

Status Queue::wait_idle(Deadline deadline) noexcept {
  Status status = wait_until_idle(deadline);
  if (AccessChecker* const checker = engine_.checker(); checker != nullptr && status.ok())
    [[unlikely]]
    checker->note_idle(*this);
  return status;
}

Status Queue::wait_until_idle(Deadline deadline) noexcept {
  // In this order: a submission leaves the list under the issuer role, which in_flight() takes. By
  // then its lane counts it.
  if (!has_unissued() && !in_flight()) return {};
  const Nanoseconds until = deadline.resolve(engine_.clock());
  if (may_block(until) == MayBlock::kInCallback) {
    return error(StatusCode::kFailedPrecondition,
                 "{}: wait_idle within a callback, which must not block", name());
  }
  return traced_wait(engine_, trace::kWaitIdle, {}, [&] {
    const bool in_time = wait_here(until, [this] {
      const bool unissued = has_unissued();
      if (!in_flight() && !unissued) return NextStep::kDone;
      // Not on the list and not in the lane: some thread is just leaving the queue.
      return unissued ? NextStep::kSleep : NextStep::kSpin;
    });
    if (in_time) return Status();
    if (until == Deadline::kPassedTime) {  // a poll
      return error(StatusCode::kDeadlineExceeded, "{}: wait_idle: not idle", name());
    }
    return error(StatusCode::kDeadlineExceeded, "{}: wait_idle: not idle\n{}", name(),
                 engine_.dump_timelines(this));
  });
}

Status Queue::wait_for_room(Deadline deadline) noexcept {
  const auto ended = [this] { return refuses_.load(std::memory_order_acquire) || device_.lost(); };
  const auto has_room = [this] {
    return inbox_.backlog(std::memory_order_seq_cst) < options_.backlog_limit;
  };
  const Nanoseconds until = deadline.resolve(engine_.clock());
  const MayBlock may = may_block(until);
  bool found = false;
  if (may == MayBlock::kYes) {
    room_waiters_.fetch_add(1, std::memory_order_seq_cst);
    // Keep the result: before another check other threads may have taken the room.
    found = wait_here(until, [&] {
      {
        // Retiring makes room in the lane; the caller may drain into it.
        EffectScope scope(engine_, EffectScope::Mode::kRun);
        if (const IssuerRole role{issuer_}) role->retire();
      }
      return ended() || has_room() ? NextStep::kDone : NextStep::kSleep;
    });
    room_waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (found || ended() || has_room()) return {};
  return error(StatusCode::kResourceExhausted, "{}: backlog of {} is full{}", name(),
               base::counted(options_.backlog_limit, "ready submission"),
               may == MayBlock::kYes          ? ", and stayed so until the deadline"
               : may == MayBlock::kInCallback ? "; a callback does not wait for room"
                                              : "");
}

}  // namespace halyard::inline v0::timeline
