// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: a host thread that waits until everything submitted so far has ended.
#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {
namespace {

constexpr unsigned kSpinTurns = 64;  // as wait.cpp

}  // namespace

void Queue::flush() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kRun);
  request_mark(kHostMark);
  schedule();
}

bool Queue::has_unissued() noexcept {
  base::LockGuard lock(mutex_);
  return !unissued_.empty();
}

Status Queue::wait_idle(Deadline deadline) noexcept {
  // In this order: a submission leaves the list under the issuer role, which in_flight() takes, and
  // by then its lane counts it.
  if (!has_unissued() && !in_flight()) return {};
  const Nanoseconds until = deadline.resolve(engine_.clock());
  base::Parker& parker = base::ParkerPool::acquire();
  IdleWaiter waiter{&parker, nullptr};
  {
    base::LockGuard lock(mutex_);
    waiter.next = idle_waiters_;
    idle_waiters_ = &waiter;
  }
  bool in_time = true;
  for (unsigned turns = 0;;) {
    const std::uint32_t epoch = parker.prepare();
    const bool unissued = has_unissued();
    if (!in_flight() && !unissued) break;
    const Nanoseconds now = engine_.clock().now();
    in_time = until == Deadline::kForeverTime || now < until;
    if (!in_time) break;
    // The lane's part; what is not issued yet wakes us when the last of it leaves the list.
    Lane* lane = nullptr;
    std::uint64_t sequence = 0;
    if (EffectScope scope(engine_, EffectScope::Mode::kDefer); take_role()) {
      lane = lane_.get();
      if (lane != nullptr) {
        lane->pin();
        sequence = lane->published();
      }
      if (release_role()) schedule();
    }
    const bool running = lane != nullptr && lane->retired() < sequence;
    const bool moved = running && lane->help(sequence);
    if (running && !moved && turns >= kSpinTurns &&
        !(lane->visible(sequence) && lane->native().arm(sequence, parker).ok())) {
      lane->watch(sequence);
    }
    if (lane != nullptr) lane->unpin();
    if (moved) {
      turns = 0;
    } else if (turns++ < kSpinTurns || !(unissued || running)) {
      // Without either some thread is just leaving the queue, and will not tell us.
      engine_.work_source().pause(turns);
    } else {
      const Nanoseconds look_at = now + Engine::kLookInterval;  // rule 23
      engine_.work_source().park(parker, epoch, until < look_at ? until : look_at);
    }
  }
  {
    base::LockGuard lock(mutex_);
    IdleWaiter** at = &idle_waiters_;
    while (*at != &waiter) at = &(*at)->next;
    *at = waiter.next;
  }
  base::ParkerPool::release(parker);
  if (in_time) return {};
  return error(StatusCode::kDeadlineExceeded, "{}: not idle\n{}", name(), engine_.dump_timelines(this));
}

}  // namespace halyard::inline v0::timeline
