// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/semaphore.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "base/array.h"
#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/host_wait.h"
#include "timeline/registration.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {
namespace {

constexpr std::uint64_t kNobody = ~std::uint64_t{0};

WaitNode& as_wait(base::TreapNode& node) { return static_cast<WaitNode&>(node); }

// Popped nodes form a list through `parent`, which a node outside a treap does not use.
struct Popped {
  base::TreapNode* head = nullptr;
  base::TreapNode* tail = nullptr;
  void push(base::TreapNode& node) noexcept {
    (head == nullptr ? head : tail->parent) = &node;
    tail = &node;
  }
};

}  // namespace

Result<HandleRef<Semaphore>> Semaphore::create(Engine& engine, std::uint64_t initial,
                                               std::string_view name, RefCounted* owner) {
  if (initial > kMaxValue) {
    return error(StatusCode::kInvalidArgument, "semaphore '{}': initial value {} above 2^63-1",
                 name, base::number(initial));
  }
  Semaphore* semaphore = new (std::nothrow) Semaphore(engine, initial, name, owner);
  if (semaphore == nullptr) return Status(StatusCode::kResourceExhausted, "semaphore: no memory");
  HandleRef<Semaphore> handle(semaphore);
  semaphore->release();  // what is left: the handles' reference and the signallers' one
  return handle;
}

Semaphore::Semaphore(Engine& engine, std::uint64_t initial, std::string_view name,
                     RefCounted* owner)
    : word_(initial),
      is_noted_(engine.tracer() != nullptr || engine.checker() != nullptr),
      engine_(engine),
      tracer_(engine.tracer()),
      checker_(engine.checker()),
      id_(engine.next_semaphore_id()),
      name_(name),
      trace_name_(tracer_ != nullptr && !name.empty() ? tracer_->add_name(name) : trace::kNoName),
      owner_(owner) {
  retain();  // for signallers_
}

Semaphore::~Semaphore() {
  // Dropped by the last signaller, so it has failed, and failing popped every waiter.
  assert(least_.load(std::memory_order_relaxed) == kNobody);
  if (checker_ != nullptr) [[unlikely]]
    checker_->forget(*this);
  (void)Status::adopt_record(failure_.load(std::memory_order_acquire));
  if constexpr (base::kKeepsFreedMemory) {
    ::operator delete(spare_registration_.load(std::memory_order_acquire));
  }
  const_cast<volatile std::uint64_t&>(id_) = 0;  // a dead store otherwise
}

void Semaphore::on_last_handle() noexcept {
  // Dropped last, after the effects have been posted: with it the device may close, and the runtime
  // end.
  const HandleRef<RefCounted> owner = std::move(owner_);
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  watch_signallers();
  drop_signaller();
}

// From now on only submissions in flight can signal. A waiter for more than their values depends on
// their end, so their lanes are retired although no thread waits for *their* values.
void Semaphore::watch_signallers() noexcept {
  base::Array<PinnedLanePoint> lanes;
  {
    base::LockGuard lock(mutex_);
    abandoned_ = true;
    if (least_.load(std::memory_order_relaxed) == kNobody) return;
    for (const Domain domain : promises_.used()) {
      promises_[domain].for_each([&](base::TreapNode& node) {
        // Without memory for it, waiters are woken when another thread retires that lane.
        (void)lanes.push_back(PinnedLanePoint(static_cast<SignalNode&>(node).submission->place()));
      });
    }
  }
  for (const PinnedLanePoint& at : lanes) at->watch(at.sequence());
}

void Semaphore::drop_signaller() noexcept {
  if (signallers_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::uint64_t least = least_.load(std::memory_order_relaxed);
  set_failed(error(StatusCode::kCancelled, "{}: dropped before value {}", describe(),
                   least == kNobody ? value() + 1 : least));
  release_waiters(nullptr);
  release();
}

Result<std::uint64_t> Semaphore::query() {
  // Retire the lanes that will signal it for as long as that advances the value.
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  for (std::uint64_t seen = kMaxValue + 1; seen != value();) {
    seen = value();
    const PinnedLanePoint promise = find_promise(seen + 1, kHostDomain);
    if (!promise) break;
    Visit visit;
    (void)promise->markers().make(promise.sequence(), visit);
    (void)promise->try_retire(visit);
    (void)retire_others(seen + 1, promise.lane(), visit);
  }
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  if ((word & kFailedBit) != 0) return failure();
  note_reached(word);
  return word;
}

void Semaphore::release_signalled(EffectScope::Mode mode) noexcept {
  EffectScope scope(engine_, mode);
  release_waiters(nullptr);
}

// Neither a failure nor a value is ever taken back, so what stopped the signal still holds.
Status Semaphore::refuse_signal(std::uint64_t value, const char* call) const {
  if (value > kMaxValue) {
    return error(StatusCode::kInvalidArgument, "{}: {} of {} above 2^63-1", describe(), call,
                 base::number(value));
  }
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  if ((word & kFailedBit) != 0) return failure();
  return error(StatusCode::kInvalidArgument, "{}: {} of {}, but the value is {} already",
               describe(), call, value, word);
}

void Semaphore::fail(const Status& status) {
  if (status.ok()) return;
  EffectScope scope(engine_, EffectScope::Mode::kRun);
  set_failed(status);
  release_waiters(nullptr);
}

void Semaphore::give_up(std::uint64_t value) noexcept {
  std::uint64_t before = given_up_.load(std::memory_order_relaxed);
  while (before < value &&
         !given_up_.compare_exchange_weak(before, value, std::memory_order_seq_cst)) {
  }
  // An issuer that has not seen the value finds its queue to be retried.
  if (before < value) engine_.retry_queues();
}

void Semaphore::set_failed(const Status& status) noexcept {
  detail::StatusRecord* mine = Status(status).release_record();
  detail::StatusRecord* none = nullptr;
  if (!failure_.compare_exchange_strong(none, mine, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
    (void)Status::adopt_record(mine);
  }
  // Losers too: a thread that returns from fail() finds the semaphore failed.
  word_.fetch_or(kFailedBit, std::memory_order_seq_cst);
}

Semaphore::Park Semaphore::park(WaitNode& node, bool coverable, const Submission* alive) noexcept {
  PinnedLanePoint reaching;
  {
    base::LockGuard lock(mutex_);
    if (alive != nullptr && alive->state() != Submission::State::kParked) return Park::kDead;
    if (coverable && best_promise(node.key, node.domain) != nullptr) return Park::kCovered;
    waiters_.insert(node.domain, node);
    if (node.key < least_.load(std::memory_order_relaxed)) {
      least_.store(node.key, std::memory_order_seq_cst);
    }
    // Rule 3: `least` was written before the word is read.
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    if ((word & ~kFailedBit) >= node.key || (word & kFailedBit) != 0) {
      waiters_.erase(node.domain, node);
      update_least();
      return (word & ~kFailedBit) >= node.key ? Park::kReached : Park::kFailed;
    }
    // A host waiter retires the lane itself; for other waiters the completion shell does.
    if (node.kind != WaitNode::Kind::kHost) {
      if (const SignalNode* promise = best_promise(node.key, kHostDomain)) {
        reaching = PinnedLanePoint(promise->submission->place());
      }
    }
  }
  if (reaching) {
    reaching->watch(reaching.sequence());
    watch_others(node.key, reaching.lane());
  }
  return Park::kLinked;
}

bool Semaphore::is_covered(std::uint64_t value, Domain domain) noexcept {
  base::LockGuard lock(mutex_);
  return best_promise(value, domain) != nullptr;
}

bool Semaphore::make_room(DomainTreaps& treaps) noexcept {
  base::LockGuard lock(mutex_);
  return treaps.make_room();
}

bool Semaphore::unpark(WaitNode& node) noexcept {
  base::LockGuard lock(mutex_);
  if (!node.linked()) return false;
  waiters_.erase(node.domain, node);
  update_least();
  return true;
}

bool Semaphore::has_foreign_waiter(std::uint64_t value, const Queue& queue) noexcept {
  base::LockGuard lock(mutex_);
  for (const Domain domain : waiters_.used()) {
    const auto& first = static_cast<const WaitNode&>(*waiters_[domain].min());
    if (first.key <= value && (first.kind != WaitNode::Kind::kSubmission ||
                               &static_cast<const Submission*>(first.owner)->queue() != &queue)) {
      return true;
    }
  }
  return false;
}

SignalNode* Semaphore::best_promise(std::uint64_t value, Domain domain) const noexcept {
  base::TreapNode* best = nullptr;
  for (const Domain producer : promises_.used()) {
    if (domain != kHostDomain && !engine_.domains().can_wait(domain, producer)) continue;
    base::TreapNode* found = promises_[producer].lower_bound(value);
    if (found != nullptr && (best == nullptr || found->key < best->key)) best = found;
  }
  return static_cast<SignalNode*>(best);
}

PinnedLanePoint Semaphore::find_promise(std::uint64_t value, Domain domain) noexcept {
  base::LockGuard lock(mutex_);
  const SignalNode* promise = best_promise(value, domain);
  // While the promise is linked its submission is in the lane, so the lane is open.
  return promise != nullptr ? PinnedLanePoint(promise->submission->place()) : PinnedLanePoint();
}

std::size_t Semaphore::find_others(std::uint64_t value, const LaneTracker* lane,
                                   PinnedLanePoint (&others)[kOthers]) noexcept {
  constexpr int kOthersWithin = 64;
  std::size_t count = 0;
  int left = kOthersWithin;
  const auto take = [&](const base::TreapNode& node) {
    const LanePoint& at = static_cast<const SignalNode&>(node).submission->place();
    const auto known = [&](const PinnedLanePoint& other) { return other.lane() == at.lane; };
    if (at.lane == lane || std::any_of(others, others + count, known)) return;
    others[count++] = PinnedLanePoint(at);
  };
  base::LockGuard lock(mutex_);
  for (const Domain domain : promises_.used()) {
    const base::Treap& set = promises_[domain];
    const base::TreapNode* first = set.lower_bound(value);
    while (first != nullptr) {
      const base::TreapNode* at = first;
      do {
        if (left-- == 0 || count == kOthers) return count;
        take(*at);
        at = at->next;
      } while (at != first);
      first = set.lower_bound(first->key + 1);
    }
  }
  return count;
}

bool Semaphore::retire_others(std::uint64_t value, const LaneTracker* lane,
                              Visit& visit) noexcept {
  if (!several_lanes_.load(std::memory_order_relaxed)) return false;
  PinnedLanePoint others[kOthers];
  const std::size_t count = find_others(value, lane, others);
  for (std::size_t i = 0; i < count; ++i) {
    (void)others[i]->markers().make(others[i].sequence(), visit);
    (void)others[i]->try_retire(visit);
  }
  return count != 0 && this->value() >= value;
}

void Semaphore::watch_others(std::uint64_t value, const LaneTracker* lane) noexcept {
  if (!several_lanes_.load(std::memory_order_relaxed)) return;
  PinnedLanePoint others[kOthers];
  const std::size_t count = find_others(value, lane, others);
  for (std::size_t i = 0; i < count; ++i) others[i]->watch(others[i].sequence());
}

bool Semaphore::publish(SignalNode& node, LaneTracker& lane) noexcept {
  Popped covered;
  bool reaches_others = false;
  bool other_lane = false;
  {
    base::LockGuard lock(mutex_);
    // Rule 10: a promise that its own retirement has overtaken is never published.
    if (word_.load(std::memory_order_relaxed) >= node.key) return false;  // reached or failed
    const Domain producer = lane.queue().domain();
    if (promising_ != &lane || several_lanes_.load(std::memory_order_relaxed)) {
      const bool is_first = promises_.empty();
      if (is_first) promising_ = &lane;
      several_lanes_.store(!is_first, std::memory_order_relaxed);
    }
    promises_.insert(producer, node);
    const std::uint64_t least = least_.load(std::memory_order_relaxed);
    reaches_others = abandoned_ && least != kNobody;
    const DomainSet waiting = least <= node.key ? waiters_.used() : DomainSet();
    for (const Domain waiter : waiting& engine_.domains().waiters_of(producer)) {
      base::TreapNode* first;
      while ((first = waiters_[waiter].min()) != nullptr && first->key <= node.key) {
        // Only submissions wait in a domain other than the host's.
        waiters_.erase(waiter, *first);
        covered.push(*first);
      }
    }
    if (least <= node.key) {
      update_least();
      reaches_others |= least_.load(std::memory_order_relaxed) <= node.key;
    }
  }
  for (base::TreapNode* at = covered.head; at != nullptr;) {
    base::TreapNode* next = at->parent;
    at->parent = nullptr;
    auto& submission = *static_cast<Submission*>(as_wait(*at).owner);
    other_lane |= &submission.queue() != &lane.queue();
    submission.wait_met();
    at = next;
  }
  if (reaches_others) lane.watch(node.submission->place().sequence);
  return other_lane;
}

void Semaphore::retire(SignalNode& node) noexcept {
  if (!raise(node.key)) [[unlikely]]
    note_late(node);
  release_waiters(&node);
}

// Rule 4: 5 after 7 advances nothing.
void Semaphore::note_late(const SignalNode& node) noexcept {
  if ((word_.load(std::memory_order_relaxed) & kFailedBit) != 0) return;
  node.submission->queue().note_late(id_, node.key);
}

void Semaphore::retire_failed(SignalNode& node, const Status& cause) noexcept {
  set_failed(cause);
  release_waiters(&node);
}

void Semaphore::release_waiters(SignalNode* promise) noexcept {
  Popped popped;
  {
    base::LockGuard lock(mutex_);
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    const std::uint64_t through = (word & kFailedBit) != 0 ? kNobody : word;
    if (promise != nullptr && promise->linked()) {
      promises_.erase(promise->submission->queue().domain(), *promise);
    }
    const std::uint64_t least = least_.load(std::memory_order_relaxed);
    if (least > through || least == kNobody) return;
    for (const Domain domain : waiters_.used()) {
      base::TreapNode* first;
      while ((first = waiters_[domain].min()) != nullptr && first->key <= through) {
        waiters_.erase(domain, *first);
        popped.push(*first);
      }
    }
    update_least();
  }
  if (popped.head != nullptr) deliver(static_cast<WaitNode*>(popped.head));
}

void Semaphore::update_least() noexcept {
  std::uint64_t least = kNobody;
  for (const Domain domain : waiters_.used()) {
    const std::uint64_t smallest = waiters_[domain].min()->key;
    if (smallest < least) least = smallest;
  }
  least_.store(least, std::memory_order_release);
}

void Semaphore::deliver(WaitNode* popped) noexcept {
  // Host threads first, before anything else (rule 17): they wake while the rest is done.
  Popped others;
  for (base::TreapNode* at = popped; at != nullptr;) {
    // Read before the final store: a host node may vanish with it (rule 28).
    base::TreapNode* next = at->parent;
    at->parent = nullptr;
    if (WaitNode& node = as_wait(*at); node.kind == WaitNode::Kind::kHost) {
      static_cast<HostWait*>(node.owner)->popped();
    } else {
      others.push(node);
    }
    at = next;
  }
  for (base::TreapNode* at = others.head; at != nullptr;) {
    base::TreapNode* next = at->parent;
    if (next != nullptr) __builtin_prefetch(as_wait(*next).owner);
    at->parent = nullptr;
    WaitNode& node = as_wait(*at);
    const bool reached = value_state(node.key) == ValueState::kReached;
    if (node.kind == WaitNode::Kind::kRegistration) {
      static_cast<Registration*>(node.owner)->fire(reached ? Status() : failure());
    } else {
      auto& submission = *static_cast<Submission*>(node.owner);
      if (!reached) {
        (void)submission.end(Submission::State::kParked, Submission::State::kFailed, failure());
      }
      submission.wait_met();
    }
    at = next;
  }
}

std::string Semaphore::describe() const {
  return name_.empty() ? base::format("semaphore {}", id_)
                       : base::format("semaphore {} '{}'", id_, name_);
}

}  // namespace halyard::inline v0::timeline
