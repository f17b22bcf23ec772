// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue: a submission's path up to the inbox, and the end of a queue.
#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "base/build.h"
#include "base/format.h"
#include "base/spin_lock.h"
#include "timeline/engine.h"
#include "timeline/queue.h"

namespace halyard::inline v0::timeline {
namespace {

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
  if (!queue || !queue->issuer_.open(*native) || !queue->engine_.add_queue(*queue, queue->index_)) {
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

Queue::~Queue() { engine_.remove_queue(*this); }

Result<Submission*> Queue::allocate() noexcept {
  if (Submission* const submission = pool_.allocate(); submission != nullptr) return submission;
  return error(StatusCode::kResourceExhausted, "{}: no memory for a submission", name());
}

void Queue::discard(Submission& submission) noexcept {
  // Releasing its payload may let other queues continue, as the end of a recording's instance does.
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  if (submission.record_ != nullptr) [[unlikely]]
    submission.end_check();
  submission.release_payload();
  submission.release();
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
  if (refuses_.load(std::memory_order_acquire)) return why_closed();
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
  if (inbox_.backlog(std::memory_order_relaxed) >= options_.backlog_limit) [[unlikely]] {
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
  for (const WaitNode& wait : submission.waits()) {
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
    if (IssuerRole role{issuer_}) return role.work(false, &submission, issued), Status();
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
    if (cause.ok()) cause = why_closed();
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
  inbox_.push(submission);
  // A holder of the role checks the inbox after it has released the role.
  if (!inbox_.is_role_taken()) schedule();
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

void Queue::run(bool shell) noexcept {
  scheduled_.store(false, std::memory_order_seq_cst);
  if (IssuerRole role{issuer_}) role.work(shell);
  leave();
}

// On a shell, after this thread's other effects; for an outside caller, on the issue shell if a
// thread can run that.
void Queue::work_later(bool shell) noexcept {
  if (shell || !engine_.work_source().ensure(base::Shell::kIssue).ok()) return schedule();
  enter();
  if (scheduled_.exchange(true, std::memory_order_seq_cst)) {
    leave();
  } else {
    engine_.post(base::Shell::kIssue, *this);
  }
}

bool Queue::try_mark(Visit& visit) noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  const IssuerRole role(issuer_, visit);
  return role && role->mark_tail();
}

void Queue::request_mark(std::uint64_t bit, Visit& visit) noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  inbox_.want_marks(bit);
  // The holder of the role looks before and after it releases the role.
  if (const IssuerRole role{issuer_, visit}) role->serve_marks();
}

void Queue::fail_unissued(const Status& cause) noexcept {
  const auto state = cause.code() == StatusCode::kCancelled ? Submission::State::kCancelled
                                                            : Submission::State::kFailed;
  for_each_unissued([&](Submission& submission) {
    // Not host calls that run now: they end by themselves.
    (void)submission.end(Submission::State::kParked, state, cause);
  });
}

void Queue::note_late(std::uint64_t semaphore, std::uint64_t value) noexcept {
  late_semaphore_.store(semaphore, std::memory_order_relaxed);
  late_value_.store(value, std::memory_order_relaxed);
  late_signals_.fetch_add(1, std::memory_order_relaxed);
}

void Queue::keep() noexcept {
  // Not a member of the engine: the device may outlive it.
  static base::SpinLock lock;
  static Queue* kept = nullptr;
  lock.lock();
  if (!std::exchange(is_kept_, true)) {
    retain();
    next_kept_ = std::exchange(kept, this);
  }
  lock.unlock();
}

bool Queue::retire_ended() noexcept {
  const IssuerRole role(issuer_);
  return !role || role->retire_all();
}

bool Queue::in_flight() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  return retire_ended() || inbox_.has_submissions(std::memory_order_acquire) ||
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
  if (has_held()) retry();
}

bool Queue::reopen(std::string name) {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  // In this order, as in wait_idle().
  if (has_unissued() || in_flight()) return false;
  if (const IssuerRole role(issuer_); !role || !role->is_whole()) return false;
  // A user's handle of a submission keeps the queue.
  if (!unique()) return false;
  late_signals_.store(0, std::memory_order_relaxed);
  is_watched_.store(false, std::memory_order_relaxed);
  // The name is read without this lock only if the queue has submissions or a user.
  engine_.for_each_queue([&](Queue& queue) {
    if (&queue == this) options_.name = std::move(name);
  });
  if (tracer_ != nullptr) track_ = tracer_->add_track(options_.name, options_.clock);
  return true;
}

void Queue::watch() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  if (const IssuerRole role{issuer_}) role->watch();
}

void Queue::watch_dropped() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  if (!has_unissued()) {
    // The last handle may be dropped where a lane is retired.
    const IssuerRole role(issuer_, IssuerRole::Overtaken::kLeave);
    if (role && role->is_idle()) return;
  }
  is_watched_.store(true, std::memory_order_seq_cst);
  retry();
}

bool Queue::idle() noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  // A closed queue is not notified of a loss, and something may have been issued until it was
  // closed.
  if (const IssuerRole role{issuer_}; !role) {
    return false;
  } else {
    role->check_for_loss();
  }
  if (in_flight() || has_held()) return false;
  if (const IssuerRole role(issuer_); !role || !role->quiet()) return false;
  if (has_unissued()) return false;
  // The thread that took the last one off the list entered before that and may still be inside.
  return users_.load(std::memory_order_acquire) == 0;
}

bool Queue::release_lanes(const Status& cause) noexcept {
  EffectScope scope(engine_, EffectScope::Mode::kDefer);
  const IssuerRole role(issuer_);
  return role && role->close_lane(cause);
}

}  // namespace halyard::inline v0::timeline
