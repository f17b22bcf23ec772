// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: takes submissions, parks them on semaphores, and gives the ready ones to its issuer.
//
//     submit ──> parked ──> inbox ──> issuer ──> lane
//        └──────────────────────────────^            nothing to wait for, and the role is free
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/array.h"
#include "base/atomic.h"
#include "base/intrusive_list.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "timeline/domain.h"
#include "timeline/effects.h"
#include "timeline/inbox.h"
#include "timeline/issuer.h"
#include "timeline/submission.h"
#include "timeline/submission_pool.h"

namespace halyard::inline v0::timeline {

class Device;
class Engine;
class Queue;

// Opens native lanes for a queue: one at the start, another when a lane is quarantined (rule 27).
class LaneSource {
 public:
  virtual Result<NativeQueue*> open_lane() = 0;

 protected:
  ~LaneSource() = default;
};

struct QueueOptions {
  std::string name;  // in dumps and messages: "cpu://0 compute"
  Domain domain = kHostDomain;
  trace::DeviceClock* clock = nullptr;     // of its time stamps; null: the tracer's own
  std::uint32_t backlog_limit = 1u << 20;  // ready, unissued submissions before kResourceExhausted
};

struct SubmitOptions {
  std::span<const Point> waits{};
  std::span<const Point> signals{};
  Deadline room = kNow;  // how long to wait where the backlog is full; as kNow in a callback
};

// What all submissions that are not issued will signal.
struct UnissuedSignals {
  struct Signal {
    Point point;
    const Queue* by = nullptr;
  };
  base::Array<Signal> signals;
  bool whole = true;  // false: some are missing for lack of memory
};

class Queue final : public RefCounted, public WorkItem {
 public:
  static Result<Ref<Queue>> create(Device& device, LaneSource& lanes, QueueOptions options);

  // An empty submission, for the caller to fill (Submission::emplace); then submit or discard it.
  Result<Submission*> allocate() noexcept;
  void discard(Submission& submission) noexcept;

  // Takes the submission in every case. On error it is gone and nothing was queued. With `out` the
  // caller gets a user reference. With `issued` the caller waits for the submission itself. If it
  // was issued at once, `issued` says where; no doorbell was rung then, so the caller helps that
  // lane until the submission is done.
  Status submit(Submission& submission, const SubmitOptions& options, Submission** out,
                LanePoint* issued = nullptr) noexcept;

  // Contracts in halyard/hal/queue.h.
  void flush() noexcept;
  Status wait_idle(Deadline deadline) noexcept;

  // The end of a queue, in this order, by its owner:
  //   in_flight()      until false: work in flight goes on
  //   close(cause)     fails everything unissued; later submissions are refused with `cause`
  //   idle()           until true: no thread is inside the queue, nothing of it is on a list;
  //                    checks for lost devices itself, as a closed queue is not notified of them
  //   release_lanes()  until true: the native queues are not touched any more, and touch nothing
  bool in_flight() noexcept;
  // Has the completion shell retire the work in flight, although no thread waits for it.
  void watch() noexcept;
  // The same for all that was submitted, if there is any left, until reopen(): no thread is left
  // that could wait for it.
  void watch_dropped() noexcept;
  void close(const Status& cause) noexcept;
  bool idle() noexcept;
  bool release_lanes(const Status& cause) noexcept;

  // Renames the queue for another user. False in these cases:
  //   - a user's submission is left, as its holder could query it
  //   - work is left
  //   - a lane was quarantined
  // Precondition: no thread submits, and the caller has the only reference but for those of users'
  // submissions.
  bool reopen(std::string name);

  // Has some thread drain this queue soon.
  void schedule() noexcept;
  // Retries soon the submissions that a gate or the lack of a marker holds back.
  void retry() noexcept {
    inbox_.want_retry();
    schedule();
  }
  // schedule(); the issuer then also checks this queue for effects of a device's loss.
  void schedule_after_loss() noexcept {
    inbox_.want_sweep();
    schedule();
  }

  const std::string& name() const noexcept { return options_.name; }
  Domain domain() const noexcept { return options_.domain; }
  Device& device() const noexcept { return device_; }
  Engine& engine() const noexcept { return engine_; }
  // Appends the waits of its submissions, and the number of its late signals (rule 4).
  void dump(std::string& text, const UnissuedSignals& unissued) noexcept;

  // --- for the engine --------------------------------------------------------------------------

  // Counts threads inside the queue and what of it is on a work list: until all have left, the
  // queue is not idle. A thread enters only while it knows that the queue is not idle, or while the
  // engine lists it, under the lock of the list. Leaving is its last access to the queue.
  void enter() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { users_.fetch_sub(1, std::memory_order_release); }

  // Records a marker at the lane's tail, if it has none. False: another thread has the role, or no
  // marker can be recorded.
  bool try_mark(Visit& visit) noexcept;
  // Has a marker recorded at the lane's tail soon, and then kicks the queue that the bit belongs
  // to. With kShellMark it wakes the completion shell; with kQuietMark it wakes no thread, as the
  // caller will look again.
  static constexpr std::uint64_t kShellMark = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kQuietMark = std::uint64_t{1} << 62;
  void request_mark(std::uint64_t bit, Visit& visit) noexcept;
  void request_mark(std::uint64_t bit) noexcept {
    Visit visit;
    request_mark(bit, visit);
  }
  std::uint64_t mark_bit() const noexcept { return std::uint64_t{1} << index_ % 62; }

  // Retires the submissions that the lanes have passed, after a marker of its own if necessary.
  // True if work is in flight, or another thread has the role. The caller opens an EffectScope.
  bool retire_ended() noexcept;
  // A retirer asks whether a thread has the issuer role. Acquires the writes of the last holder.
  bool is_issuing() const noexcept { return inbox_.is_role_taken(); }

  // Submissions call these: all waits are met; or it has ended, so its memory is free.
  void make_ready(Submission& submission) noexcept;
  SubmissionPool& pool() noexcept { return pool_; }
  // Those that are parked, ready, or on the host. `fn` is called under the lock of the list.
  void list(Submission& submission) noexcept;
  void unlist(Submission& submission) noexcept;
  bool has_unissued() noexcept;
  template <class F>
  void for_each_unissued(F&& fn) noexcept {
    base::LockGuard lock(mutex_);
    unissued_.for_each(fn);
  }
  void fail_unissued(const Status& cause) noexcept;

  // For the issuer.
  Result<NativeQueue*> open_lane() { return lane_source_.open_lane(); }
  bool is_closed() const noexcept { return refuses_.load(std::memory_order_seq_cst); }
  Status why_closed() noexcept {
    base::LockGuard lock(mutex_);
    return closed_;
  }
  bool is_watched() const noexcept { return is_watched_.load(std::memory_order_relaxed); }
  // Submissions that a gate, or the lack of a marker, holds back.
  void add_held() noexcept { held_count_.fetch_add(1, std::memory_order_relaxed); }
  void drop_held() noexcept { held_count_.fetch_sub(1, std::memory_order_relaxed); }
  bool has_held() const noexcept { return held_count_.load(std::memory_order_acquire) != 0; }
  // Drains again later, on another thread if there is one.
  void work_later(bool shell) noexcept;
  // A thread that waits for room counts itself before it reads the backlog, lowered before this.
  void note_room() noexcept {
    if (room_waiters_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_waiting();
  }
  void wake_waiting() noexcept {
    base::LockGuard lock(mutex_);
    wake_waiters();
  }

  // Semaphores call this for a signal that advanced nothing (rule 4).
  void note_late(std::uint64_t semaphore, std::uint64_t value) noexcept;
  // The queue is never destroyed, and reachable for leak checkers. Without the lock of the engine.
  void keep() noexcept;

  trace::Tracer* tracer() const noexcept { return tracer_; }
  trace::Track track() const noexcept { return track_; }

 private:
  Queue(Device& device, LaneSource& lanes, QueueOptions options);
  ~Queue() override;

  void run(bool shell) noexcept override;  // WorkItem

  // Submitting: queue.cpp.
  Status prepare(Submission& submission, const SubmitOptions& options) noexcept;
  [[gnu::cold]] Status refuse(const Point& point, const char* what, std::size_t index) const;
  [[gnu::cold]] Status refuse_signal(const SignalNode& signal, std::uint64_t value) const;
  void park(Submission& submission) noexcept;

  // Waiting: queue_wait.cpp. The next step of a waiting thread. kSpin: no wake-up will come, it
  // takes only moments.
  enum class NextStep { kDone, kSleep, kSpin };
  template <class F>
  bool wait_here(Nanoseconds until, F&& next_step) noexcept;
  Status wait_until_idle(Deadline deadline) noexcept;
  Status wait_for_room(Deadline deadline) noexcept;
  void wake_waiters() noexcept;  // under mutex_

  Engine& engine_;
  Device& device_;
  LaneSource& lane_source_;
  QueueOptions options_;
  trace::Tracer* const tracer_;
  trace::Track track_;
  std::uint32_t index_ = 0;  // among the engine's queues: the bit in Inbox::want_marks

  SubmissionPool pool_{*this};
  Inbox inbox_;
  Issuer issuer_{*this, inbox_};
  base::Atomic<bool> scheduled_{false};
  base::Atomic<bool> is_watched_{false};  // watch_dropped()
  base::Atomic<std::uint32_t> held_count_{0};
  base::Atomic<std::uint32_t> room_waiters_{0};  // threads that wait for room in the backlog
  base::Atomic<std::uint32_t> users_{0};         // threads inside, and lists that it is on
  // Signals that advanced nothing (rule 4), and the last of them. Not one consistent snapshot.
  base::Atomic<std::uint64_t> late_signals_{0}, late_semaphore_{0}, late_value_{0};

  alignas(64) base::Mutex mutex_;                          // guards the rest
  base::IntrusiveList<Submission, UnissuedTag> unissued_;  // parked, ready, or on the host
  struct Waiter {
    base::Parker* parker;
    Waiter* next;
  };
  Waiter* waiters_ = nullptr;  // woken when unissued_ becomes empty, or the backlog shorter
  Status closed_;
  base::Atomic<bool> refuses_{false};  // closed_ is set

  Queue* next_kept_ = nullptr;  // keep()
  bool is_kept_ = false;
};

}  // namespace halyard::inline v0::timeline
