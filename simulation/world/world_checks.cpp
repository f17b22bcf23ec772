// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: checks at every step, and after all nodes have run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "simulation/world/world.h"
#include "timeline/engine.h"
#include "timeline/semaphore.h"
#include "timeline/submission.h"

namespace halyard::inline v0::sim {

using ValueState = timeline::Semaphore::ValueState;
using State = timeline::Submission::State;

namespace {

Scheduler& scheduler() { return *Scheduler::current(); }

}  // namespace

void World::step() {
  for (std::uint32_t s = 0; s < semaphores_.size(); ++s) {
    if (!semaphores_[s]) continue;
    const timeline::Semaphore& semaphore = *semaphores_[s].object();
    Word& last = words_[s];
    const Word now = {semaphore.value(), semaphore.value_state(timeline::kMaxValue) ==
                                             timeline::Semaphore::ValueState::kFailed};
    if (now.value < last.value || now.failed < last.failed) {
      check(false, fmt::format("s{} was {}, is {}, failed: {}, {}", s, last.value, now.value,
                               last.failed, now.failed));
    }
    if (now.value != last.value && !exact({s, now.value})) {
      check(false,
            fmt::format("at a step: s{} is {}, which no producer has signalled", s, now.value));
    }
    last = now;
  }
  std::erase_if(to_run_, [this](std::uint32_t k) {
    if (shared_->cells[k].written != token(k)) return false;
    for (const PlannedPoint& point : plan_.nodes[k].waits) {
      if (by_host_[k] || justified(point) || lost_at_source(point)) continue;
      check(false, fmt::format("at a step: has run, s{} was not {}", point.semaphore, point.value),
            k);
    }
    return true;
  });
}

bool World::happened(std::uint32_t k) const noexcept {
  return passed_[k] || shared_->cells[k].written == token(k);
}

// Barriers may wait for barriers. As several producers can satisfy one wait, their dependencies may
// form a cycle. So the search goes forward from nodes that have happened, not back from the
// question.
template <class F>
bool World::find_out(const F& holds) {
  const auto signalled = [this](const PlannedPoint& point) {
    return std::ranges::any_of(plan_.producers[point.semaphore], [&](const auto& producer) {
      return producer.value >= point.value && happened(producer.node);
    });
  };
  for (bool more = true; more && !holds();) {
    more = false;
    for (std::uint32_t k = 0; k < plan_.nodes.size(); ++k) {
      const Node& node = plan_.nodes[k];
      if (node.kind != NodeKind::kBarrier || !submitted_[k] || passed_[k]) continue;
      passed_[k] = std::ranges::all_of(node.waits, signalled);
      more |= passed_[k];
    }
  }
  return holds();
}

bool World::justified(const PlannedPoint& point) {
  return find_out([&] {
    return std::ranges::any_of(plan_.producers[point.semaphore], [&](const auto& producer) {
      return producer.value >= point.value && happened(producer.node);
    });
  });
}

bool World::lost_at_source(const PlannedPoint& point) const {
  return may_keep() &&
         std::ranges::any_of(plan_.producers[point.semaphore], [&](const auto& producer) {
           const std::uint32_t device = plan_.device_of(plan_.nodes[producer.node].queue);
           return plan_.is_gpu(device) && may_be_lost_[device];
         });
}

bool World::exact(const PlannedPoint& point) {
  return find_out([&] {
    return std::ranges::any_of(plan_.producers[point.semaphore], [&](const auto& producer) {
      return producer.value == point.value && happened(producer.node);
    });
  });
}

// Waits until all work has ended, unless handles are dropped in flight in this world. With planted
// faults, work may wait for values that are never signalled, until its device closes.
void World::end_all() {
  if (!abrupt_ && plan_.faulty) {
    check_left_behind();
  } else if (!abrupt_) {
    for (const hal::Queue& queue : queues_) {
      const Status status = queue.wait_idle(kForever);
      check(status.ok(), status.to_string());
    }
    check_values();
    end_callbacks();
  }
  for (std::uint32_t k = 0; k < observers_.size(); ++k) {
    Observer& observer = observers_[k];
    if (observer.registered && !observer.dropped) waits_for_callback_.push_back(k);
    observer.own = {};
  }
  never_ = {};
}

// All values are reached, so all callbacks are called, and their submissions complete.
void World::end_callbacks() {
  for (std::uint32_t k = 0; k < observers_.size(); ++k) {
    const Observer& observer = observers_[k];
    if (!observer.registered || observer.dropped) continue;
    for (int turns = 0; observer.calls == 0 && turns < 1'000; ++turns) scheduler().sleep_for(1'000);
    check(observer.calls == 1, "a callback was not called", k);
  }
  for (std::uint32_t k = 0; k < observers_.size(); ++k) {
    const Observer& observer = observers_[k];
    if (!observer.own || observer.calls == 0) continue;
    const bool accepted = observer.submitted.ok();
    const bool full =
        observer.submitted.code() == StatusCode::kResourceExhausted && plan_.small_backlog();
    check(accepted || full, observer.submitted.to_string(), k);
    const std::uint64_t largest = accepted ? 2 : 1;
    const Status reached = observer.own.wait(largest, kForever);
    check(reached.ok(), reached.to_string(), k);
    check(observer.own.query().value() == largest, "more than what a callback has signalled", k);
    // The callback's own submission may have signalled a larger value first.
    check(observer.signalled.ok() || accepted, observer.signalled.to_string(), k);
  }
}

// --- with faults ---------------------------------------------------------------------------------

bool World::ended(const Record& record) const {
  return record.handle.object()->state() >= State::kComplete;
}

// True if the submission waits for a pending value, or comes after a submission that does.
bool World::waits(const Record& record) const {
  const Node& node = plan_.nodes[record.node];
  // The state of a submission whose handle was dropped is unknown.
  const auto may_go_on = [this](const Record& other) {
    return other.accepted && (!other.lives || !ended(other));
  };
  for (const PlannedPoint& point : record.waits) {
    if (const hal::Semaphore& semaphore = semaphores_[point.semaphore]) {
      if (semaphore.object()->value_state(point.value) == ValueState::kPending) return true;
      continue;
    }
    // The semaphore's handles were dropped: it fails once no signaller is left.
    for (const auto& other : records_) {
      const auto signals = [&](const PlannedPoint& its) {
        return its.semaphore == point.semaphore;
      };
      if (may_go_on(*other) && std::ranges::any_of(other->signals, signals)) return true;
    }
  }
  if (!record.after_node) return false;
  for (const auto& other : records_) {
    if (other.get() == &record) break;
    const Node& its = plan_.nodes[other->node];
    const bool event_in_common = its.kind == NodeKind::kEvent && !other->after_node &&
                                 its.chained && node.chained && node.kind == its.kind &&
                                 plan_.device_of(its.queue) == plan_.device_of(node.queue);
    if ((other->node == record.node || event_in_common) && may_go_on(*other) &&
        (!other->lives || waits(*other))) {
      return true;
    }
  }
  return false;
}

// Devices and files are soon done, but a loss may be found late, and an allocation that waits in
// vain for memory fails late. Each of about 20 parts of a recording may take 10 ms
// (Engine::kCheckInterval) if a lane has room for one part and no marker.
void World::check_left_behind() {
  constexpr int kMostTurns = 150;
  constexpr Nanoseconds kShort = 50'000, kLong = 4'000'000;
  for (int turns = 1;; ++turns) {
    for (const hal::Queue& queue : queues_) {
      if (queue) (void)queue.flush();
      // No marker follows work that was in a lane before a wait for a lost device. The engine polls
      // the device only while a thread waits.
      if (queue && may_keep() && turns > 8)
        (void)queue.wait_idle(std::chrono::nanoseconds(kLong * 4));
    }
    for (const hal::Semaphore& semaphore : semaphores_) {
      if (semaphore) (void)semaphore.query();
    }
    scheduler().sleep_for(turns < 3 ? kShort : kLong);
    if (turns < 3) continue;
    const auto [what, node] = find_left_behind();
    if (what.empty()) break;
    if (turns == kMostTurns) check(false, what, node);
  }
  for (const auto& record : records_) record->left = record->lives && !ended(*record);
}

// A record of a queue whose handle was dropped may stay issued: no thread queries that queue.
bool World::left_behind(const Record& record) const {
  if (!record.lives || ended(record) || waits(record)) return false;
  const bool asked = std::ranges::any_of(
      queues_, [&](const hal::Queue& queue) { return queue.object() == record.queue; });
  return asked || record.handle.object()->state() != State::kIssued;
}

std::pair<std::string, std::int64_t> World::find_left_behind() {
  for (const auto& record : records_) {
    if (left_behind(*record)) {
      return {"left behind, though nothing is left that it waits for", record->node};
    }
    if (!record->lives || !ended(*record)) continue;
    for (const PlannedPoint& point : record->signals) {
      const hal::Semaphore& semaphore = semaphores_[point.semaphore];
      if (!semaphore || semaphore.object()->value_state(point.value) != ValueState::kPending)
        continue;
      return {fmt::format("has ended, and s{} has not heard of it", point.semaphore), record->node};
    }
  }
  for (std::uint32_t k = 0; k < observers_.size(); ++k) {
    const Observer& observer = observers_[k];
    if (!observer.registered || observer.dropped || observer.calls != 0) continue;
    const PlannedPoint& point = plan_.nodes[k].waits[0];
    const hal::Semaphore& semaphore = semaphores_[point.semaphore];
    if (!semaphore || semaphore.object()->value_state(point.value) == ValueState::kPending)
      continue;
    return {"a callback has not heard of what it was to hear of", k};
  }
  return {};
}

void World::drop_handles() {
  // Callbacks read these handles; the exchange makes each of them either valid or null.
  const auto drop = [](auto& handles) { const auto last = std::exchange(handles, {}); };
  constexpr unsigned kGroups = 8;
  const std::uint64_t first = random_.below(kGroups);
  for (std::uint64_t i = 0; i < kGroups; ++i) {
    switch ((first + 3 * i) % kGroups) {  // 3 and 8 are coprime
      case 0:
        drop(looks_);
        drop(kernel_looks_);
        break;
      case 1:
        drop(stages_);
        drop(events_);
        break;
      case 2:
        drop(cells_of_);
        break;
      case 3:
        drop(pools_);
        break;
      case 4:
        drop(semaphores_);
        break;
      case 5:
        drop(queues_);
        break;
      case 6:
        drop(file_);
        break;
      default:
        drop(devices_);
    }
  }
}

// Nothing failed, so every producer has signalled.
void World::check_values() {
  for (std::uint32_t s = 0; s < plan_.semaphores; ++s) {
    std::uint64_t largest = 0;
    for (const Plan::Producer& producer : plan_.producers[s]) {
      largest = std::max(largest, producer.value);
    }
    // The wait is needed because no thread has waited for queues that were renewed.
    const Status reached = semaphores_[s].wait(largest, kForever);
    check(reached.ok(), reached.to_string());
    const Result<std::uint64_t> value = semaphores_[s].query();
    check(value.ok(), value.status().to_string());
    check(*value == largest,
          fmt::format("s{} is {}, although a producer has signalled {}", s, *value, largest));
  }
}

// Finds the queues of devices that may be lost, and all queues whose work waits for work of such a
// queue: their lanes may wait natively for values that are never signalled.
void World::find_lossy_queues() {
  const auto is_lossy = [this](const hal::QueueObject* queue) {
    return std::ranges::find(lossy_queues_, queue) != lossy_queues_.end();
  };
  const auto waits_for_loss = [&](const Record& record) {
    const auto before = [&](const auto& other) {
      return other->node == record.node && is_lossy(other->queue);
    };
    if (record.after_node && std::ranges::any_of(records_, before)) return true;
    return std::ranges::any_of(record.waits, [&](const PlannedPoint& point) {
      return std::ranges::any_of(records_, [&](const auto& other) {
        return is_lossy(other->queue) &&
               std::ranges::any_of(other->signals, [&](const PlannedPoint& signal) {
                 return signal.semaphore == point.semaphore;
               });
      });
    });
  };
  for (bool more = plan_.loses_devices; more;) {
    more = false;
    for (const auto& record : records_) {
      const std::uint32_t device = plan_.device_of(plan_.nodes[record->node].queue);
      if (is_lossy(record->queue) || !(may_be_lost_[device] || waits_for_loss(*record))) continue;
      lossy_queues_.push_back(record->queue);
      more = true;
    }
  }
}

bool World::may_refuse(const Record& record) const {
  return plan_.may_refuse(plan_.device_of(plan_.nodes[record.node].queue));
}

// Checks that the refusal had a possible reason, at any time.
void World::check_refusal(const Record& record) {
  const Node& node = plan_.nodes[record.node];
  const std::string what = record.cause.to_string();
  const bool lossy = std::ranges::find(lossy_queues_, record.queue) != lossy_queues_.end();
  switch (record.cause.code()) {
    case StatusCode::kInvalidArgument: {
      const auto is_late = [&](const PlannedPoint& signal) {
        const auto waits_for_it = [&](const PlannedPoint& wait) {
          return wait.semaphore == signal.semaphore && wait.value >= signal.value;
        };
        // Without a handle of the world, nothing observes the semaphore's value.
        return dropped_[signal.semaphore] || words_[signal.semaphore].value >= signal.value ||
               std::ranges::any_of(record.waits, waits_for_it);
      };
      return check(std::ranges::any_of(record.signals, is_late), what, record.node);
    }
    case StatusCode::kResourceExhausted:
      return check(plan_.small_backlog() || may_refuse(record), what, record.node);
    case StatusCode::kFailedPrecondition:
      // Another node has set or reset the event that both share.
      return check(node.kind == NodeKind::kEvent && node.chained && record.after_node, what,
                   record.node);
    case StatusCode::kDeviceLost:
    case StatusCode::kUnavailable:
      return check(lossy, what, record.node);
    default:
      return check(false, what, record.node);
  }
}

void World::check_records() {
  find_lossy_queues();
  for (const auto& record : records_) {
    if (!record->accepted) check_refusal(*record);
  }
  for (const auto& owned : records_) {
    Record& record = *owned;
    if (!record.lives) continue;
    const timeline::Submission& submission = *record.handle.object();
    record.state = static_cast<int>(submission.state());
    record.cause = submission.cause();
  }
  for (const auto& owned : records_) {
    const Record& record = *owned;
    if (!record.lives) continue;
    const std::uint32_t k = record.node;
    const Node& node = plan_.nodes[k];
    const bool written = shared_->cells[k].written == token(k);
    switch (static_cast<State>(record.state)) {
      case State::kComplete:
        check(!record.cancelled, "a submission that was cancelled is complete", k);
        check(!record.writes || written, "a complete submission has not run", k);
        if (node.kind == NodeKind::kExecute || node.kind == NodeKind::kDispatch) check_inputs(k);
        break;
      case State::kCancelled:
      case State::kFailed: {
        check(plan_.faulty || abrupt_, record.cause.to_string(), k);
        const bool device_lost = record.cause.code() == StatusCode::kDeviceLost ||
                                 record.cause.code() == StatusCode::kUnavailable;
        const bool by_itself = (node.kind == NodeKind::kHostCall && node.fails) ||
                               (node.kind == NodeKind::kFile && files_->failed(k));
        check(!record.writes || !written || by_host_[k] || device_lost || by_itself,
              fmt::format("has run, and then failed: {}", record.cause.to_string()), k);
        check(explained(record, record.cause),
              fmt::format("failed for no reason: {}", record.cause.to_string()), k);
        break;
      }
      default:
        check(false, fmt::format("a submission was forgotten, in state {}", record.state), k);
    }
  }
  for (const Failure& failure : observed_) {
    check(std::ranges::any_of(
              failure.points,
              [&](const PlannedPoint& point) { return caused(point.semaphore, failure.message); }),
          fmt::format("a wait failed for no reason: {}", failure.message));
  }
  for (const std::uint32_t k : waits_for_callback_) {
    check(observers_[k].calls == 1, "a callback was never called", k);
  }
  check(shared_->released == cells_imported_ || (kept_ && shared_->released < cells_imported_),
        "memory was not given back");
}

// For each wait, one of the nodes that could satisfy it had written its token before the node ran.
void World::check_inputs(std::uint32_t k) {
  const std::vector<std::uint32_t> from = inputs(k);
  for (const PlannedPoint& point : plan_.nodes[k].waits) {
    bool seen = false;
    for (const Plan::Producer& producer : plan_.producers[point.semaphore]) {
      if (producer.value < point.value) continue;
      const auto at = std::ranges::find(from, producer.node);
      const bool silent = at == from.end() || plan_.nodes[producer.node].kind == NodeKind::kBarrier;
      seen |= silent || shared_->cells[k].seen[at - from.begin()] == token(producer.node);
    }
    check(seen, fmt::format("ran before s{} was {}", point.semaphore, point.value), k);
  }
}

// True if the submission had a possible reason for this failure, at any time.
bool World::explained(const Record& record, const Status& cause) {
  const Node& node = plan_.nodes[record.node];
  switch (cause.code()) {
    case StatusCode::kDeviceLost:
    case StatusCode::kUnavailable:
      if (std::ranges::find(lossy_queues_, record.queue) != lossy_queues_.end()) return true;
      break;
    case StatusCode::kResourceExhausted:
      if (may_refuse(record)) return true;
      break;
    case StatusCode::kCancelled:
      if (record.cancelled) return true;
      if (node.gives_up && cause.message().find("no one waits for it") != std::string_view::npos) {
        return true;
      }
      if ((abrupt_ || closed_ || record.left) &&
          cause.message().find("closed") != std::string_view::npos) {
        return true;
      }
      break;
    default:
      break;
  }
  if (node.kind == NodeKind::kHostCall && node.fails &&
      cause.message() == fmt::format("planted by node {}", record.node)) {
    return true;
  }
  if (node.kind == NodeKind::kFile && files_->failed(record.node) &&
      (cause.native_error() == "EIO" || cause.native_error() == "ENOSPC")) {
    return true;
  }
  // An earlier submission of its node has failed with the same message.
  if (record.after_node && std::ranges::any_of(records_, [&](const auto& other) {
        return other->node == record.node &&
               (!other->lives || other->cause.message() == cause.message());
      })) {
    return true;
  }
  return std::ranges::any_of(record.waits, [&](const PlannedPoint& point) {
    return caused(point.semaphore, cause.message());
  });
}

bool World::caused(std::uint32_t s, std::string_view message) {
  // A semaphore without handles fails once no signaller is left.
  const bool goes = dropped_[s] || abrupt_ || plan_.faulty;
  if (goes && message.find("dropped before value") != std::string_view::npos) return true;
  if (std::ranges::any_of(planted_, [&](const Failure& failure) {
        return failure.points[0].semaphore == s && failure.message == message;
      })) {
    return true;
  }
  return std::ranges::any_of(records_, [&](const auto& record) {
    const bool signals = std::ranges::any_of(
        record->signals, [&](const PlannedPoint& point) { return point.semaphore == s; });
    // A submission whose handle was dropped may have ended in any way.
    return signals && record->accepted && (!record->lives || record->cause.message() == message);
  });
}

}  // namespace halyard::inline v0::sim
