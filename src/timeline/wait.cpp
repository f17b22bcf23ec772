// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host threads that wait: they poll, help, spin a little, then sleep.
//
// A waiting thread finds the lane that will signal its value and retires that lane itself, so a
// wait with work in flight needs no other thread. Before it sleeps, it links itself to the
// semaphore (for a thread that signals or retires instead) and arms the lane with its parker (for
// the device).
#include <algorithm>
#include <new>

#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/host_wait.h"
#include "timeline/lane_tracker.h"
#include "timeline/semaphore.h"
#include "timeline/spin.h"
#include "timeline/trace.h"

namespace halyard::inline v0::timeline {
namespace {

class Waiter {
 public:
  Waiter(Engine& engine, std::span<const Point> points, bool any)
      : engine_(engine), points_(points), any_(any) {}
  ~Waiter() {
    if (linked_) {
      for (std::size_t i = 0; i < points_.size(); ++i) waits_[i].leave(engine_.work_source());
    }
    if (parker_ != nullptr) base::ParkerPool::release(*parker_);
    if (waits_ != inline_waits_) delete[] waits_;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  Status wait(Deadline deadline);

 private:
  enum class Outcome { kPending, kDone };
  Outcome look(Status& outcome) const;
  bool make_progress(bool polls);
  Status link();
  void arm(bool stalled);
  Status deadline_exceeded(bool polled) const;

  Engine& engine_;
  const std::span<const Point> points_;
  const bool any_;
  Visit visit_;  // of the lanes that it polls
  Nanoseconds poll_time_ = 0;

  static constexpr std::size_t kInlineWaits = 4;
  HostWait inline_waits_[kInlineWaits];
  HostWait* waits_ = inline_waits_;
  base::Parker* parker_ = nullptr;
  bool linked_ = false;
};

Waiter::Outcome Waiter::look(Status& outcome) const {
  std::size_t reached = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    switch (points_[i].semaphore()->value_state(points_[i].value())) {
      case Semaphore::ValueState::kReached:
        if (any_) return outcome = {}, Outcome::kDone;
        ++reached;
        break;
      case Semaphore::ValueState::kFailed:
        if (outcome.ok()) outcome = points_[i].semaphore()->failure();
        if (!any_) return Outcome::kDone;
        break;
      case Semaphore::ValueState::kPending:
        break;
    }
  }
  // For `any`: success before failure, so all points were checked.
  return !outcome.ok() || reached == points_.size() ? Outcome::kDone : Outcome::kPending;
}

// Retires and helps the lanes that will signal the pending points. A thread that only polls does
// not help, since work that it would run there may take long. False: nothing moved.
bool Waiter::make_progress(bool polls) {
  bool moved = false;
  poll_time_ = 0;
  for (const Point& point : points_) {
    if (point.semaphore()->value_state(point.value()) != Semaphore::ValueState::kPending) continue;
    const PinnedLanePoint lane = point.semaphore()->find_promise(point.value(), kHostDomain);
    if (!lane) continue;
    const std::uint64_t sequence = lane.sequence();
    const auto retire = [&] {
      EffectScope scope(engine_, EffectScope::Mode::kDefer);
      // A busy role is progress too: its holder retires for us.
      moved |= !lane->try_retire(visit_);
      moved |= lane->retired() >= sequence;
    };
    retire();
    if (lane->retired() < sequence &&
        (polls ? lane->markers().make(sequence, visit_) : lane->help(sequence, visit_))) {
      moved = true;
      retire();
    }
    if (lane->retired() < sequence) {
      poll_time_ = std::max(poll_time_, lane->poll_time());
      EffectScope scope(engine_, EffectScope::Mode::kDefer);
      moved |= point.semaphore()->retire_others(point.value(), lane.lane(), visit_);
    }
  }
  return moved;
}

Status Waiter::link() {
  if (points_.size() > kInlineWaits) {
    HostWait* waits = new (std::nothrow) HostWait[points_.size()];
    if (waits == nullptr) {
      return error(StatusCode::kResourceExhausted, "wait: no memory for {} points", points_.size());
    }
    waits_ = waits;
  }
  parker_ = &base::ParkerPool::acquire();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    HostWait& wait = waits_[i];
    wait.parker = parker_;
    wait.node.semaphore = points_[i].semaphore();
    wait.node.owner = &wait;
    wait.node.kind = WaitNode::Kind::kHost;
    wait.node.key = points_[i].value();
    if (points_[i].semaphore()->park(wait.node, false, nullptr) != Semaphore::Park::kLinked) {
      wait.done.store(true, std::memory_order_relaxed);  // decided already; no thread will pop it
    }
  }
  linked_ = true;
  return {};
}

// Asks the lanes to wake this thread. If nothing has moved for long, has the completion shell check
// for a fault.
void Waiter::arm(bool stalled) {
  for (const Point& point : points_) {
    if (point.semaphore()->value_state(point.value()) != Semaphore::ValueState::kPending) continue;
    const PinnedLanePoint lane = point.semaphore()->find_promise(point.value(), kHostDomain);
    if (!lane) continue;  // its publisher finds this waiter linked and has the lane watched
    const std::uint64_t sequence = lane.sequence();
    Visit visit;
    (void)lane->markers().make(sequence, visit);
    // Without a marker yet, or when arming fails, the completion shell watches it.
    if (stalled || !lane->markers().cover(sequence) ||
        !lane->native(visit)->arm(sequence, *parker_).ok()) {
      lane->watch(sequence);
    }
    point.semaphore()->watch_others(point.value(), lane.lane());
  }
}

Status Waiter::wait(Deadline deadline) {
  Status outcome;
  if (look(outcome) == Outcome::kDone) return outcome;
  base::WorkSource& work_source = engine_.work_source();
  const Nanoseconds until = deadline.resolve(engine_.clock());
  if (may_block(until) == MayBlock::kInCallback) {
    return error(StatusCode::kFailedPrecondition,
                 "{}: a wait for {} within a callback, which must not block",
                 points_[0].semaphore()->describe(), points_[0].value());
  }
  Nanoseconds check_at = Deadline::kForeverTime, long_from = engine_.long_from(until);
  for (Spin spin(work_source);;) {
    if (make_progress(until == Deadline::kPassedTime)) spin.restart();
    if (look(outcome) == Outcome::kDone) return outcome;
    if (until != Deadline::kForeverTime &&
        (until == Deadline::kPassedTime || engine_.clock().now() >= until)) {
      // Names nothing if the value has come just now.
      Status exceeded = deadline_exceeded(/*polled=*/until == Deadline::kPassedTime);
      return look(outcome) == Outcome::kDone ? outcome : exceeded;
    }
    if (spin.again(poll_time_)) {
      spin.pause();
      continue;
    }
    visit_.leave();
    if (!linked_) HALYARD_RETURN_IF_ERROR(link());
    engine_.report_if_long(long_from, [this] { return deadline_exceeded(/*polled=*/false); });
    const std::uint32_t epoch = parker_->prepare();
    arm(engine_.clock().now() >= check_at);
    if (look(outcome) == Outcome::kDone) return outcome;
    if (parker_->prepare() != epoch) {
      // Woken before it slept: the lane is there already, or has a fault, and another thread is
      // about to say so. That one must run. Or the lane has no memory to arm with: look as often
      // as a sleeper does.
      check_at = std::min(check_at, engine_.clock().now() + Engine::kCheckInterval);
      spin.pause();
      continue;
    }
    // Rule 23: notifications can be lost, so check again now and then.
    check_at = engine_.clock().now() + Engine::kCheckInterval;
    work_source.park(*parker_, epoch, until < check_at ? until : check_at);
  }
}

// A polling wait gets only what takes a few comparisons: thousands of submissions may be parked.
Status Waiter::deadline_exceeded(bool polled) const {
  std::string text;
  for (const Point& point : points_) {
    if (point.semaphore()->value_state(point.value()) != Semaphore::ValueState::kPending) continue;
    base::append(text, "{}{} waited for {}, is {}", text.empty() ? "" : "; ",
                 point.semaphore()->describe(), point.value(), point.semaphore()->value());
    if (polled) continue;
    std::string producer = point.semaphore()->describe_promise(point.value());
    if (producer.empty()) producer = engine_.describe_unissued(point);
    base::append(text, ", to come from {}",
                 producer.empty() ? std::string_view("no submission: the host") : producer);
  }
  if (polled) return Status(StatusCode::kDeadlineExceeded, text);
  std::string dump = engine_.dump_timelines();
  constexpr std::size_t kFirstLines = 700;  // characters, or the first line
  if (dump.size() > kFirstLines) {
    std::size_t end = dump.rfind('\n', kFirstLines);
    if (end == std::string::npos) end = dump.find('\n');
    const auto more = std::ranges::count(std::string_view(dump).substr(end + 1), '\n');
    dump.erase(end + 1);
    if (more != 0)
      base::append(dump, "  ... {} more in dump_timelines()",
                   base::counted(static_cast<std::uint64_t>(more), "line"));
  }
  base::append(text, "\n{}", dump);
  return Status(StatusCode::kDeadlineExceeded, text);
}

Status check_points(std::span<const Point> points) {
  for (const Point& point : points) {
    if (point.value() > kMaxValue) {
      return error(StatusCode::kInvalidArgument, "{}: wait for {} above 2^63-1",
                   point.semaphore()->describe(), base::number(point.value()));
    }
  }
  return {};
}

Status wait(Engine& engine, std::span<const Point> points, Deadline deadline, bool any) {
  HALYARD_RETURN_IF_ERROR(check_points(points));
  if (points.empty()) return {};
  Status status = traced_wait(engine, trace::kWaitFor, points,
                              [&] { return Waiter(engine, points, any).wait(deadline); });
  if (engine.checker() != nullptr && status.ok()) [[unlikely]] {
    for (const Point& point : points) {
      const Semaphore& semaphore = *point.semaphore();
      if (semaphore.value_state(point.value()) == Semaphore::ValueState::kReached) {
        semaphore.note_reached(point.value());
      }
    }
  }
  return status;
}

}  // namespace

Status Semaphore::wait(std::uint64_t value, Deadline deadline) {
  if (value_state(value) == ValueState::kReached) {
    note_reached(value);
    return {};
  }
  const Point point{this, value};
  return timeline::wait(engine_, {&point, 1}, deadline, false);
}

Status Semaphore::wait(std::uint64_t value, Deadline deadline, const LanePoint& issued) {
  const Point point{this, value};
  return traced_wait(engine_, trace::kWaitFor, {&point, 1}, [&] {
    const Nanoseconds until = deadline.resolve(engine_.clock());
    if (Visit visit; issued.lane != nullptr && until != Deadline::kPassedTime &&
                     issued.lane->help(issued.sequence, visit)) {
      EffectScope scope(engine_, EffectScope::Mode::kDefer);
      (void)issued.lane->try_retire();
    }
    Status status;
    if (value_state(value) != ValueState::kReached) {
      status = Waiter(engine_, {&point, 1}, false).wait(Deadline::at(until));
    }
    // It was issued without a doorbell, because this thread was to help. The deadline has passed,
    // or other threads have decided the wait. Watching its lane arms it, and arming rings the
    // doorbell.
    if (issued.lane != nullptr && issued.lane->retired() < issued.sequence) [[unlikely]] {
      issued.lane->watch(issued.sequence);
    }
    if (status.ok()) note_reached(value);
    return status;
  });
}

Status wait_all(Engine& engine, std::span<const Point> points, Deadline deadline) {
  return wait(engine, points, deadline, false);
}

Status wait_any(Engine& engine, std::span<const Point> points, Deadline deadline) {
  return wait(engine, points, deadline, true);
}

}  // namespace halyard::inline v0::timeline
