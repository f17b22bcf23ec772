// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semaphore: a 64-bit value that only grows, a failure, and the waiters for each value.
//
// The word:   bit 63 = failed, bits 0..62 = value. Host memory; only host threads write it. Devices
//             write their lane's sequence, and retirement turns that into values (rule 1).
// Waiters:    parked on the semaphore, ordered by value, one set per wait domain.
// Promises:   issued submissions that will signal it, ordered by value, one set per domain of their
// lane.
//
// Parking and signalling meet without a lock on the signalling side (rule 3):
//
//     park:    link; least := smallest parked   | signal:  word := v
//              load word: reached? unlink       |          load least: v >= least? lock, pop
//
// All four are seq_cst, so at least one side sees the other. A signal that has no waiter takes no
// lock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/atomic.h"
#include "base/build.h"
#include "base/mutex.h"
#include "base/treap.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/timeline/point.h"
#include "timeline/access_checker.h"
#include "timeline/domain.h"
#include "timeline/domain_treaps.h"
#include "timeline/effects.h"
#include "timeline/lane_point.h"
#include "trace/tracer.h"

namespace halyard::inline v0::base {
class Parker;
}

namespace halyard::inline v0::timeline {

class Engine;
class LaneTracker;
class Visit;
class Queue;
class Registration;
class Semaphore;
class Submission;

inline constexpr std::uint64_t kFailedBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kMaxValue = kFailedBit - 1;

// A waiter, linked into a semaphore under its lock. The thread that pops it delivers it.
struct WaitNode : base::TreapNode {
  enum class Kind : std::uint8_t { kSubmission, kHost, kRegistration };
  Semaphore* semaphore = nullptr;
  void* owner = nullptr;  // Submission, HostWait or Registration
  // Of an issued submission: the marker of another lane that it waits for natively (rule 11).
  PinnedLanePoint edge;
  Kind kind = Kind::kSubmission;
  Domain domain = kHostDomain;
};

// A signal of a submission; while linked, a promise.
struct SignalNode : base::TreapNode {
  Semaphore* semaphore = nullptr;
  Submission* submission = nullptr;
};

class Semaphore final : public RefCounted {
 public:
  // `owner` (may be null) is kept by a handle while handles of the semaphore exist.
  // kInvalidArgument above kMaxValue.
  static Result<HandleRef<Semaphore>> create(Engine& engine, std::uint64_t initial,
                                             std::string_view name, RefCounted* owner);

  // What users call; contracts in halyard/hal/semaphore.h.
  Result<std::uint64_t> query();
  Status signal(std::uint64_t value) { return advance(value, EffectScope::Mode::kRun); }
  Status post(std::uint64_t value) { return advance(value, EffectScope::Mode::kPost); }
  void fail(const Status& status);
  void give_up(std::uint64_t value) noexcept;
  Status wait(std::uint64_t value, Deadline deadline);
  // The same for a caller that has just issued the submission that signals it: helps that lane
  // first. Precondition: the caller keeps the lane's queue.
  Status wait(std::uint64_t value, Deadline deadline, const LanePoint& issued);

  enum class ValueState { kPending, kReached, kFailed };
  ValueState value_state(std::uint64_t value) const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & ~kFailedBit) >= value) return ValueState::kReached;
    return (word & kFailedBit) != 0 ? ValueState::kFailed : ValueState::kPending;
  }
  bool is_given_up(std::uint64_t value) const noexcept {
    return value <= given_up_.load(std::memory_order_seq_cst);
  }
  std::uint64_t value() const noexcept {
    return word_.load(std::memory_order_acquire) & ~kFailedBit;
  }
  // The first failure. Precondition: failed.
  Status failure() const noexcept {
    return Status::share_record(failure_.load(std::memory_order_acquire));
  }

  // --- for submissions, waits and registrations ------------------------------------------------

  // Called before a waiter, or a promise, of that domain is linked. False: no memory.
  [[nodiscard]] bool make_room_for_waiter(Domain domain) noexcept {
    return domain < DomainTreaps::kInPlace || make_room(waiters_);
  }
  [[nodiscard]] bool make_room_for_promise(Domain domain) noexcept {
    return domain < DomainTreaps::kInPlace || make_room(promises_);
  }

  enum class Park { kLinked, kReached, kFailed, kCovered, kDead };
  // Links `node` unless its value is reached, the semaphore has failed, a promise covers it (when
  // `coverable`), or `alive` is no longer parked under the lock. Watches the lane of a promise that
  // reaches but does not cover it.
  Park park(WaitNode& node, bool coverable, const Submission* alive) noexcept;
  // Unlinks it. False if it was popped before: then its popper delivers it.
  bool unpark(WaitNode& node) noexcept;

  // Whether a waiter of `domain` would be covered now.
  bool is_covered(std::uint64_t value, Domain domain) noexcept;

  // A promise for `value` that a waiter of `domain` can wait on natively, or with kHostDomain any
  // promise. Empty if there is none.
  PinnedLanePoint find_promise(std::uint64_t value, Domain domain) noexcept;

  // Finds the lanes other than `lane` that have promised `value` or more, each once; the first to
  // complete decides. Returns how many; none, quickly, in the usual case. At most
  // kOthers lanes, found among the next kOthersWithin promises: waiters see those beyond late.
  static constexpr std::size_t kOthers = 8;
  std::size_t find_others(std::uint64_t value, const LaneTracker* lane,
                          PinnedLanePoint (&others)[kOthers]) noexcept;
  // Retires what these have completed, in the caller's EffectScope. True if `value` is reached.
  bool retire_others(std::uint64_t value, const LaneTracker* lane, Visit& visit) noexcept;
  // Has the completion shell watch these.
  void watch_others(std::uint64_t value, const LaneTracker* lane) noexcept;

  // Publishes the promise of an issued submission, pops the waiters that it covers, and has the
  // lane watched for waiters that it will only reach. True if it released work of another lane.
  bool publish(SignalNode& node, LaneTracker& lane) noexcept;
  // Its submission completed: advances the value, then removes the promise (rule 10).
  void retire(SignalNode& node) noexcept;
  // Its submission failed: fails the semaphore, then removes the promise.
  void retire_failed(SignalNode& node, const Status& cause) noexcept;

  // Its submission failed, and another thread will signal or fail the semaphore: only removes the
  // promise.
  void withdraw(SignalNode& node) noexcept { release_waiters(&node); }

  // True if a waiter for `value` or less is parked: it must see a signal of that at once.
  bool has_waiter_for(std::uint64_t value) const noexcept {
    return least_.load(std::memory_order_relaxed) <= value;
  }
  // The same, but false if the first waiter of each domain is of `queue`, whose lane orders it
  // after the signal without a marker.
  bool has_waiter_for(std::uint64_t value, const Queue& queue) noexcept {
    return has_waiter_for(value) && has_foreign_waiter(value, queue);
  }

  // Counts an unfinished submission among what can still signal (rule 5).
  void add_signaller() noexcept { signallers_.fetch_add(1, std::memory_order_relaxed); }
  void drop_signaller() noexcept;

  // For the checking mode: a thread of the host, or its callback, knows that `value` is reached.
  void note_reached(std::uint64_t value) const {
    if (checker_ != nullptr) [[unlikely]]
      checker_->note_reached(*this, value);
  }
  // Whether its engine had a checker when it was created: then it knows every signal.
  bool is_checked() const noexcept { return checker_ != nullptr; }

  Engine& engine() const noexcept { return engine_; }
  std::uint64_t id() const noexcept { return id_; }
  // False for memory that is obviously no semaphore, or none any more, which a point of a list that
  // is gone may refer to. Best effort: nothing else of it may be read then.
  bool is_live() const noexcept { return id_ != 0; }
  trace::Name trace_name() const noexcept { return trace_name_; }
  std::string describe() const;
  // "queue cpu://0 compute, submission 12, signals 7", or nothing.
  std::string describe_promise(std::uint64_t value) noexcept;

 private:
  friend class Registration;
  Semaphore(Engine& engine, std::uint64_t initial, std::string_view name, RefCounted* owner);
  ~Semaphore() override;
  void on_last_handle() noexcept override;

  // False: the word has failed or is at `value` already. The failed bit counts as beyond any value.
  bool raise(std::uint64_t value) noexcept {
    // The first guess is that the value rises by one. A cache line that other threads poll is then
    // fetched only once, for writing.
    std::uint64_t word = value - 1;
    if (value == 0) return false;
    while (!word_.compare_exchange_strong(word, value, std::memory_order_seq_cst)) {
      if (word >= value) return false;
    }
    return true;
  }
  Status advance(std::uint64_t value, EffectScope::Mode mode) {
    if (is_noted_) [[unlikely]]
      note_signal(value);
    if (value > kMaxValue || !raise(value)) [[unlikely]]
      return refuse_signal(value, mode == EffectScope::Mode::kPost ? "post" : "signal");
    // Rule 3: the word was written before `least` is read.
    if (least_.load(std::memory_order_seq_cst) <= value) [[unlikely]]
      release_signalled(mode);
    return {};
  }
  [[gnu::cold]] Status refuse_signal(std::uint64_t value, const char* call) const;
  [[gnu::cold]] void note_late(const SignalNode& node) noexcept;
  [[gnu::cold]] void note_signal(std::uint64_t point) noexcept;
  void set_failed(const Status& status) noexcept;
  // Pops everything reached or, once failed, everything, and removes `promise` if given; then,
  // without the lock, delivers.
  void release_waiters(SignalNode* promise) noexcept;
  void release_signalled(EffectScope::Mode mode) noexcept;  // release_waiters(), for advance()
  void update_least() noexcept;
  void watch_signallers() noexcept;
  void deliver(WaitNode* popped) noexcept;
  [[gnu::cold]] bool make_room(DomainTreaps& treaps) noexcept;
  bool has_foreign_waiter(std::uint64_t value, const Queue& queue) noexcept;
  SignalNode* best_promise(std::uint64_t value, Domain domain) const noexcept;

  // A cache line of its own: threads that poll the word do not contend with handles and locks.
  alignas(64) base::Atomic<std::uint64_t> word_;

  alignas(64) base::Atomic<std::uint64_t> least_{~std::uint64_t{0}};
  const bool is_noted_;  // here, as signal() reads both
  base::Mutex mutex_;
  base::Atomic<std::uint64_t> signallers_{1};  // all user handles together are one
  DomainTreaps waiters_;
  DomainTreaps promises_;
  bool abandoned_ = false;                   // no user handle is left
  base::Atomic<std::uint64_t> given_up_{0};  // no one waits for values up to this one
  const LaneTracker* promising_ = nullptr;   // the lane that promised first, when there was none
  base::Atomic<bool> several_lanes_{false};  // other lanes have promised, too; set under the lock

  Engine& engine_;
  trace::Tracer* const tracer_;
  AccessChecker* const checker_;  // null without the checking mode
  base::Atomic<detail::StatusRecord*> failure_{nullptr};
  std::uint64_t id_;  // from 1 on; 0 once destroyed
  std::string name_;
  const trace::Name trace_name_;
  HandleRef<RefCounted> owner_;
  base::Atomic<void*> spare_registration_{nullptr};  // memory of one that is gone
};

// Contracts in halyard/hal/semaphore.h.
Status wait_all(Engine& engine, std::span<const Point> points, Deadline deadline);
Status wait_any(Engine& engine, std::span<const Point> points, Deadline deadline);

}  // namespace halyard::inline v0::timeline
