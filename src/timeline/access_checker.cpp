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

void AccessChecker::see(const OrderClock& clock) {
  for (const OrderEvent& event : clock.entries()) {
    if (event.chain >= seen_.size()) seen_.resize(event.chain + std::size_t{1});
    seen_[event.chain] = std::max(seen_[event.chain], event.index);
  }
}

AccessChecker::Signals& AccessChecker::signals_of(const Semaphore& semaphore) {
  const auto [at, is_new] = semaphores_.try_emplace(semaphore.id());
  // Values from before it is first seen need no order: its initial value, or what was signalled
  // before there was a checker.
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
  if (join_waits(waits, record, clock)) return order(submission, seen_, std::move(clock), signals);
  record.deferred = ++last_deferred_;
  deferred_.emplace(record.deferred, seen_);
  return {};
}

Status AccessChecker::issue(Submission& submission, std::span<const WaitNode> waits,
                            std::span<const SignalNode> signals) {
  AccessRecord& record = submission.declare();
  base::LockGuard lock(mutex_);
  const auto deferred = deferred_.find(record.deferred);
  if (deferred == deferred_.end()) return {};
  OrderClock clock;
  // It is issued, so each wait is reached or promised, and the signaller was ordered before that.
  (void)join_waits(waits, record, clock);
  Status status = order(submission, deferred->second, std::move(clock), signals);
  deferred_.erase(deferred);  // not before: until then nothing that it has not seen is settled
  record.deferred = 0;
  return status;
}

// Precondition: `clock` has what the waits give.
Status AccessChecker::order(Submission& submission, const Seen& seen, OrderClock clock,
                            std::span<const SignalNode> signals) {
  AccessRecord& record = submission.declare();
  const Seen& settled = this->settled();
  // What is settled comes before all later work, so clocks need not name it.
  const std::vector<std::uint64_t>& earlier = record.is_external ? chains_.last() : seen;
  for (std::uint32_t chain = 0; chain < earlier.size(); ++chain) {
    const OrderEvent event{chain, earlier[chain]};
    if (event.index != 0 && !covers(settled, event)) clock.add(event);
  }
  const auto comes_before = [&](const OrderEvent& event) {
    return clock.includes(event) || covers(settled, event);
  };
  const auto is_before = [&](const std::shared_ptr<Place>& place) {
    return comes_before(place->event);
  };
  const auto is_settled = [&](const std::shared_ptr<Place>& place) {
    return place->has_failed || covers(settled, place->event);
  };
  for (const Access& access : record.accesses) {
    const auto* const other = accesses_.find_unordered(access, is_before, is_settled);
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
  clock.drop_if([&](const OrderEvent& event) { return covers(settled, event); });
  queues_[&submission.queue()].add(clock);
  place->clock = std::make_shared<const OrderClock>(std::move(clock));
  for (const SignalNode& signal : signals) {
    signals_of(*signal.semaphore).signallers.try_emplace(signal.key, place->clock);
  }
  record.place = std::move(place);
  if (accesses_.size() >= sweep_at_) drop_settled();
  return {};
}

void AccessChecker::drop_settled() {
  const Seen& settled = this->settled();
  accesses_.drop_settled([&](const std::shared_ptr<Place>& place) {
    return place->has_failed || covers(settled, place->event);
  });
  sweep_at_ = std::max<std::size_t>(1024, 2 * accesses_.size());
}

void AccessChecker::end(Submission& submission, bool is_complete) noexcept {
  AccessRecord* const record = submission.take_record();
  if (record == nullptr) return;
  {
    base::LockGuard lock(mutex_);
    if (record->deferred != 0) deferred_.erase(record->deferred);
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
  Signals& signals = signals_of(semaphore);
  if (value <= semaphore.value()) return;  // refused
  OrderClock clock;
  for (std::uint32_t chain = 0; chain < seen_.size(); ++chain) {
    const OrderEvent event{chain, seen_[chain]};
    if (event.index != 0 && !covers(settled(), event)) clock.add(event);
  }
  signals.signallers.try_emplace(value, std::make_shared<const OrderClock>(std::move(clock)));
}

void AccessChecker::note_reached(const Semaphore& semaphore, std::uint64_t value) {
  base::LockGuard lock(mutex_);
  Signals& signals = signals_of(semaphore);
  const auto at = signals.signallers.lower_bound(value);
  if (value <= signals.settled || at == signals.signallers.end()) return;
  see(*at->second);
  // The signallers in front, as far as nothing to come needs them.
  const Seen& settled = this->settled();
  while (!signals.signallers.empty()) {
    const auto first = signals.signallers.begin();
    const std::vector<OrderEvent>& entries = first->second->entries();
    const bool is_settled = std::all_of(entries.begin(), entries.end(), [&](const OrderEvent& e) {
      return covers(settled, e);
    });
    if (!is_settled || semaphore.value() < first->first) break;
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
