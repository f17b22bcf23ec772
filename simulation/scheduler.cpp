// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/atomic.h"
#include "timeline/effects.h"

namespace halyard::inline v0 {

namespace base {
constinit std::int64_t schedule_points_left = std::numeric_limits<std::int64_t>::max();
}

namespace sim {

constinit Scheduler* Scheduler::current_ = nullptr;

namespace {

constexpr std::uint64_t kMiddle = std::uint64_t{1}
                                  << 63;  // between pct's priorities and the fallen

// Fibers of ended threads, for reuse, because a new stack costs two system calls.
std::vector<std::unique_ptr<Fiber>>& spare_fibers() {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

}  // namespace

class Scheduler::Thread {
 public:
  std::string name;
  std::uint64_t id = 0;
  std::unique_ptr<Fiber> fiber;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  std::uint64_t priority = 0;
  const void* address = nullptr;  // that it sleeps on
  Nanoseconds deadline = 0;
  bool in_time = true;
  bool ended = false;
  timeline::WorkList* effects = nullptr;  // timeline::active_list, while it does not run
};

Scheduler::Scheduler(const Options& options)
    : options_(options),
      random_(Random::mix(options.seed ^ 0x72616e646f6d)),
      choices_(Random::mix(options.seed ^ 0x63686f696365)) {
  for (std::uint32_t i = 0; i < options.depth; ++i) {
    falls_.push_back(choices_.below(std::max(options.length, 1u)));
  }
  std::ranges::sort(falls_, std::greater<>());  // the next one is the last
  lowest_ = kMiddle;
}

Scheduler::~Scheduler() {
  for (const auto& thread : threads_) {
    if (thread->fiber != nullptr) spare_fibers().push_back(std::move(thread->fiber));
  }
}

void Scheduler::run(void (*body)(void*), void* argument) {
  current_ = this;
  Thread& first = start("main", body, argument);
  running_ = &first;
  granted_ = base::schedule_points_left = 0;
  Fiber::switch_to(main_, *first.fiber);
  count_points();
  granted_ = base::schedule_points_left = std::numeric_limits<std::int64_t>::max();
  current_ = nullptr;
}

void Scheduler::enter(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.body(thread.argument);
  current_->end_of_thread();
}

Scheduler::Thread& Scheduler::start(std::string_view name, void (*body)(void*), void* argument) {
  Thread& thread = *threads_.emplace_back(std::make_unique<Thread>());
  thread.id = next_id_++;
  thread.name = fmt::format("{}.{}", name, thread.id);
  thread.body = body;
  thread.argument = argument;
  thread.priority = kMiddle + choices_.below(kMiddle);
  auto& spare = spare_fibers();
  if (spare.empty()) {
    thread.fiber = std::make_unique<Fiber>(&enter, &thread);
  } else {
    thread.fiber = std::move(spare.back());
    spare.pop_back();
    thread.fiber->restart(&enter, &thread);
  }
  make_runnable(thread);
  if (running_ != nullptr) decide();
  return thread;
}

void Scheduler::end_of_thread() {
  Thread& self = *running_;
  self.ended = true;
  std::erase(runnable_, &self);
  wake(&self, std::numeric_limits<int>::max());
  Thread* const next = choose();
  timeline::active_list = nullptr;
  if (next == nullptr) {
    // All threads have ended: return to run().
    running_ = nullptr;
    Fiber::switch_to(*self.fiber, main_, true);
  }
  running_ = next;
  timeline::active_list = next->effects;
  Fiber::switch_to(*self.fiber, *next->fiber, true);
  std::abort();  // an ended thread does not run
}

bool Scheduler::try_join(Thread& thread) {
  decide();
  if (!thread.ended) return false;
  spare_fibers().push_back(std::move(thread.fiber));
  return true;
}

void Scheduler::join(Thread& thread) {
  while (!try_join(thread)) sleep(&thread, Deadline::kForeverTime);
}

std::uint64_t Scheduler::this_thread() const noexcept {
  return running_ != nullptr ? running_->id : 0;
}

std::string_view Scheduler::this_name() const noexcept {
  return running_ != nullptr ? std::string_view(running_->name) : "scheduler";
}

void Scheduler::make_runnable(Thread& thread) {
  thread.address = nullptr;
  runnable_.push_back(&thread);
  // With pct, it may now have the highest priority.
  if (options_.policy == Policy::kPct && running_ != nullptr) {
    count_points();
    granted_ = base::schedule_points_left = 0;
  }
}

bool Scheduler::sleep(const void* address, Nanoseconds deadline) {
  if (failing_) end_of_report();
  Thread& self = *running_;
  self.address = address;
  self.deadline = deadline;
  self.in_time = true;
  std::erase(runnable_, &self);
  sleeping_.push_back(&self);
  switch_to(*choose());
  return self.in_time;
}

void Scheduler::wake(const void* address, int count) {
  std::vector<Thread*> woken;
  for (Thread* thread : sleeping_) {
    if (thread->address == address) woken.push_back(thread);
  }
  while (count-- > 0 && !woken.empty()) {
    const std::size_t at = woken.size() > 1 ? choices_.below(woken.size()) : 0;
    std::erase(sleeping_, woken[at]);
    make_runnable(*woken[at]);
    woken.erase(woken.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void Scheduler::sleep_for(Nanoseconds duration) {
  const Nanoseconds until = now() + duration;
  while (now() < until) (void)sleep(&until, until);
}

void Scheduler::pause() {
  if (failing_) end_of_report();
  running_->priority = --lowest_;  // pct needs it: a spinner would run for ever
  if (runnable_.size() == 1 && !sleeping_.empty()) {
    // All other threads sleep, so the loop waits for a deadline: let some time pass.
    jumped_ += 1'000;
    expire();
  }
  if (runnable_.size() > 1) {
    Thread* next = running_;
    if (options_.policy == Policy::kPct) {
      next = choose();
    } else {
      while (next == running_) next = runnable_[choices_.below(runnable_.size())];
    }
    switch_to(*next);
  } else {
    decide();
  }
}

// Chooses the next thread, and the number of points until the next decision.
void Scheduler::decide() {
  if (running_ == nullptr) return;
  count_points();
  if (!falls_.empty() && points_ >= falls_.back()) {
    falls_.pop_back();
    running_->priority = --lowest_;
  }
  switch_to(*choose());
}

Scheduler::Thread* Scheduler::choose() {
  expire();
  if (options_.hasty && !sleeping_.empty() && choices_.one_in(64)) {
    Nanoseconds first = Deadline::kForeverTime;
    for (const Thread* thread : sleeping_) first = std::min(first, thread->deadline);
    if (first != Deadline::kForeverTime && first > now()) jumped_ += first - now();
    expire();
  }
  if (runnable_.empty()) {
    if (sleeping_.empty()) return nullptr;
    Nanoseconds first = Deadline::kForeverTime;
    for (const Thread* thread : sleeping_) first = std::min(first, thread->deadline);
    if (first == Deadline::kForeverTime) fail("deadlock: every thread sleeps, none has a deadline");
    if (first - now() > options_.longest_idle) fail("a lost wake-up: every thread sleeps for long");
    jumped_ += std::max<Nanoseconds>(first - now(), 0);
    expire();
  }
  if (options_.policy == Policy::kPct) {
    return *std::ranges::max_element(runnable_, {},
                                     [](const Thread* thread) { return thread->priority; });
  }
  return runnable_[runnable_.size() > 1 ? choices_.below(runnable_.size()) : 0];
}

void Scheduler::expire() {
  const Nanoseconds time = now();
  for (std::size_t i = 0; i < sleeping_.size();) {
    Thread& thread = *sleeping_[i];
    if (thread.deadline > time) {
      ++i;
      continue;
    }
    thread.in_time = false;
    sleeping_.erase(sleeping_.begin() + static_cast<std::ptrdiff_t>(i));
    make_runnable(thread);
  }
}

void Scheduler::switch_to(Thread& next) {
  count_points();
  if (points_ > kMostPoints) fail("no end: more schedule points than any sound run needs");
  if (step != nullptr) {
    base::schedule_points_left = std::numeric_limits<std::int64_t>::max();
    step();
  }
  granted_ = base::schedule_points_left = static_cast<std::int64_t>(distance());
  if (&next == running_) return;
  schedule_ = Random::mix(schedule_ ^ next.id ^ points_ << 16);
  Thread& self = *running_;
  self.effects = timeline::active_list;
  timeline::active_list = next.effects;
  running_ = &next;
  if (options_.trace) trace("runs");
  Fiber::switch_to(*self.fiber, *next.fiber);
}

std::uint64_t Scheduler::distance() {
  if (options_.policy == Policy::kUniform) return choices_.below(2 * options_.mean_distance + 1);
  return falls_.empty() ? std::uint64_t{1} << 20 : std::max(falls_.back(), points_) - points_;
}

// Points are counted as the difference between granted and remaining points.
void Scheduler::count_points() noexcept {
  const std::int64_t left = std::max<std::int64_t>(base::schedule_points_left, 0);
  points_ += static_cast<std::uint64_t>(granted_ - left) + (base::schedule_points_left < 0);
  granted_ = base::schedule_points_left = left;
}

std::uint64_t Scheduler::points() const noexcept {
  return points_ + static_cast<std::uint64_t>(granted_ - base::schedule_points_left);
}

Nanoseconds Scheduler::now() const noexcept {
  return jumped_ + static_cast<Nanoseconds>(points()) * kPointTime;
}

void Scheduler::trace(std::string_view text) {
  fmt::print("{:12.3f} us  {:<16} {}\n", static_cast<double>(now() - kBegin) / 1e3, this_name(),
             text);
}

void Scheduler::end_of_report() {
  fmt::print(stderr, "  (the rest of the report needs a lock that is held)\n");
  std::_Exit(1);
}

void Scheduler::fail(std::string_view what) {
  // From here on no other thread runs.
  failing_ = true;
  base::schedule_points_left = std::numeric_limits<std::int64_t>::max();
  std::fflush(stdout);
  fmt::print(stderr, "seed {}: {}\n  in thread {} at {:.3f} us, schedule point {}\n", options_.seed,
             what, this_name(), static_cast<double>(jumped_ - kBegin) / 1e3, points_);
  for (const Thread* thread : sleeping_) fmt::print(stderr, "  {} sleeps\n", thread->name);
  for (const Thread* thread : runnable_) fmt::print(stderr, "  {} can run\n", thread->name);
  if (describe != nullptr) fmt::print(stderr, "{}", describe());
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace sim
}  // namespace halyard::inline v0
