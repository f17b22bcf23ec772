// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/access_checker.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "timeline/queue.h"
#include "timeline/semaphore.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

struct AccessRecord::Place {
  OrderEvent event;
  std::shared_ptr<const OrderClock> clock;  // without what is settled
  std::string queue;
  bool has_failed = false;
};

namespace {

const char* verb_of(AccessKind kind) noexcept {
  switch (kind) {
    case AccessKind::kRead:
      return "reads";
    case AccessKind::kWrite:
      return "writes";
    case AccessKind::kAllocate:
      return "allocates";
    case AccessKind::kFree:
      return "frees";
  }
  return "";
}

}  // namespace

bool AccessChecker::is_settled(const Place& place) const noexcept {
  return place.has_failed || is_settled(place.event);
}

void AccessChecker::see(const OrderClock& clock) {
  for (const OrderEvent& event : clock.entries()) {
    if (event.chain >= seen_.size()) seen_.resize(event.chain + std::size_t{1});
    seen_[event.chain] = std::max(seen_[event.chain], event.index);
  }
}

AccessChecker::Signals& AccessChecker::signals_of(const Semaphore& semaphore) {
  const auto [at, is_new] = semaphores_.try_emplace(semaphore.id());
  // Values from before it is first seen need no order: its initial value, or signals from before
  // the checker existed.
  if (is_new) at->second.settled = semaphore.value();
  return at->second;
}

bool AccessChecker::join_waits(std::span<const WaitNode> waits, AccessRecord& record,
                               OrderClock& clock) {
  bool are_known = true;
  for (const WaitNode& wait : waits) {
    Signals& signals = signals_of(*wait.semaphore);
    if (wait.key <= signals.settled) continue;
    const auto at = signals.signallers.lower_bound(wait.key);
    if (at != signals.signallers.end()) {
      clock.add(*at->second);
    } else if (!wait.semaphore->is_checked()) {
      record.is_external = true;
    } else if (wait.semaphore->value() < wait.key) {
      are_known = false;
    }
  }
  return are_known;
}

Status AccessChecker::submit(Submission& submission, std::span<const WaitNode> waits,
                             std::span<const SignalNode> signals) {
  AccessRecord& record = submission.declare();
  base::LockGuard lock(mutex_);
  OrderClock clock;
  // Else it is deferred.
  return join_waits(waits, record, clock) ? order(submission, std::move(clock), signals) : Status();
}

Status AccessChecker::issue(Submission& submission, std::span<const WaitNode> waits,
                            std::span<const SignalNode> signals) {
  AccessRecord& record = submission.declare();
  base::LockGuard lock(mutex_);
  if (record.place) return {};
  OrderClock clock;
  // It is issued, so each wait is reached or promised, and the signaller was ordered before that.
  (void)join_waits(waits, record, clock);
  return order(submission, std::move(clock), signals);
}

// Precondition: `clock` contains the events of the waits.
Status AccessChecker::order(Submission& submission, OrderClock clock,
                            std::span<const SignalNode> signals) {
  AccessRecord& record = submission.declare();
  if (record.is_external) {
    const std::vector<std::uint64_t>& last = chains_.last();
    for (std::uint32_t chain = 0; chain < last.size(); ++chain) clock.add({chain, last[chain]});
  }
  const auto comes_before = [&](const OrderEvent& event) {
    return clock.includes(event) || is_settled(event);
  };
  const auto is_before = [&](const std::shared_ptr<Place>& place) {
    return comes_before(place->event);
  };
  const auto is_over = [&](const std::shared_ptr<Place>& place) { return is_settled(*place); };
  for (const Access& access : record.accesses) {
    const auto* const other = accesses_.find_unordered(access, is_before, is_over);
    if (other == nullptr) continue;
    return error(StatusCode::kFailedPrecondition,
                 "{}: {} {} bytes {} to {} of allocation {}, which {} on {} {}: nothing orders the "
                 "two; have one wait for a signal of the other",
                 submission.queue().name(), *access.what, verb_of(access.kind),
                 std::max(access.begin, other->access.begin),
                 std::min(access.end, other->access.end), access.memory, *other->access.what,
                 other->owner->queue, verb_of(other->access.kind));
  }
  auto place = std::make_shared<Place>();
  place->event = chains_.extend(clock, comes_before);
  place->queue = submission.queue().name();
  for (const Access& access : record.accesses) accesses_.add(access, place, is_before);
  clock.drop_if([&](const OrderEvent& event) { return is_settled(event); });
  queues_[&submission.queue()].add(clock);
  place->clock = std::make_shared<const OrderClock>(std::move(clock));
  for (const SignalNode& signal : signals) {
    signals_of(*signal.semaphore).signallers.try_emplace(signal.key, place->clock);
  }
  record.place = std::move(place);
  if (accesses_.size() >= sweep_at_) {
    accesses_.drop_settled(is_over);
    sweep_at_ = std::max(kLeastSweep, 2 * accesses_.size());
  }
  return {};
}

void AccessChecker::end(Submission& submission, bool is_complete) noexcept {
  AccessRecord* const record = submission.take_record();
  if (record == nullptr) return;
  {
    base::LockGuard lock(mutex_);
    if (!is_complete && record->place) record->place->has_failed = true;
  }
  delete record;
}

void AccessChecker::note_started(Submission& submission) {
  base::LockGuard lock(mutex_);
  if (const std::shared_ptr<Place>& place = submission.declare().place) see(*place->clock);
}

void AccessChecker::note_signal(const Semaphore& semaphore, std::uint64_t value) {
  base::LockGuard lock(mutex_);
  // Nothing beyond what is settled.
  signals_of(semaphore).signallers.try_emplace(value, std::make_shared<const OrderClock>());
}

void AccessChecker::note_reached(const Semaphore& semaphore, std::uint64_t value) {
  base::LockGuard lock(mutex_);
  Signals& signals = signals_of(semaphore);
  const auto at = signals.signallers.lower_bound(value);
  if (value <= signals.settled || at == signals.signallers.end()) return;
  see(*at->second);
  while (!signals.signallers.empty()) {
    const auto first = signals.signallers.begin();
    const std::vector<OrderEvent>& entries = first->second->entries();
    const bool are_settled = std::all_of(entries.begin(), entries.end(), [this](const OrderEvent& e) {
      return is_settled(e);
    });
    if (!are_settled || semaphore.value() < first->first) break;
    signals.settled = first->first;
    signals.signallers.erase(first);
  }
}

void AccessChecker::note_idle(const Queue& queue) {
  base::LockGuard lock(mutex_);
  see(std::exchange(queues_[&queue], {}));
}

void AccessChecker::forget(const Semaphore& semaphore) noexcept {
  base::LockGuard lock(mutex_);
  semaphores_.erase(semaphore.id());
}

}  // namespace halyard::inline v0::timeline
