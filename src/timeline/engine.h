// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Engine: orders work and runs its effects. Owns the state that the semaphores, queues and devices
// of a runtime share.
//
// It has no threads. The owner supplies a WorkSource, and steps the shells when it is woken:
//
//     wake(kIssue)       -> step_issue()        ready work beyond some caller's bound
//     wake(kCompletion)  -> step_completion()   lanes that have a waiter, effects of waits and
//                                               queries
//     wake(kHost)        -> step_host()         one host call
//     wake(kReclaim)     -> step_reclaim()      growth and trimming of pools
//
// One thread at a time steps one kind of shell, except kHost, which any number may step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/array.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/work_source.h"
#include "halyard/base/result.h"
#include "timeline/access_checker.h"
#include "timeline/domain.h"
#include "timeline/effects.h"
#include "timeline/queue.h"
#include "trace/tracer.h"

namespace halyard::inline v0::timeline {

// The engine's view of a device: whether it is lost.
class Device {
 public:
  Device(Engine& engine, std::string name) : engine_(engine), name_(std::move(name)) {}
  ~Device();

  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != nullptr; }
  Status status() const noexcept;
  // Marks the device lost (the first cause stays) and fails what must fail (rules 26 and 27).
  void lose(const Status& cause) noexcept;

  // No lane progress for `timeout` with work in flight is loss of the device; 0 is off (rule 25).
  void set_hang_timeout(Nanoseconds timeout) noexcept { hang_timeout_ = timeout; }
  Nanoseconds hang_timeout() const noexcept { return hang_timeout_; }

  // Submissions of one of its queues are leaked (rule 26), with everything that they refer to.
  void note_kept() noexcept { keeps_.store(true, std::memory_order_release); }
  bool keeps_for_good() const noexcept { return keeps_.load(std::memory_order_acquire); }

  Engine& engine() const noexcept { return engine_; }
  const std::string& name() const noexcept { return name_; }

 private:
  Engine& engine_;
  const std::string name_;
  base::Atomic<detail::StatusRecord*> lost_{nullptr};
  base::Atomic<bool> keeps_{false};
  Nanoseconds hang_timeout_ = 0;
};

class Engine final : public trace::Source {
 public:
  // How often the completion shell polls for progress or a fault while there is a waiter: native
  // notifications can be lost (rule 23).
  static constexpr Nanoseconds kCheckInterval = 10'000'000;

  // `tracer` (may be null) outlives all that this engine orders.
  Engine(base::WorkSource& work_source, const DomainMatrix& domains,
         trace::Tracer* tracer = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Each returns true if it did something; call again until false, then sleep.
  bool step_issue() noexcept;
  bool step_completion() noexcept;
  bool step_host() noexcept;
  bool step_reclaim() noexcept;
  // When step_completion must be called at the latest; kForeverTime when there is no waiter.
  Nanoseconds next_check() noexcept;

  // Describes the first unissued submission that will signal `point`, and its own waits; empty if
  // none will.
  std::string describe_unissued(const Point& point) noexcept;

  // Lists the waits of every unissued or in-flight submission, and the submissions that were to
  // signal them. The submissions of `first` come before the others, as messages have room for some
  // lines only.
  std::string dump_timelines(const Queue* first = nullptr) noexcept;

  // Retires finished work of every queue, even if no thread waits for it. `patient`: again and
  // again while something is in flight, for 10 ms at most, as its end may need a marker to be seen.
  void note_ended(bool patient) noexcept override;

  // A wait without a deadline that sleeps for longer says why, once: `tell` gets the error of a
  // deadline that has passed, on the thread that waits. Call it before the first wait.
  using ReportLongWait = void (*)(const Status& why) noexcept;
  void report_long_waits(Nanoseconds after, ReportLongWait tell) noexcept {
    long_wait_ = after;
    report_long_wait_ = tell;
  }
  // The time from which on a wait that begins now is long; kForeverTime: never.
  Nanoseconds long_from(Nanoseconds until) const noexcept {
    const bool never = report_long_wait_ == nullptr || until != Deadline::kForeverTime;
    return never ? Deadline::kForeverTime : clock().now() + long_wait_;
  }
  // Called by a wait. `why` makes the error, if `long_from` has come; it becomes kForeverTime then.
  template <class F>
  void report_if_long(Nanoseconds& long_from, F&& why) const noexcept {
    if (long_from == Deadline::kForeverTime || clock().now() < long_from) [[likely]]
      return;
    long_from = Deadline::kForeverTime;
    report_long_wait_(why());
  }

  // Runs `item` on the reclaim shell, where native allocation and freeing belong.
  void post_reclaim(WorkItem& item) noexcept { post(base::Shell::kReclaim, item); }
  // Runs `item` on the completion shell.
  void post_completion(WorkItem& item) noexcept { post(base::Shell::kCompletion, item); }

  base::WorkSource& work_source() const noexcept { return work_source_; }
  Clock& clock() const noexcept { return work_source_.clock(); }
  // Grows as domains open.
  DomainMatrix& domains() noexcept { return domains_; }
  trace::Tracer* tracer() const noexcept { return tracer_; }
  // Null until check_accesses().
  AccessChecker* checker() const noexcept { return checker_.load(std::memory_order_acquire); }
  // Checks all later submissions to all queues, for the rest of the engine's life.
  void check_accesses();

  // `count` submissions of `queue` may be touched by a device that cannot be stopped: they and the
  // queue stay for the rest of the process. The dump counts them.
  void leak(Queue& queue, std::uint32_t count) noexcept;

  // Notified by drivers about any lane; never freed before the engine.
  base::Notify& completion_notify() noexcept { return completion_notify_; }

  // --- for devices, queues, lanes and semaphores -----------------------------------------------

  // Runs them on that shell.
  void post(base::Shell shell, WorkItem& item) noexcept;
  void post(base::Shell shell, WorkList& items) noexcept;

  // False: no memory.
  [[nodiscard]] bool add_queue(Queue& queue, std::uint32_t& index) noexcept;
  void remove_queue(Queue& queue) noexcept;
  // Under the lock of the list.
  template <class F>
  void for_each_queue(F&& fn) noexcept {
    base::LockGuard lock(queues_mutex_);
    for (Queue* queue : queues_) fn(*queue);
  }
  void retry_queues() noexcept;
  void kick_marked(std::uint64_t bits) noexcept;

  // Submissions that queues hold back: retry_held().
  void add_held() noexcept {
    if (held_count_.fetch_add(1, std::memory_order_acq_rel) == 0) {
      work_source_.wake(base::Shell::kCompletion);
    }
  }
  void drop_held() noexcept { held_count_.fetch_sub(1, std::memory_order_acq_rel); }

  // Has the completion shell check the lane, until it says that it is no longer watched.
  void add_watched(LaneTracker& lane) noexcept;

  std::uint64_t next_semaphore_id() noexcept {
    return next_semaphore_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  struct CompletionNotify final : base::Notify {
    explicit CompletionNotify(Engine& owner) : engine(owner) {}
    void notify() noexcept override { engine.work_source_.wake(base::Shell::kCompletion); }
    Engine& engine;
  };

  // A list of work items that any thread may add to.
  struct SharedList {
    base::Mutex mutex;
    WorkList list;
    // Written before the shell is woken, read after it has prepared to sleep; both seq_cst.
    base::Atomic<bool> filled{false};
  };
  bool run_posted(base::Shell shell) noexcept;
  bool check_lane(LaneTracker& lane) noexcept;
  bool retire_ended() noexcept;
  bool retry_held() noexcept;

  base::WorkSource& work_source_;
  DomainMatrix domains_;
  trace::Tracer* const tracer_;
  CompletionNotify completion_notify_{*this};
  SharedList shells_[base::kShellCount];

  base::Atomic<AccessChecker*> checker_{nullptr};

  Nanoseconds long_wait_ = 0;
  ReportLongWait report_long_wait_ = nullptr;

  base::Mutex watch_mutex_;
  LaneTracker* watched_ = nullptr;
  unsigned missed_roles_ = 0;  // the completion shell's: in a row

  base::Atomic<std::uint32_t> kept_{0};            // submissions that stay for good
  base::Atomic<std::uint32_t> held_count_{0};      // submissions that gates hold back
  Nanoseconds retry_at_ = Deadline::kForeverTime;  // the completion shell's

  base::Mutex queues_mutex_;
  base::Array<Queue*> queues_;
  std::uint32_t next_queue_ = 0;
  base::Atomic<std::uint64_t> next_semaphore_{1};
};

}  // namespace halyard::inline v0::timeline
