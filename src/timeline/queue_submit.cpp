// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: a submission's path up to the inbox, and the end of a queue.
#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "base/build.h"
#include "base/format.h"
#include "timeline/engine.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {
namespace {

constexpr std::size_t kSlabSize = base::kSmallBounds ? 4 : 64;  // submissions at a time

// Grows a node array to at least `count`; keeps nothing.
template <class Node>
bool reserve(Node*& nodes, std::uint32_t& capacity, Node* in_place, std::size_t count) {
  if (count <= capacity) return true;
  Node* larger = new (std::nothrow) Node[count];
  if (larger == nullptr) return false;
  if (nodes != in_place) delete[] nodes;
  nodes = larger;
  capacity = static_cast<std::uint32_t>(count);
  return true;
}

// Largest number of nodes that are compared pairwise; more are sorted by their semaphore.
constexpr std::size_t kCompared = 32;

// Finds the node of a semaphore among those that merge() has written; or null.
template <class Node>
Node* find(Node* nodes, std::size_t count, const Semaphore* semaphore) {
  Node* const end = nodes + count;
  Node* node;
  if (count <= kCompared) {
    node = std::find_if(nodes, end, [&](const Node& n) { return n.semaphore == semaphore; });
  } else {
    node = std::lower_bound(nodes, end, semaphore->id(),
                            [](const Node& n, std::uint64_t id) { return n.semaphore->id() < id; });
  }
  return node != end && node->semaphore == semaphore ? node : nullptr;
}

// Writes the points into the nodes, one node per semaphore with its largest value.
template <class Node>
std::uint32_t merge(Node* nodes, std::span<const Point> points) {
  const auto write = [](Node& node, const Point& point) {
    node.semaphore = point.semaphore();
    node.key = point.value();
  };
  const std::size_t count = points.size();
  std::uint32_t used = 0;
  if (count <= kCompared) {
    for (const Point& point : points) {
      Node* const same = find(nodes, used, point.semaphore());
      if (same == nullptr) {
        write(nodes[used++], point);
      } else if (same->key < point.value()) {
        same->key = point.value();
      }
    }
    return used;
  }
  for (std::size_t i = 0; i < count; ++i) write(nodes[i], points[i]);
  std::sort(nodes, nodes + count, [](const Node& a, const Node& b) {
    return a.semaphore == b.semaphore ? a.key < b.key : a.semaphore->id() < b.semaphore->id();
  });
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count || nodes[i + 1].semaphore != nodes[i].semaphore;
    if (is_last) nodes[used++] = std::move(nodes[i]);
  }
  return used;
}

}  // namespace

Result<Ref<Queue>> Queue::create(Device& device, LaneSource& lanes, QueueOptions options) {
  HALYARD_ASSIGN_OR_RETURN(NativeQueue * native, lanes.open_lane());
  Ref<Queue> queue = Ref<Queue>::adopt(new (std::nothrow) Queue(device, lanes, std::move(options)));
  if (queue) queue->lane_.reset(LaneTracker::create(*queue, *native));
  if (!queue || queue->lane_ == nullptr || !queue->quarantined_.make_room(1) ||
      !queue->engine_.add_queue(*queue, queue->index_)) {
    return Status(StatusCode::kResourceExhausted, "queue: no memory");
  }
  return queue;
}

Queue::Queue(Device& device, LaneSource& lanes, QueueOptions options)
    : engine_(device.engine()),
      device_(device),
      lane_source_(lanes),
      options_(std::move(options)),
      tracer_(engine_.tracer()),
      track_(tracer_ != nullptr ? tracer_->add_track(options_.name, options_.clock) : 0) {}

Queue::~Queue() {
  engine_.remove_queue(*this);
  for (LaneTracker* lane : quarantined_) delete lane;
  for (Submission* slab : slabs_) delete[] slab;
}

Result<Submission*> Queue::allocate() noexcept {
  for (;;) {
    pool_lock_.lock();
    Submission* submission = free_;
    if (submission != nullptr) free_ = submission->next_;
    pool_lock_.unlock();
    if (submission != nullptr) {
      submission->references_.store(1, std::memory_order_relaxed);
      return submission;
    }
    if (!grow()) {
      return error(StatusCode::kResourceExhausted, "{}: no memory for a submission", name());
    }
  }
}

bool Queue::grow() noexcept {
  auto* slab = new (std::nothrow) Submission[kSlabSize];
  if (slab == nullptr) return false;
  for (std::size_t i = 0; i < kSlabSize; ++i) {
    slab[i].queue_ = this;
    slab[i].next_ = i + 1 < kSlabSize ? &slab[i + 1] : nullptr;
  }
  {
    base::LockGuard lock(mutex_);
    if (!slabs_.push_back(slab)) {
      delete[] slab;
      return false;
    }
  }
  pool_lock_.lock();
  slab[kSlabSize - 1].next_ = free_;
  free_ = slab;
  pool_lock_.unlock();
  return true;
}

void Queue::discard(Submission& submission) noexcept {
  // Releasing its payload may let other queues continue, as the end of a recording's instance does.
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  if (submission.record_ != nullptr) [[unlikely]]
    submission.end_check();
  submission.release_payload();
  submission.release();
}

void Queue::recycle(Submission& submission) noexcept {
  assert(submission.destroy_ == nullptr && "the thread that ends it destroys its payload first");
  for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
    submission.waits_[i].semaphore->release();
  }
  submission.wait_count_ = 0;
  // A failure's record lives in the state word.
  (void)Status::adopt_record(reinterpret_cast<detail::StatusRecord*>(
      submission.state_.load(std::memory_order_acquire) & ~Submission::kStateMask));
  submission.state_.store(0, std::memory_order_relaxed);
  submission.ended_ = nullptr;
  submission.leaves_signals_ = false;
  submission.host_call_ = nullptr;
  submission.start_host_work_ = nullptr;
  submission.gate_ = nullptr;
  submission.kept_in_flight_ = false;
  submission.half_done_.store(false, std::memory_order_relaxed);
  submission.depth_ = 1;
  pool_lock_.lock();
  submission.next_ = free_;
  free_ = &submission;
  pool_lock_.unlock();
}

Status Queue::refuse(const Point& point, const char* what, std::size_t index) const {
  if (point.semaphore() == nullptr) {
    return error(StatusCode::kInvalidArgument, "{}: {} {} has an empty semaphore", name(), what,
                 index);
  }
  // A list that is gone may have become anything, so nothing more of the semaphore is read.
  if (!point.semaphore()->is_live()) {
    return error(StatusCode::kInvalidArgument,
                 "{}: {} {} is no semaphore: is its list no longer there? A SubmitInfo only refers "
                 "to its lists",
                 name(), what, index);
  }
  if (&point.semaphore()->engine() != &engine_) {
    return error(StatusCode::kPermissionDenied,
                 "{}: {} {} is a semaphore of another runtime, or its list is no longer there: a "
                 "SubmitInfo only refers to its lists",
                 name(), what, index);
  }
  return error(StatusCode::kInvalidArgument, "{}: {}: value {} above 2^63-1", name(),
               point.semaphore()->describe(), base::number(point.value()));
}

Status Queue::refuse_signal(const SignalNode& signal, std::uint64_t value) const {
  return error(StatusCode::kInvalidArgument, "{}: {}: signal of {}, but the value is {} already",
               name(), signal.semaphore->describe(), signal.key, value);
}

// Validates before it takes anything: an error leaves no trace.
Status Queue::prepare(Submission& submission, const SubmitOptions& options) noexcept {
  if (refuses_.load(std::memory_order_acquire)) {
    base::LockGuard lock(mutex_);
    return closed_;
  }
  if (device_.lost()) return device_.status();
  const auto usable = [this](const Point& point) {
    const Semaphore* const semaphore = point.semaphore();
    return semaphore != nullptr && semaphore->is_live() && &semaphore->engine() == &engine_ &&
           point.value() <= kMaxValue;
  };
  for (std::size_t i = 0; i < options.waits.size(); ++i) {
    if (!usable(options.waits[i])) [[unlikely]]
      return refuse(options.waits[i], "wait", i);
  }
  for (std::size_t i = 0; i < options.signals.size(); ++i) {
    if (!usable(options.signals[i])) [[unlikely]]
      return refuse(options.signals[i], "signal", i);
  }
  const auto no_memory = [&] {
    return error(StatusCode::kResourceExhausted, "{}: no memory for {}, {}", name(),
                 base::counted(options.waits.size(), "wait"),
                 base::counted(options.signals.size(), "signal"));
  };
  if (!reserve(submission.waits_, submission.wait_capacity_, submission.inline_waits_,
               options.waits.size()) ||
      !reserve(submission.signals_, submission.signal_capacity_, submission.inline_signals_,
               options.signals.size())) {
    return no_memory();
  }
  const std::uint32_t waits = merge(submission.waits_, options.waits);
  const std::uint32_t signals = merge(submission.signals_, options.signals);
  for (std::uint32_t i = 0; i < signals; ++i) {
    const SignalNode& signal = submission.signals_[i];
    if (const std::uint64_t value = signal.semaphore->value(); signal.key <= value) [[unlikely]] {
      return refuse_signal(signal, value);
    }
    const WaitNode* const wait = find(submission.waits_, waits, signal.semaphore);
    if (wait != nullptr && signal.key <= wait->key) [[unlikely]] {
      return error(StatusCode::kInvalidArgument, "{}: {}: waits for {} and signals {}", name(),
                   wait->semaphore->describe(), wait->key, signal.key);
    }
  }
  const Domain domain = submission.on_host() ? kHostDomain : options_.domain;
  for (std::uint32_t i = 0; i < waits; ++i) {
    if (!submission.waits_[i].semaphore->make_room_for_waiter(domain)) return no_memory();
  }
  for (std::uint32_t i = 0; i < signals; ++i) {
    if (!submission.signals_[i].semaphore->make_room_for_promise(domain)) return no_memory();
  }
  if (AccessChecker* const checker = engine_.checker(); checker != nullptr) [[unlikely]] {
    HALYARD_RETURN_IF_ERROR(checker->submit(submission, {submission.waits_, waits},
                                            {submission.signals_, signals}));
  }

  submission.wait_count_ = waits;
  submission.signal_count_ = signals;
  for (std::uint32_t i = 0; i < waits; ++i) {
    WaitNode& wait = submission.waits_[i];
    wait.owner = &submission;
    wait.kind = WaitNode::Kind::kSubmission;
    wait.domain = domain;
    wait.semaphore->retain();
  }
  for (std::uint32_t i = 0; i < signals; ++i) {
    submission.signals_[i].submission = &submission;
    submission.signals_[i].semaphore->add_signaller();
  }
  submission.unmet_.store(1, std::memory_order_relaxed);
  submission.store(Submission::State::kParked);
  return {};
}

Status Queue::submit(Submission& submission, const SubmitOptions& options, Submission** out,
                     LanePoint* issued) noexcept {
  Status status;
  if (backlog_.load(std::memory_order_relaxed) >= options_.backlog_limit) [[unlikely]] {
    status = wait_for_room(options.room);
  }
  if (status.ok()) status = prepare(submission, options);
  if (!status.ok()) {
    discard(submission);
    return status;
  }
  submission.doorbell_ = issued != nullptr ? Doorbell::kDefer : Doorbell::kRing;
  if (tracer_ != nullptr) [[unlikely]]
    submission.begin_trace(*tracer_);
  if (out != nullptr) {
    submission.retain_for_user();
    *out = &submission;
  }
  EffectScope scope(engine_, EffectScope::Mode::kRun);
  for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
    const WaitNode& wait = submission.waits_[i];
    if (wait.semaphore->value_state(wait.key) == Semaphore::ValueState::kReached) continue;
    if (submission.on_host() || !wait.semaphore->is_covered(wait.key, wait.domain)) {
      park(submission);
      return {};
    }
    // The caller cannot help what another lane holds up.
    submission.doorbell_ = Doorbell::kRing;
    issued = nullptr;
  }
  if (!submission.on_host()) {
    // No other thread knows of it yet: no inbox, no list.
    if (IssuerRole role{*this}) return role.work(false, &submission, issued), Status();
  }
  list(submission);
  make_ready(submission);
  return {};
}

void Queue::park(Submission& submission) noexcept {
  // On the list before it is linked: from then on other threads may issue or end it.
  list(submission);
  if (device_.lost() || refuses_.load(std::memory_order_seq_cst)) {
    Status cause = device_.status();
    if (cause.ok()) {
      base::LockGuard lock(mutex_);
      cause = closed_;
    }
    (void)submission.end(Submission::State::kParked, Submission::State::kFailed, cause);
  }
  const bool coverable = !submission.on_host();
  for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
    WaitNode& wait = submission.waits_[i];
    // Counted before it is linked: the thread that pops it counts it down.
    submission.unmet_.fetch_add(1, std::memory_order_relaxed);
    submission.retain();
    const Semaphore::Park parked = wait.semaphore->park(wait, coverable, &submission);
    if (parked == Semaphore::Park::kLinked) continue;
    submission.unmet_.fetch_sub(1, std::memory_order_relaxed);
    submission.release();
    if (parked == Semaphore::Park::kFailed) {
      (void)submission.end(Submission::State::kParked, Submission::State::kFailed,
                           wait.semaphore->failure());
    }
    if (parked == Semaphore::Park::kFailed || parked == Semaphore::Park::kDead) break;
  }
  if (submission.unmet_.fetch_sub(1, std::memory_order_acq_rel) == 1) make_ready(submission);
}

void Queue::make_ready(Submission& submission) noexcept {
  if (submission.state() != Submission::State::kParked) {
    submission.release();  // ended while it was parked: it leaves the queue here
    return;
  }
  backlog_.fetch_add(1, std::memory_order_relaxed);
  Submission* head = inbox_.load(std::memory_order_relaxed);
  do {
    submission.next_ = head;
  } while (!inbox_.compare_exchange_weak(head, &submission, std::memory_order_seq_cst,
                                         std::memory_order_relaxed));
  // A holder of the role checks the inbox after it has released the role.
  if (!role_.load(std::memory_order_seq_cst)) schedule();
}

void Queue::schedule() noexcept {
  enter();
  if (scheduled_.exchange(true, std::memory_order_seq_cst)) {
    leave();
  } else {
    EffectScope::add(*this);
  }
}

void Queue::list(Submission& submission) noexcept {
  // From now on another thread may issue it, when its submitter no longer waits to help. So the
  // doorbell rings.
  submission.doorbell_ = Doorbell::kRing;
  base::LockGuard lock(mutex_);
  submission.listed_ = true;
  unissued_.push_back(submission);
}

void Queue::unlist(Submission& submission) noexcept {
  base::LockGuard lock(mutex_);
  submission.listed_ = false;
  unissued_.erase(submission);
  if (unissued_.empty()) wake_waiters();
}

bool Queue::retire_ended() noexcept {
  const IssuerRole role(*this);
  if (!role) return true;
  bool busy = carry_ != nullptr || in_parts_ != nullptr;
  if (lane_ != nullptr) {
    // Perhaps no thread waits for the last ones; without a marker their end would never be seen.
    (void)mark_tail();
    (void)lane_->try_retire(*visit_);
    busy |= lane_->published() != lane_->retired();
  }
  // Work in front of a dead wait still runs.
  for (const auto& lane : quarantined_) {
    (void)lane->try_retire(*visit_);
    busy |= lane->retired() < lane->in_front();
  }
  return busy;
}

bool Queue::in_flight() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  return retire_ended() || inbox_.load(std::memory_order_acquire) != nullptr ||
         users_.load(std::memory_order_acquire) != 0;
}

void Queue::close(const Status& cause) noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  engine_.remove_queue(*this);  // no thread schedules it for a loss or a marker from here on
  {
    base::LockGuard lock(mutex_);
    if (closed_.ok()) closed_ = cause;
    refuses_.store(true, std::memory_order_seq_cst);
  }
  fail_unissued(cause);
  // The next drain releases the held submissions.
  if (held_count_.load(std::memory_order_acquire) != 0) retry();
}

bool Queue::reopen(std::string name) {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  // In this order, as in wait_idle().
  if (has_unissued() || in_flight()) return false;
  if (const IssuerRole role(*this); !role || lane_ == nullptr || !quarantined_.empty())
    return false;
  // A user's handle of a submission keeps the queue.
  if (!unique()) return false;
  late_signals_.store(0, std::memory_order_relaxed);
  is_watched_.store(false, std::memory_order_relaxed);
  engine_.rename(*this, std::move(name));
  if (tracer_ != nullptr) track_ = tracer_->add_track(options_.name, options_.clock);
  return true;
}

void Queue::watch() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  const IssuerRole role(*this);
  if (!role) return;
  const auto watch = [](LaneTracker& lane, std::uint64_t last) {
    if (lane.retired() < last && !lane.watched_.load(std::memory_order_acquire)) lane.watch(last);
  };
  if (lane_ != nullptr) watch(*lane_, lane_->published());
  for (const auto& lane : quarantined_) watch(*lane, lane->in_front());
}

void Queue::watch_dropped() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  if (!has_unissued()) {
    // The last handle may be dropped where a lane is retired.
    const IssuerRole role(*this, IssuerRole::Overtaken::kLeave);
    if (role && carry_ == nullptr && inbox_.load(std::memory_order_relaxed) == nullptr &&
        (lane_ == nullptr || lane_->retired() == lane_->published())) {
      return;
    }
  }
  is_watched_.store(true, std::memory_order_seq_cst);
  retry();
}

bool Queue::idle() noexcept {
  {
    // A closed queue is not notified of a loss, and something may have been issued until it was
    // closed.
    EffectScope scope(engine_, EffectScope::Mode::kDefer);
    const IssuerRole role(*this);
    if (!role) return false;
    check_for_loss();
  }
  if (in_flight() || held_count_.load(std::memory_order_acquire) != 0) return false;
  if (lane_ != nullptr && !lane_->quiet()) return false;
  for (const auto& lane : quarantined_) {
    // Work after its dead wait will not run, and may hold lanes of this device's queues.
    EffectScope scope(engine_, EffectScope::Mode::kDefer);
    lane->close(lane->why_dead(lane->in_front() + 1));
    if (!lane->quiet()) return false;
  }
  {
    base::LockGuard lock(mutex_);
    if (!unissued_.empty()) return false;
  }
  // The thread that took the last one off the list entered before that and may still be inside.
  return users_.load(std::memory_order_acquire) == 0;
}

bool Queue::release_lanes(const Status& cause) noexcept {
  if (lane_ == nullptr) return true;
  lane_->close(cause);  // those in quarantine have been closed: idle()
  return lane_->quiet();
}

}  // namespace halyard::inline v0::timeline
