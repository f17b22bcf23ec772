// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/engine.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/format.h"

namespace halyard::inline v0::timeline {

Device::~Device() { (void)Status::adopt_record(lost_.load(std::memory_order_acquire)); }

Status Device::status() const noexcept {
  return Status::share_record(lost_.load(std::memory_order_acquire));
}

void Device::lose(const Status& cause) noexcept {
  if (lost()) return;
  detail::StatusRecord* record =
      Status(StatusCode::kDeviceLost, base::format("{}: device lost: {}", name_, cause.message()),
             cause.native_error().empty() ? to_string(cause.code()) : cause.native_error())
          .release_record();
  detail::StatusRecord* none = nullptr;
  if (!lost_.compare_exchange_strong(none, record, std::memory_order_acq_rel)) {
    (void)Status::adopt_record(record);
    return;
  }
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  engine_.for_each_queue([this](Queue& queue) {
    if (&queue.device() != this) return;  // the others are scheduled when the lanes are dead
    queue.schedule_after_loss();
  });
}

Engine::Engine(base::WorkSource& work_source, const DomainMatrix& domains, trace::Tracer* tracer)
    : work_source_(work_source), domains_(domains), tracer_(tracer) {}

Engine::~Engine() {
  assert(queues_.empty() && "queues end before their engine");
  delete checker();
}

void Engine::check_accesses() {
  if (checker() != nullptr) return;
  auto checker = std::make_unique<AccessChecker>();
  AccessChecker* none = nullptr;
  if (checker_.compare_exchange_strong(none, checker.get(), std::memory_order_acq_rel)) {
    (void)checker.release();
  }
}

void Engine::post(base::Shell shell, WorkItem& item) noexcept {
  WorkList list;
  list.push(item);
  post(shell, list);
}

void Engine::post(base::Shell shell, WorkList& items) noexcept {
  SharedList& shared = shells_[static_cast<int>(shell)];
  {
    base::LockGuard lock(shared.mutex);
    shared.list.splice(items);
    shared.filled.store(true, std::memory_order_seq_cst);
  }
  work_source_.wake(shell);
}

bool Engine::step_issue() noexcept { return run_posted(base::Shell::kIssue); }

bool Engine::step_reclaim() noexcept { return run_posted(base::Shell::kReclaim); }

bool Engine::run_posted(base::Shell shell) noexcept {
  SharedList& shared = shells_[static_cast<int>(shell)];
  if (!shared.filled.load(std::memory_order_seq_cst)) return false;
  WorkList list;
  {
    base::LockGuard lock(shared.mutex);
    list.splice(shared.list);
    shared.filled.store(false, std::memory_order_relaxed);
  }
  EffectScope scope(*this, EffectScope::Mode::kShell);
  while (WorkItem* item = list.pop()) item->run(true);
  return true;
}

bool Engine::step_host() noexcept {
  SharedList& shared = shells_[static_cast<int>(base::Shell::kHost)];
  if (!shared.filled.load(std::memory_order_seq_cst)) return false;
  WorkItem* item = nullptr;
  {
    base::LockGuard lock(shared.mutex);
    item = shared.list.pop();
    if (shared.list.empty()) shared.filled.store(false, std::memory_order_relaxed);
  }
  if (item != nullptr) item->run(true);  // opens its own scope, after the user's function
  return item != nullptr;
}

bool Engine::step_completion() noexcept {
  bool did = run_posted(base::Shell::kCompletion);
  LaneTracker* lanes = nullptr;
  {
    base::LockGuard lock(watch_mutex_);
    std::swap(lanes, watched_);
  }
  while (lanes != nullptr) {
    LaneTracker& lane = *lanes;
    lanes = lane.next_watched_;
    EffectScope scope(*this, EffectScope::Mode::kShell);
    did |= check_lane(lane);
  }
  return retry_held() || did;
}

Nanoseconds Engine::next_check() noexcept {
  base::LockGuard lock(watch_mutex_);
  return watched_ == nullptr ? retry_at_ : std::min(retry_at_, clock().now() + kCheckInterval);
}

// Retries what gates hold back. The first submission to be held wakes this shell.
bool Engine::retry_held() noexcept {
  if (held_count_.load(std::memory_order_acquire) == 0) {
    return retry_at_ = Deadline::kForeverTime, false;
  }
  const Nanoseconds now = clock().now();
  const bool due = retry_at_ <= now;
  if (due || retry_at_ == Deadline::kForeverTime) retry_at_ = now + kCheckInterval;
  if (!due) return false;
  EffectScope scope(*this, EffectScope::Mode::kShell);
  for_each_queue([](Queue& queue) {
    if (queue.has_held()) queue.retry();
  });
  return true;
}

void Engine::retry_queues() noexcept {
  EffectScope scope(*this, EffectScope::Mode::kPost);
  for_each_queue([](Queue& queue) { queue.retry(); });
}

void Engine::note_ended(bool patient) noexcept {
  constexpr Nanoseconds kPatience = 10'000'000;
  const Nanoseconds until = clock().now() + (patient ? kPatience : 0);
  for (unsigned turns = 0; retire_ended() && clock().now() < until; ++turns) {
    work_source_.pause(turns);
  }
}

// True if something is in flight. Not under the lock of the list, as a loss may be found.
bool Engine::retire_ended() noexcept {
  bool busy = false;
  // From the back: when one is removed meanwhile, none is left out.
  for (std::size_t left = std::numeric_limits<std::size_t>::max();;) {
    Queue* queue = nullptr;
    {
      base::LockGuard lock(queues_mutex_);
      left = std::min(left, queues_.size());
      if (left == 0) return busy;
      queue = queues_[--left];
      queue->enter();
    }
    {
      EffectScope scope(*this, EffectScope::Mode::kDefer);
      busy |= queue->retire_ended();
    }
    queue->leave();
  }
}

void Engine::add_watched(LaneTracker& lane) noexcept {
  lane.pin();
  lane.last_progress_ = clock().now();
  base::LockGuard lock(watch_mutex_);
  lane.next_watched_ = watched_;
  watched_ = &lane;
}

// By the completion shell. True if it should check again before it sleeps.
bool Engine::check_lane(LaneTracker& lane) noexcept {
  const auto keep = [&] {
    base::LockGuard lock(watch_mutex_);
    lane.next_watched_ = watched_;
    watched_ = &lane;
  };
  if (lane.stopping() && !lane.try_stop()) return keep(), false;
  if (!lane.try_retire() || lane.unsure_.load(std::memory_order_relaxed)) {
    // Another thread is about to release the role of this lane, or of a lane that it waits for,
    // perhaps on this core.
    work_source_.pause(missed_roles_++);
    return keep(), true;
  }
  missed_roles_ = 0;
  const std::uint64_t retired = lane.retired();
  // Do not watch dead entries, but those in front of a dead wait.
  const std::uint64_t alive = lane.dead_from_.load(std::memory_order_acquire) - 1;
  std::uint64_t target = std::min(lane.watch_target_.load(std::memory_order_seq_cst), alive);
  if (retired >= target) {
    lane.watched_.store(false, std::memory_order_seq_cst);
    target = std::min(lane.watch_target_.load(std::memory_order_seq_cst), alive);
    if ((retired < target || lane.stopping()) &&
        !lane.watched_.exchange(true, std::memory_order_seq_cst)) {
      return keep(), true;
    }
    lane.armed_ = 0;
    lane.queue().wake_waiting();  // wait_idle() may have left this lane to us
    lane.unpin();
    return false;
  }
  Device& device = lane.queue().device();
  // The thread that ends the lane wakes this shell (Issuer::fail_lane).
  if (device.lost()) return keep(), false;
  // Wake at the first completion that has a waiter, not at every completion.
  std::uint64_t next = retired + 1;
  while (next < target && !lane.entry(next).wanted.load(std::memory_order_relaxed)) ++next;
  lane.markers().make_for_shell(next);
  Status status;
  if (lane.armed_ != next && lane.markers().cover(next)) {
    status = lane.native()->arm(next, completion_notify_);
    if (status.ok()) lane.armed_ = next;
  }
  const Nanoseconds now = clock().now();
  const bool moved = retired != lane.last_retired_;
  if (moved) {
    lane.last_retired_ = retired;
    lane.last_progress_ = now;
  } else if (status.ok() && now - lane.last_progress_ >= kCheckInterval) {
    status = lane.native()->probe();
    if (status.ok()) lane.watch_edges(now);
    const Nanoseconds limit = device.hang_timeout();
    // The time that it waits for another lane is that lane's.
    const Nanoseconds still = now - std::max(lane.last_progress_, lane.waited_at_);
    if (status.ok() && limit != 0 && still >= limit) {
      status = error(StatusCode::kDeviceLost, "{}: no progress for {} ms with work in flight",
                     lane.queue().name(), still / 1'000'000);
    }
  }
  if (!status.ok()) device.lose(status);
  keep();
  return moved || !status.ok();
}

bool Engine::add_queue(Queue& queue, std::uint32_t& index) noexcept {
  base::LockGuard lock(queues_mutex_);
  if (!queues_.push_back(&queue)) return false;
  index = next_queue_++;
  return true;
}

void Engine::remove_queue(Queue& queue) noexcept {
  base::LockGuard lock(queues_mutex_);
  queues_.shrink(static_cast<std::size_t>(std::remove(queues_.begin(), queues_.end(), &queue) -
                                          queues_.begin()));
}

void Engine::leak(Queue& queue, std::uint32_t count) noexcept {
  kept_.fetch_add(count, std::memory_order_relaxed);
  queue.device().note_kept();
  queue.keep();
}

void Engine::kick_marked(std::uint64_t bits) noexcept {
  if ((bits & Queue::kShellMark) != 0) work_source_.wake(base::Shell::kCompletion);
  if ((bits & ~(Queue::kShellMark | Queue::kQuietMark)) == 0) return;
  for_each_queue([&](Queue& queue) {
    // Not only schedule(): the holder of its role may have just put work back for lack of this
    // marker, and would not check again.
    if ((bits & queue.mark_bit()) != 0) queue.retry();
  });
}

}  // namespace halyard::inline v0::timeline
