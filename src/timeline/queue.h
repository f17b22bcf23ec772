// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: takes submissions, parks them on semaphores, and issues the ready ones to its lane.
//
// Ready submissions go to a lock-free inbox. A thread that takes the issuer role (one exchange,
// never waited for) drains it: carry list first (what did not fit before), then the inbox, at most
// kBound at a time. A thread that finds the role taken does nothing: the holder checks again after
// it has released the role (rule 15). The role is an object: IssuerRole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/array.h"
#include "base/atomic.h"
#include "base/build.h"
#include "base/intrusive_list.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "base/spin_lock.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "timeline/domain.h"
#include "timeline/effects.h"
#include "timeline/lane_tracker.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

class Device;
class Engine;
class IssuerRole;
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
    retry_.store(true, std::memory_order_seq_cst);
    schedule();
  }
  // schedule(); the issuer then also checks this queue for effects of a device's loss.
  void schedule_after_loss() noexcept {
    sweep_.store(true, std::memory_order_seq_cst);
    schedule();
  }

  const std::string& name() const noexcept { return options_.name; }
  Domain domain() const noexcept { return options_.domain; }
  Device& device() const noexcept { return device_; }
  Engine& engine() const noexcept { return engine_; }
  // Appends the waits of its submissions, and the number of its late signals (rule 4).
  void dump(std::string& text, const UnissuedSignals& unissued) noexcept;

 private:
  friend class Engine;
  friend class IssueSite;
  friend class IssuerRole;
  friend class LaneTracker;
  friend class Semaphore;
  friend class Submission;

  // Counts threads inside the queue and what of it is on a work list: until all have left, the
  // queue is not idle. A thread enters only while it knows that the queue is not idle, or while the
  // engine lists it, under the lock of the list. Leaving is its last access to the queue.
  void enter() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void leave() noexcept { users_.fetch_sub(1, std::memory_order_release); }

  // Submissions per drain under the issuer role (rule 15).
  static constexpr std::size_t kBound = base::kSmallBounds ? 3 : 64;
  static constexpr std::uint64_t kMarkEvery = 32;  // submissions between markers at most (rule 20)

  Queue(Device& device, LaneSource& lanes, QueueOptions options);
  ~Queue() override;

  // Submitting: queue_submit.cpp.
  Status prepare(Submission& submission, const SubmitOptions& options) noexcept;
  [[gnu::cold]] Status refuse(const Point& point, const char* what, std::size_t index) const;
  [[gnu::cold]] Status refuse_signal(const SignalNode& signal, std::uint64_t value) const;
  void park(Submission& submission) noexcept;
  void make_ready(Submission& submission) noexcept;
  void list(Submission& submission) noexcept;
  Status wait_until_idle(Deadline deadline) noexcept;
  bool has_unissued() noexcept;
  void wake_waiters() noexcept;  // under mutex_
  void wake_waiting() noexcept {
    base::LockGuard lock(mutex_);
    wake_waiters();
  }
  void unlist(Submission& submission) noexcept;
  // Retires the submissions that the lanes have passed, after a marker of its own if necessary.
  // True if work is in flight, or another thread has the role. The caller opens an EffectScope.
  bool retire_ended() noexcept;
  // Waiting: queue_wait.cpp. The next step of a waiting thread. kSpin: no wake-up will come, it
  // takes only moments.
  enum class NextStep { kDone, kSleep, kSpin };
  template <class F>
  bool wait_here(Nanoseconds until, F&& next_step) noexcept;
  Status wait_for_room(Deadline deadline) noexcept;

  bool grow() noexcept;
  void recycle(Submission& submission) noexcept;

  void run(bool shell) noexcept override;  // WorkItem
  // Drains again later, on another thread if one can be had.
  void work_later(bool shell) noexcept;
  // Issuing, under the role: queue_drain.cpp, then queue_issue.cpp.
  bool accept(Submission& submission, LanePoint* issued) noexcept;
  std::size_t drain(std::size_t bound) noexcept;
  LanePoint issue_direct(Submission& submission) noexcept;
  Submission* next() noexcept;
  void take_inbox() noexcept;
  void push_back(Submission& submission) noexcept;
  void push_front(Submission& submission) noexcept;
  void put_back(Submission& submission) noexcept;
  void hold(Submission& submission) noexcept;
  void unhold() noexcept;
  enum class Resolve { kReady, kFailed, kNeedsMarker, kHeld };
  Resolve resolve(Submission& submission, std::size_t index, Status& cause) noexcept;
  bool may_issue(Submission& submission, std::size_t index) noexcept;
  void issue(std::size_t count) noexcept;
  std::uint64_t room(std::uint64_t wanted) noexcept;
  bool issue_part() noexcept;
  void start_host_call(Submission& submission) noexcept;
  void fail_issue(LaneTracker& lane, Submission& submission, const Status& cause,
                  const IssueResult& result) noexcept;
  void publish(LaneTracker& lane, Submission& submission) noexcept;
  void note_issued_to_gate(LaneTracker& lane, Submission& submission) noexcept;
  void undo_gate(Submission& submission) noexcept;
  void publish_part(LaneTracker& lane, Submission& submission) noexcept;
  void serve_marks() noexcept;
  bool mark_tail() noexcept;
  bool mark() noexcept;
  // Records a marker at the lane's tail, if it has none. False: another thread has the role, or no
  // marker can be recorded. From any thread.
  bool try_mark(Visit& visit) noexcept;
  // Has a marker recorded at the lane's tail soon, and then kicks the queue that the bit belongs
  // to. From any thread. With kShellMark it wakes the completion shell; with kQuietMark it wakes no
  // thread, as the caller will look again.
  static constexpr std::uint64_t kShellMark = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kQuietMark = std::uint64_t{1} << 62;
  void request_mark(std::uint64_t bit, Visit& visit) noexcept;
  void request_mark(std::uint64_t bit) noexcept {
    Visit visit;
    request_mark(bit, visit);
  }
  std::uint64_t mark_bit() const noexcept { return std::uint64_t{1} << index_ % 62; }

  // Loss, under the role: queue_loss.cpp.
  void check_for_loss() noexcept;
  void fail_unissued(const Status& cause) noexcept;
  void fail_lane(LaneTracker& lane, const Status& cause) noexcept;
  void end_parts(LaneTracker& lane, const Status& cause) noexcept;
  bool sweep_lane(LaneTracker& lane) noexcept;
  void notify_others() noexcept;

  Engine& engine_;
  Device& device_;
  LaneSource& lane_source_;
  QueueOptions options_;
  trace::Tracer* const tracer_;
  trace::Track track_;
  std::uint32_t index_ = 0;  // among the engine's queues: the bit in want_mark

  alignas(64) base::Atomic<bool> role_{false};
  base::Atomic<Submission*> inbox_{nullptr};
  base::Atomic<std::uint32_t> backlog_{0};
  base::Atomic<bool> scheduled_{false};
  // While it is set no work is issued. It is lowered, and the queue is kicked, once no more than
  // `room_at_` native commands are in flight. That is stored before the flag.
  base::Atomic<bool> busy_{false};
  base::Atomic<std::uint64_t> room_at_{0};
  // Sequence retired when the native queue last refused work; kNotRefused while the in-flight limit
  // is the reason.
  static constexpr std::uint64_t kNotRefused = ~std::uint64_t{0};
  base::Atomic<std::uint64_t> refused_at_{kNotRefused};
  base::Atomic<bool> is_watched_{false};  // watch_dropped()
  base::Atomic<bool> sweep_{false};  // a device was lost: check for edges to it
  base::Atomic<bool> retry_{false};  // gates may open for what is held, or a marker was recorded
  base::Atomic<std::uint32_t> held_count_{0};
  base::Atomic<std::uint32_t> room_waiters_{0};  // threads that wait for room in the backlog
  base::Atomic<std::uint64_t> want_mark_{0};     // queues that need a marker here
  base::Atomic<std::uint32_t> users_{0};         // threads inside, and lists that it is on
  // Signals that advanced nothing (rule 4), and the last of them. Not one consistent snapshot.
  base::Atomic<std::uint64_t> late_signals_{0}, late_semaphore_{0}, late_value_{0};

  // Under the role.
  Visit* visit_ = nullptr;       // of the native calls of the thread that has the role
  Submission* carry_ = nullptr;  // ready, oldest first: what did not fit, then what was taken
  Submission* carry_tail_ = nullptr;
  Submission* held_submissions_ = nullptr;  // for a gate, or a marker on another lane; newest first
  bool held_back_ = false;  // the last drain left some: the lane was full, or at its bound
  // Issued up to `part_at_`: it is deeper than an empty lane, so it is issued in parts. Nothing
  // else is issued before its last part.
  Submission* in_parts_ = nullptr;
  std::uint32_t part_at_ = 0;
  Submission* batch_[kBound];
  Issue issues_[kBound];
  std::size_t first_edge_[kBound + 1];
  base::Array<Edge> edges_;
  std::unique_ptr<LaneTracker> lane_;      // null when no fresh lane could be opened
  base::Array<LaneTracker*> quarantined_;  // its own, with room for lane_

  alignas(64) base::Mutex mutex_;                          // guards the rest
  base::IntrusiveList<Submission, UnissuedTag> unissued_;  // parked, ready, or on the host
  struct Waiter {
    base::Parker* parker;
    Waiter* next;
  };
  Waiter* waiters_ = nullptr;       // woken when unissued_ becomes empty, or the backlog shorter
  base::Array<Submission*> slabs_;  // its own, of kSlabSize each
  Status closed_;
  base::Atomic<bool> refuses_{false};  // closed_ is set

  base::SpinLock pool_lock_;
  Submission* free_ = nullptr;

  Queue* next_kept_ = nullptr;  // Engine::leak()
  bool kept_ = false;
};

// A queue's issuer role, from here to the end of the scope. False: another thread has it. Who
// releases it schedules the queue if work was left for it meanwhile: an EffectScope is open.
class [[nodiscard]] IssuerRole {
 public:
  // What to do on release with a submission that its lane has overtaken. Retiring may find a loss,
  // so it is left to another thread under a lock of the engine.
  enum class Overtaken : std::uint8_t { kRetire, kLeave };

  explicit IssuerRole(Queue& queue, Overtaken overtaken = Overtaken::kRetire) noexcept
      : IssuerRole(queue, own_visit_, overtaken) {}
  // For a stretch of native calls that began before, or goes on after.
  IssuerRole(Queue& queue, Visit& visit, Overtaken overtaken = Overtaken::kRetire) noexcept
      : queue_(queue), visit_(visit), overtaken_(overtaken) {
    (void)take();
  }
  ~IssuerRole() {
    if (held_ && release()) queue_.schedule();
  }
  IssuerRole(const IssuerRole&) = delete;
  IssuerRole& operator=(const IssuerRole&) = delete;

  explicit operator bool() const noexcept { return held_; }

  // Drains, and releases. With `direct`, issues that one first if nothing is queued before it.
  void work(bool shell, Submission* direct = nullptr, LanePoint* issued = nullptr) noexcept;

 private:
  bool take() noexcept {
    held_ = !queue_.role_.exchange(true, std::memory_order_seq_cst);
    if (held_) queue_.visit_ = &visit_;
    return held_;
  }
  // True if work was left meanwhile.
  [[nodiscard]] bool release() noexcept;

  Queue& queue_;
  Visit own_visit_;
  Visit& visit_;
  const Overtaken overtaken_;
  bool held_ = false;
};

}  // namespace halyard::inline v0::timeline
