// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Submission: {waits, operation, signals} on its way through one queue.
//
//        parked ──> issuing ──> issued ──> complete
//          │ ^         │           │
//          │ └─ busy ──┤           └─────> failed      (its device, or one it waits on, is lost)
//          │           └─────────────────> failed      (a wait has failed, issuing failed)
//          └──> cancelled | failed
//
//        its payload (Kept), once it has ended:
//
//        kNo ──────────────────> released      unless it has failed in its lane
//        kByTwo ──> kByOne ────> released      one step as the failure has been passed on, one as
//                                              the lane has passed it, in any order
//
// State and cause of failure are one word, so the compare-exchange that wins publishes the cause
// (rule 7). `unmet` counts the waits that are neither reached nor covered, plus one while they are
// being linked; the thread that brings it to zero makes the submission ready.
//
// References: one while it is in the queue, and one for each linked wait, list of effects that it
// is on, and user's handle.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/atomic.h"
#include "base/intrusive_list.h"
#include "halyard/base/status.h"
#include "timeline/access_checker.h"
#include "timeline/effects.h"
#include "timeline/gate.h"
#include "timeline/lane_point.h"
#include "timeline/semaphore.h"
#include "trace/tracer.h"

namespace halyard::inline v0::timeline {

class LaneTracker;
class Queue;

struct UnissuedTag {};

class Submission final : public WorkItem, public base::ListHook<UnissuedTag> {
 public:
  enum class State : std::uint8_t {
    kFree,
    kParked,
    kIssuing,
    kIssued,
    kComplete,
    kFailed,
    kCancelled
  };

  // What its operation is.
  enum class Work : std::uint8_t { kInLane, kHostCall, kBlockingHostCall, kHostWork };

  // Storage for the caller's payload, which is destroyed once, at the end. The driver executes the
  // payload itself if that is an Operation, or its member `operation`.
  static constexpr std::size_t kPayloadSize = 256;
  template <class T, class... Args>
  T& emplace(Args&&... args) noexcept {
    static_assert(sizeof(T) <= kPayloadSize && alignof(T) <= 16);
    T* payload = ::new (payload_) T{static_cast<Args&&>(args)...};
    if constexpr (requires { payload->operation; }) {
      operation_ = &payload->operation;
    } else if constexpr (std::is_base_of_v<Operation, T>) {
      operation_ = payload;
    }
    if constexpr (!std::is_trivially_destructible_v<T>) {
      destroy_ = [](void* memory) { static_cast<T*>(memory)->~T(); };
    }
    return *payload;
  }
  void* payload() noexcept { return payload_; }

  std::span<const WaitNode> waits() const noexcept { return {waits_, wait_count_}; }
  std::span<const SignalNode> signals() const noexcept { return {signals_, signal_count_}; }

  // Calls fn(const LanePoint&) for each native wait until it returns false, which is returned then.
  template <class F>
  bool all_edges(F&& fn) const {
    for (const WaitNode& wait : waits()) {
      if (wait.edge && !fn(wait.edge.at())) return false;
    }
    return !hidden_edge_ || fn(hidden_edge_.at());
  }

  // A host call: runs on the host shell instead of a lane, or on a thread of its own, without which
  // it fails. `call` may call out.
  void set_host_call(Status (*call)(void* payload), bool own_thread = false) noexcept {
    work_ = own_thread ? Work::kBlockingHostCall : Work::kHostCall;
    host_call_ = call;
  }

  // Host work: beside all lanes too, but it ends elsewhere. `start` is called under the issuer role
  // once the waits are reached, and neither blocks nor calls out; from then on some thread of the
  // runtime calls end_host_work(), once.
  void set_host_work(void (*start)(Submission& submission) noexcept) noexcept {
    work_ = Work::kHostWork;
    start_host_work_ = start;
  }
  void end_host_work(const Status& status) noexcept;

  // Sets a condition, beyond its waits, for being issued. `gate` outlives it.
  void set_gate(const Gate& gate) noexcept { gate_ = &gate; }

  // Calls `ended(payload, cause)` once when it has ended, before its payload is destroyed; `cause`
  // is ok if it is complete. The call is made under the lane's retire role and must not call out.
  // Its signals do not fail with it: the caller keeps their semaphores, and fails or signals them
  // later. Not for a submission that is refused.
  void set_ended(void (*ended)(void* payload, const Status& cause) noexcept,
                 bool leaves_signals = false) noexcept {
    ended_ = ended;
    leaves_signals_ = leaves_signals;
  }

  // Sets how many native commands it is in the lane (QueueCapabilities::max_in_flight). At least 1,
  // the default.
  void set_depth(std::uint32_t depth) noexcept { depth_ = depth; }

  // Its accesses, for the checking mode; empty until the submitter fills it. Called by the
  // submitter before it is submitted, afterwards by the checker.
  AccessRecord& declare() {
    if (record_ == nullptr) record_ = new AccessRecord;
    return *record_;
  }
  AccessRecord* take_record() noexcept { return std::exchange(record_, nullptr); }

  // Its name in a trace.
  void set_name(trace::Name name) noexcept { name_ = name; }

  // Withdraws it while it is parked.
  bool cancel() noexcept;

  State state() const noexcept {
    return static_cast<State>(state_.load(std::memory_order_acquire) & kStateMask);
  }
  // Called for a failed or cancelled submission.
  Status cause() const noexcept;

  Queue& queue() const noexcept { return *queue_; }
  Submission() noexcept = default;
  ~Submission();
  // Called by a user's handle: keeps this and the queue's memory.
  void retain_for_user() noexcept;
  void release_for_user() noexcept;

  // --- for semaphores and lanes ----------------------------------------------------------------

  const LanePoint& place() const noexcept { return place_; }  // once issued
  bool on_host() const noexcept { return work_ != Work::kInLane; }
  // Popped from a semaphore: one of its waits is met.
  void wait_met() noexcept;
  // Ends in failure; the winner passes it on through the effects. False: it was not in `from`.
  bool end(State from, State to, const Status& cause) noexcept;
  void complete() noexcept;  // issued or issuing -> complete: signals
  // It has failed, but its lane may still touch its memory. Once the lane has passed it, the second
  // function releases that memory.
  bool is_kept_in_flight() const noexcept {
    return kept_.load(std::memory_order_relaxed) != Kept::kNo;
  }
  void release_kept() noexcept {
    release_half();
    release();
  }
  void unbind() noexcept;  // from the lanes it waits on
  // IssueSite::wait_for.
  void hide_edge(const LanePoint& at) noexcept {
    assert(!hidden_edge_);
    hidden_edge_ = PinnedLanePoint(at);
  }

  // What it does while it is not issued, for a dump: "parked".
  const char* describe_state() const noexcept;
  // The condition for which its gate holds it back; empty: none.
  std::string describe_gate() const noexcept {
    const bool described = gate_ != nullptr && gate_->describe != nullptr;
    return described ? gate_->describe(payload_) : std::string();
  }

  Submission* next = nullptr;  // in the list of its owner: pool, inbox or issuer

 private:
  friend class Issuer;
  friend class Queue;
  friend class SubmissionPool;

  static constexpr std::uintptr_t kStateMask = 7;  // records are aligned to 8

  void run(bool shell) noexcept override;  // the failure, or the host call

  void reset() noexcept;  // to an empty one
  void end_check() noexcept;
  void pass_on_failure() noexcept;
  void finish() noexcept;
  // Called before it fails: its lane may still use its payload.
  void keep() noexcept { kept_.store(Kept::kByTwo, std::memory_order_relaxed); }
  // The same. One that failed while being issued is kept already, perhaps by one of the two.
  void keep_issued() noexcept {
    if (state() == State::kIssued) keep();
  }
  void release_half() noexcept {
    if (kept_.exchange(Kept::kByOne, std::memory_order_acq_rel) == Kept::kByOne) release_payload();
  }
  void release_payload() noexcept;  // of the payload, and of the lanes it waits on
  // While tracing (trace.cpp).
  void begin_trace(trace::Tracer& tracer) noexcept;
  void end_trace(trace::Record::Outcome outcome) noexcept;
  void store(State state) noexcept {
    state_.store(static_cast<std::uintptr_t>(state), std::memory_order_release);
  }
  bool exchange(State from, State to) noexcept {
    auto expected = static_cast<std::uintptr_t>(from);
    return state_.compare_exchange_strong(expected, static_cast<std::uintptr_t>(to),
                                          std::memory_order_acq_rel);
  }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  base::Atomic<std::uintptr_t> state_{0};
  base::Atomic<std::uint32_t> unmet_{0};
  base::Atomic<std::uint32_t> references_{0};
  Queue* queue_ = nullptr;
  LanePoint place_;
  Doorbell doorbell_ = Doorbell::kRing;
  bool listed_ = false;          // among the queue's unissued; changed by the owner of its progress
  Work work_ = Work::kInLane;
  enum class Kept : std::uint8_t { kNo, kByTwo, kByOne };
  base::Atomic<Kept> kept_{Kept::kNo};
  bool leaves_signals_ = false;  // set_ended()
  std::uint32_t depth_ = 1;
  trace::Name name_ = trace::kNoName;

  WaitNode* waits_ = inline_waits_;
  SignalNode* signals_ = inline_signals_;
  std::uint32_t wait_count_ = 0;
  std::uint32_t wait_capacity_ = kInlineWaits;
  std::uint32_t signal_count_ = 0;
  std::uint32_t signal_capacity_ = kInlineSignals;

  AccessRecord* record_ = nullptr;  // with the checking mode
  const Operation* operation_ = nullptr;
  const Gate* gate_ = nullptr;
  PinnedLanePoint hidden_edge_;  // IssueSite::wait_for
  void (*ended_)(void*, const Status&) noexcept = nullptr;
  Status (*host_call_)(void*) = nullptr;
  void (*start_host_work_)(Submission&) noexcept = nullptr;
  void (*destroy_)(void*) = nullptr;
  static constexpr std::uint32_t kInlineWaits = 2;
  static constexpr std::uint32_t kInlineSignals = 2;
  WaitNode inline_waits_[kInlineWaits];
  SignalNode inline_signals_[kInlineSignals];
  alignas(16) std::byte payload_[kPayloadSize];

  // While tracing.
  trace::Stamps stamps_;  // by the driver; of work of the host, by the thread that runs it
  Nanoseconds submitted_ = 0;
  Nanoseconds issued_ = 0;
};

}  // namespace halyard::inline v0::timeline
