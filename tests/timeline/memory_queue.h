// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stepped native queue in memory, and a world around the engine. Nothing happens until the test
// steps it: run() executes the lane's entries, settle() also steps the shells.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "timeline/engine.h"
#include "timeline/registration.h"
#include "timeline/semaphore.h"

namespace halyard::timeline::testing {

class StepClock final : public Clock {
 public:
  Nanoseconds now() noexcept override {
    if (on_now) std::exchange(on_now, {})();
    return time.load();
  }
  std::atomic<Nanoseconds> time{1'000'000};
  std::function<void()> on_now;  // called once
};

// Counts wake-ups. A park in a test without other threads would never end, so `asleep` may step the
// world instead.
class StepWorkSource final : public base::WorkSource {
 public:
  Clock& clock() noexcept override { return clock_; }
  void wake(base::Shell shell) noexcept override {
    ++wakes[static_cast<int>(shell)];
    if (on_wake) on_wake();
  }
  Status ensure(base::Shell) noexcept override { return refuse_threads; }
  Status start_thread(void (*run)(void*), void* argument) noexcept override {
    if (refuse_threads.ok()) threads.emplace_back([=] { run(argument); });
    return refuse_threads;
  }
  void pause(unsigned) noexcept override {
    if (on_pause) on_pause();
    std::this_thread::yield();
  }
  bool park(base::Parker& parker, std::uint32_t epoch, Nanoseconds deadline) noexcept override {
    ++parks;
    if (asleep) {
      sleeper_ = {&parker, epoch};
      asleep();
      return true;
    }
    return parker.park(epoch, real_deadline ? deadline : Deadline::kForeverTime);
  }

  // Inside `asleep`: whether a wake-up has reached the sleeper.
  bool woken() const { return sleeper_.first->prepare() != sleeper_.second; }

  StepClock clock_;
  std::atomic<int> wakes[base::kShellCount]{};
  std::atomic<int> parks{0};
  std::function<void()> asleep;
  std::function<void()> on_wake;
  std::function<void()> on_pause;
  std::vector<std::function<void()>> threads;  // as they were started; not run yet
  Status refuse_threads;
  bool real_deadline = false;

 private:
  std::pair<base::Parker*, std::uint32_t> sleeper_;
};

// The operation of a test's submission: appends its number to a log, in the order of running.
struct Operation : timeline::Operation {
  Operation() = default;
  Operation(std::vector<int>* the_log, int the_number, std::shared_ptr<int> the_resource)
      : log(the_log), number(the_number), resource(std::move(the_resource)) {}
  std::vector<int>* log = nullptr;
  int number = 0;
  std::shared_ptr<int> resource;
};

inline constexpr QueueCapabilities kMarkers{.marks_every_submission = false};

// kNow only polls. A wait with this deadline, which has passed, reports everything that a wait can
// report.
inline constexpr Deadline kPast = Deadline::at(1);

inline const Status kNoMemory(StatusCode::kResourceExhausted, "no memory", "CUDA_ERROR_2");
inline const Status kIllegalAddress(StatusCode::kInternal, "illegal address", "CUDA_ERROR_700");

class MemoryQueue final : public NativeQueue {
 public:
  explicit MemoryQueue(QueueCapabilities capabilities = {}) : capabilities_(capabilities) {}

  const QueueCapabilities& capabilities() const noexcept override { return capabilities_; }
  EntryGuard* entry_guard() const noexcept override { return guard.get(); }
  bool needs_guard(const Issue&) const noexcept override { return !empty; }

  IssueResult issue(std::span<const Issue> batch, Doorbell doorbell) noexcept override {
    note("issue");
    if (on_issue) std::exchange(on_issue, {})();
    std::unique_lock lock(mutex_);
    ++issue_calls;
    doorbells += doorbell == Doorbell::kRing;
    IssueResult result;
    for (const Issue& issue : batch) {
      if (!fail_next.ok()) {
        result.status = std::exchange(fail_next, {});
        result.left = fails_started        ? Left::kStarted
                      : fails_behind_waits ? Left::kWaits
                                           : Left::kNothing;
        if (result.left == Left::kNothing) return result;
        // A part of the failed submission is in the queue and runs like any other. The test knows
        // which part.
        ++issued_;
        entries_.push_back({{issue.waits.begin(), issue.waits.end()}, issue.operation});
        return result;
      }
      if (entries_.size() >= capacity) {
        result.busy = true;
        lock.unlock();
        if (on_busy) std::exchange(on_busy, {})();
        return result;
      }
      EXPECT_EQ(issue.sequence, issued_ + 1) << "sequences have no gaps";
      ++issued_;
      entries_.push_back({{issue.waits.begin(), issue.waits.end()}, issue.operation});
      last_waits.assign(issue.waits.begin(), issue.waits.end());
      parts.push_back(issue.commands);
      if (issue.want_marker && !(result.unmarked = !fail_mark.ok())) add_marker();
      ++result.count;
    }
    return result;
  }
  std::size_t markers() {  // recorded so far
    std::lock_guard lock(marker_mutex_);
    return markers_.size();
  }
  Status mark() noexcept override {
    note("mark");
    std::lock_guard lock(mutex_);
    ++mark_calls;
    if (!fail_mark.ok()) return fail_mark;
    add_marker();
    return {};
  }
  Progress poll() noexcept override {
    note("poll");
    std::lock_guard lock(mutex_);
    ++poll_calls;
    return {visible(), fault};
  }
  void note_passed(std::uint64_t sequence) noexcept override { noted = sequence; }
  Status probe() noexcept override {
    note("probe");
    ++probes;
    return probe_result;
  }
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override {
    note("arm");
    if (!fail_arm.ok()) return std::exchange(fail_arm, {});
    {
      std::lock_guard lock(mutex_);
      if (visible() < sequence && !arms_early) {
        armed_.push_back({sequence, &notify});
        return {};
      }
    }
    notify.notify();
    return {};
  }
  bool help(std::uint64_t) noexcept override {
    note("help");
    return helps && run(1) == 1;
  }
  Abandoned abandon(const Status&, Nanoseconds waited) noexcept override {
    note("abandon");
    if (on_abandon) on_abandon();
    std::lock_guard lock(mutex_);
    asked_for = waited;
    if (stopping) return Abandoned::kStopping;
    if (!still_running) entries_.clear();
    abandoned = true;
    return still_running ? Abandoned::kStillRunning : Abandoned::kStopped;
  }

  // Executes up to `count` entries whose edges are reached; returns how many.
  int run(int count = 1 << 30) {
    int ran = 0;
    std::vector<base::Notify*> due;
    {
      std::lock_guard lock(mutex_);
      while (ran < count && !entries_.empty() && !stopped &&
             (lets_go || runnable(entries_.front()))) {
        const auto& operation = *static_cast<const Operation*>(entries_.front().operation);
        if (operation.log != nullptr) operation.log->push_back(operation.number);
        entries_.pop_front();
        progress_.fetch_add(1);
        ++ran;
      }
      std::erase_if(armed_, [&](const Armed& armed) {
        if (visible() < armed.sequence || lose_notices) return false;
        due.push_back(armed.notify);
        return true;
      });
    }
    for (base::Notify* notify : due) notify->notify();
    return ran;
  }

  std::uint64_t progress() const { return progress_.load(); }
  std::size_t armed() {
    std::lock_guard lock(mutex_);
    return armed_.size();
  }
  std::size_t waiting() {
    std::lock_guard lock(mutex_);
    return entries_.size();
  }

  std::size_t capacity = 1 << 20;
  Status fail_next;
  bool fails_started = false;       // fail_next comes after a native call
  bool fails_behind_waits = false;  // fail_next comes after native waits only
  Status fail_mark;
  Ref<EntryGuard> guard;
  bool empty = false;  // issued work takes no native calls
  bool arms_early = false;
  bool lets_go = false;  // passes unmet waits, as a library may after a fault elsewhere
  Status fail_arm;
  // Each is called once: when the issuer enters, and before issue() reports a busy queue.
  std::function<void()> on_issue, on_busy;
  std::function<void()> on_abandon;
  std::function<void()> inside;  // called in every call of the engine, whose names are in `seen`
  std::set<std::string> seen;
  Status fault;
  Status probe_result;
  bool helps = false;
  bool stopped = false;
  bool lose_notices = false;
  bool ignores_waits = false;  // like a library that lets waits for a lost queue pass
  bool abandoned = false;
  bool still_running = false;  // as a device whose work cannot be stopped
  bool stopping = false;       // abandon() returns kStopping until this is false
  Nanoseconds asked_for = -1;  // by abandon()
  int issue_calls = 0, mark_calls = 0, doorbells = 0, probes = 0;
  std::uint64_t noted = 0;  // by note_passed()
  std::atomic<int> poll_calls{0};
  std::vector<Edge> last_waits;
  std::vector<CommandSpan> parts;  // of all that was issued

 private:
  void note(const char* call) {
    if (!inside) return;
    inside();
    seen.insert(call);
  }
  struct Entry {
    std::vector<Edge> waits;
    const timeline::Operation* operation;
  };
  struct Armed {
    std::uint64_t sequence;
    base::Notify* notify;
  };

  // A wait for a lane with markers passes only when the first marker at or after its point has
  // passed.
  bool runnable(const Entry& entry) {
    if (ignores_waits) return true;
    for (const Edge& edge : entry.waits) {
      auto& other = *static_cast<MemoryQueue*>(edge.queue);
      EXPECT_TRUE(other.marks_all() || other.has_marker(edge.sequence)) << "waits for no marker";
      if (other.progress() < edge.sequence) return false;
    }
    return true;
  }
  bool marks_all() const { return capabilities_.marks_every_submission; }
  void add_marker() {
    std::lock_guard lock(marker_mutex_);
    markers_.push_back(issued_);
  }
  bool has_marker(std::uint64_t sequence) {
    std::lock_guard lock(marker_mutex_);
    return std::find(markers_.begin(), markers_.end(), sequence) != markers_.end();
  }
  std::uint64_t visible() {
    if (marks_all()) return progress_.load();
    std::lock_guard lock(marker_mutex_);
    std::uint64_t last = 0;
    for (std::uint64_t marker : markers_) {
      if (marker <= progress_.load()) last = std::max(last, marker);
    }
    return last;
  }

  const QueueCapabilities capabilities_;
  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::mutex marker_mutex_;  // other queues read the markers, too
  std::vector<std::uint64_t> markers_;
  std::vector<Armed> armed_;
  std::uint64_t issued_ = 0;
  std::atomic<std::uint64_t> progress_{0};
};

// A queue with its native lanes.
struct QueueUnderTest final : LaneSource {
  Result<NativeQueue*> open_lane() override {
    if (!open_error.ok()) return open_error;
    lanes.push_back(std::make_unique<MemoryQueue>(capabilities));
    lanes.back()->guard = guard;
    return static_cast<NativeQueue*>(lanes.back().get());
  }
  MemoryQueue& native() { return *lanes.back(); }
  Queue* operator->() { return queue.get(); }

  QueueCapabilities capabilities;
  Status open_error;
  Ref<EntryGuard> guard;  // of the lanes that are opened
  std::vector<std::unique_ptr<MemoryQueue>> lanes;
  Ref<Queue> queue;
};

// The domain of most tests; its queues can wait for each other natively.
inline constexpr Domain kDomain = 1;

class World {
 public:
  explicit World(DomainMatrix matrix = one_domain()) : engine(work_source, matrix) {}
  ~World() {
    for (auto& queue : queues) {
      queue->queue->close(Status(StatusCode::kCancelled, "world ends"));
      settle();
      for (auto& lane : queue->lanes) lane->stopped = false;
    }
    settle();
    // A queue releases its references to other queues when idle() is called.
    bool idle = false;
    for (int i = 0; i < 4 && !idle; ++i) {
      idle = true;
      for (auto& queue : queues) idle &= queue->queue->idle();
      settle();
    }
    for (auto& queue : queues) {
      EXPECT_TRUE(queue->queue->release_lanes(Status(StatusCode::kCancelled, "world ends")));
    }
    settle();
  }

  static DomainMatrix one_domain() {
    DomainMatrix matrix;
    matrix.allow(kDomain, kDomain);
    return matrix;
  }

  Device& device(const char* name = "device") {
    devices.push_back(std::make_unique<Device>(engine, name));
    return *devices.back();
  }
  QueueUnderTest& queue(Device& on, const char* name, QueueCapabilities capabilities = {},
                        Domain domain = kDomain, std::uint32_t backlog = 1u << 20) {
    auto& queue = *queues.emplace_back(std::make_unique<QueueUnderTest>());
    queue.capabilities = capabilities;
    queue.guard = Ref<EntryGuard>(guard);
    queue.queue =
        Queue::create(on, queue, {.name = name, .domain = domain, .backlog_limit = backlog})
            .value();
    return queue;
  }
  QueueUnderTest& queue(const char* name = "queue") { return queue(device(), name); }

  HandleRef<Semaphore> semaphore(std::uint64_t initial = 0, const char* name = "") {
    return Semaphore::create(engine, initial, name, nullptr).value();
  }

  using Points = std::vector<Point>;
  Status submit(QueueUnderTest& queue, Points waits, Points signals, int number = 0,
                Submission** out = nullptr, std::uint32_t depth = 1) {
    Submission* submission = queue->allocate().value();
    submission->emplace<Operation>(&log, number, resource);
    submission->set_depth(depth);
    return queue->submit(*submission, {waits, signals}, out);
  }
  Status host_call(QueueUnderTest& queue, std::function<Status()> call, Points waits,
                   Points signals, bool own_thread = false) {
    Submission* submission = queue->allocate().value();
    submission->emplace<std::function<Status()>>(std::move(call));
    submission->set_host_call(
        [](void* payload) { return (*static_cast<std::function<Status()>*>(payload))(); },
        own_thread);
    return queue->submit(*submission, {waits, signals}, nullptr);
  }

  // A wait that sleeps once and then finds its deadline passed.
  Status sleeping_wait(Semaphore& semaphore, std::uint64_t value) {
    const Nanoseconds until = work_source.clock_.now() + 1;
    work_source.asleep = [&] { work_source.clock_.time = until; };
    Status status = semaphore.wait(value, Deadline::at(until));
    work_source.asleep = nullptr;
    return status;
  }

  bool step_shells() {
    bool did = engine.step_issue();
    did |= engine.step_completion();
    while (engine.step_host()) did = true;
    return did;
  }
  bool run_threads() {
    const auto threads = std::exchange(work_source.threads, {});
    for (const auto& thread : threads) thread();
    return !threads.empty();
  }
  // Steps shells, threads and lanes until nothing moves.
  void settle() {
    for (bool moved = true; moved;) {
      moved = step_shells();
      moved |= run_threads();
      for (auto& queue : queues) {
        for (auto& lane : queue->lanes) moved |= lane->run() > 0;
      }
    }
  }

  StepWorkSource work_source;
  Engine engine;
  EntryGuard* guard = nullptr;  // of the lanes of queues made from now on
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<QueueUnderTest>> queues;
  std::vector<int> log;
  std::shared_ptr<int> resource = std::make_shared<int>(0);
};

inline StatusCode code(const Status& status) { return status.code(); }
inline bool failed_with(const HandleRef<Semaphore>& semaphore, StatusCode expected) {
  return code(semaphore->query().status()) == expected;
}

}  // namespace halyard::timeline::testing
