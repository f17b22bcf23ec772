// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/explore/explorer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "simulation/explore/explored_thread.h"
#include "timeline/effects.h"

namespace halyard::inline v0::sim {

constinit Explorer* Explorer::current_ = nullptr;

namespace {

constexpr std::int64_t kExploring = std::numeric_limits<std::int64_t>::min() / 2;
constexpr std::int64_t kNotCounted = std::numeric_limits<std::int64_t>::max();

constexpr std::uint8_t bit(std::size_t thread) { return static_cast<std::uint8_t>(1u << thread); }

void join(auto& clock, const auto& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

Explorer::Explorer(void (*build)(Program&), const Options& options)
    : build_(build), options_(options), touched_(1024) {}

Explorer::~Explorer() = default;

Explorer::Result Explorer::run() {
  do {
    run_once();
  } while (options_.replay == nullptr && backtrack());
  return result_;
}

void Explorer::run_once() {
  {
    Program program;
    build_(program);
    thread_count_ = program.threads().size();
    if (thread_count_ > kMostThreads) fail("more threads than there is room for");
    for (std::size_t i = 0; i < thread_count_; ++i) {
      if (i == threads_.size()) threads_.push_back(std::make_unique<Thread>());
      Thread& thread = *threads_[i];
      std::unique_ptr<Fiber> fiber = std::move(thread.fiber);
      std::vector<const void*> seen = std::move(thread.seen);
      seen.clear();
      thread = Thread();
      thread.seen = std::move(seen);
      thread.number = static_cast<std::uint8_t>(i);
      thread.body = &program.threads()[i];
      if (fiber == nullptr) {
        fiber = std::make_unique<Fiber>(&enter, &thread);
      } else {
        fiber->restart(&enter, &thread);
      }
      thread.fiber = std::move(fiber);
    }
    ++run_number_;
    steps_ = 0;
    next_sleep_ = 0;
    next_preemptions_ = 0;
    last_ = nullptr;
    redundant_ = false;
    if (options_.record != nullptr) options_.record->length = 0;
    current_ = this;
    base::schedule_points_left = kExploring;
    // Until their first access, threads share nothing.
    starting_ = true;
    for (std::size_t i = 0; i < thread_count_; ++i) {
      running_ = threads_[i].get();
      Fiber::switch_to(main_, *running_->fiber);
      running_->effects = timeline::active_list;
      timeline::active_list = nullptr;
    }
    starting_ = false;
    running_ = nullptr;
    if (Thread* const first = choose(); first != nullptr) {
      running_ = first;
      timeline::active_list = first->effects;
      Fiber::switch_to(main_, *first->fiber);
    }
    running_ = nullptr;
    timeline::active_list = nullptr;
    base::schedule_points_left = kNotCounted;
    current_ = nullptr;
    program.check();
  }
  ++(redundant_ ? result_.redundant : result_.executions);
  result_.longest = std::max<std::uint64_t>(result_.longest, steps_);
  if (options_.after_run != nullptr) options_.after_run();
}

// Selects the next run: backtracks to the deepest state with an untried step. Returns false if
// there is none.
bool Explorer::backtrack() {
  for (; !nodes_.empty(); nodes_.pop_back()) {
    const int next = pick(nodes_.back());
    if (next < 0) continue;
    nodes_.back().chosen = static_cast<std::uint8_t>(next);
    nodes_.back().done |= bit(static_cast<std::size_t>(next));
    return true;
  }
  return false;
}

int Explorer::pick(Node& node) const noexcept {
  const auto left = static_cast<Mask>(node.backtrack & ~node.done & ~node.sleep);
  return left == 0 ? -1 : std::countr_zero(left);
}

void Explorer::enter(void* argument) {
  Thread& self = *static_cast<Thread*>(argument);
  self.body->run();
  self.state = Thread::State::kEnded;
  current_->go_on(true);
}

void Explorer::access(const void* address, Kind kind, const void* where) {
  Thread& self = *running_;
  self.next = {address, kind, where};
  announce(self);
  self.condition.holds = nullptr;
}

void Explorer::delay_next_access(const void* address, base::Holds holds,
                                 std::uint64_t value) noexcept {
  running_->condition = {address, holds, value};
}

void Explorer::pause() noexcept { running_->paused = true; }

bool Explorer::sleep(const void* address, Nanoseconds deadline) {
  Thread& self = *running_;
  self.state = Thread::State::kAsleep;
  self.asleep_on = address;
  self.deadline = deadline;
  self.in_time = true;
  self.next = {deadline != Deadline::kForeverTime ? address : nullptr, Kind::kTimeout, nullptr};
  announce(self);
  return self.in_time;
}

void Explorer::wake(const void* address, int count) noexcept {
  for (std::size_t i = 0; i < thread_count_ && count > 0; ++i) {
    Thread& thread = *threads_[i];
    if (thread.state != Thread::State::kAsleep || thread.asleep_on != address) continue;
    thread.state = Thread::State::kWoken;
    join(thread.clock, running_->clock);
    --count;
  }
}

Nanoseconds Explorer::now() const noexcept { return running_->time; }

std::uint64_t Explorer::this_thread() const noexcept { return running_->number + 1u; }

// The running thread is about to make self.next. Finds the earlier steps that could have come after
// it.
void Explorer::announce(Thread& self) {
  if (reduces() && self.next.address != nullptr) {
    const Touched& last = touched(self.next.address);
    std::uint32_t step = 0;  // the last dependent, concurrent step
    if (last.write > self.clock[last.writer]) step = last.write;
    for (std::size_t i = 0; self.next.kind != Kind::kRead && i < thread_count_; ++i) {
      if (i != self.number && last.reads[i] > self.clock[i]) step = std::max(step, last.reads[i]);
    }
    if (step != 0) add_backtrack(step, self);
  }
  go_on(false);
}

void Explorer::add_backtrack(std::uint32_t step, const Thread& self) {
  Node& node = nodes_[step - 1];
  if ((node.enabled & bit(self.number)) != 0) {
    node.backtrack |= bit(self.number);
    return;
  }
  // Prefer a thread that made a later step which happened before this one; otherwise take any.
  for (std::size_t i = 0; i < thread_count_; ++i) {
    if ((node.enabled & bit(i)) != 0 && self.clock[i] > step) {
      node.backtrack |= bit(i);
      return;
    }
  }
  node.backtrack = node.enabled;
}

Explorer::Touched& Explorer::touched(const void* address) {
  const std::size_t mask = touched_.size() - 1;
  const auto hash = reinterpret_cast<std::uintptr_t>(address) * 0x9e37'79b9'7f4a'7c15 >> 40;
  for (std::size_t at = hash & mask, tries = 0; tries <= mask; at = (at + 1) & mask, ++tries) {
    Touched& found = touched_[at];
    if (found.run == run_number_ && found.address == address) return found;
    if (found.run == run_number_) continue;
    found = Touched();
    found.address = address;
    found.run = run_number_;
    return found;
  }
  fail("more addresses than there is room for");
}

void Explorer::go_on(bool last) {
  Thread& self = *running_;
  if (starting_) return Fiber::switch_to(*self.fiber, main_, last);
  Thread* const next = choose();
  if (next == &self) return;
  self.effects = timeline::active_list;
  running_ = next;
  timeline::active_list = next != nullptr ? next->effects : nullptr;
  Fiber::switch_to(*self.fiber, next != nullptr ? *next->fiber : main_, last);
}

Explorer::Mask Explorer::enabled_threads() const noexcept {
  Mask enabled = 0;
  for (std::size_t i = 0; i < thread_count_; ++i) {
    const Thread& thread = *threads_[i];
    const auto& condition = thread.condition;
    if (thread.state == Thread::State::kAsleep) {
      if (thread.deadline != Deadline::kForeverTime) enabled |= bit(i);
    } else if (thread.state == Thread::State::kReady && (!thread.paused || thread.stirred) &&
               (condition.holds == nullptr ||
                condition.holds(condition.address, condition.value))) {
      enabled |= bit(i);
    }
  }
  return enabled;
}

// The thread that makes the next step; null: the run has ended.
Explorer::Thread* Explorer::choose() {
  // Waking up accesses no memory, so the order does not matter.
  for (std::size_t i = 0; i < thread_count_; ++i) {
    if (threads_[i]->state != Thread::State::kWoken) continue;
    threads_[i]->state = Thread::State::kReady;
    return threads_[i].get();
  }
  const Mask enabled = enabled_threads();
  free_ = unforced(enabled);
  bool ended = true;
  for (std::size_t i = 0; i < thread_count_; ++i) {
    ended &= threads_[i]->state == Thread::State::kEnded || threads_[i]->body->shell;
  }
  if (enabled == 0) {
    if (!ended) fail("deadlock: no thread can go on");
    return nullptr;
  }
  if (steps_ == Schedule::kMostSteps) fail("no end: more steps than any sound run needs");

  int chosen = -1;
  if (options_.replay != nullptr) {
    chosen = steps_ < options_.replay->length ? options_.replay->threads[steps_] : -1;
    if (chosen >= 0 && (enabled & bit(static_cast<std::size_t>(chosen))) == 0) {
      fail("this schedule is of another program");
    }
  } else if (!redundant_) {
    if (steps_ == nodes_.size()) {
      Node node{.enabled = enabled, .sleep = next_sleep_, .preemptions = next_preemptions_};
      const auto awake = static_cast<Mask>(enabled & ~node.sleep);
      if (awake == 0) {
        redundant_ = true;
      } else {
        node.chosen = static_cast<std::uint8_t>(preferred(awake));
        node.backtrack = node.done = bit(node.chosen);
        if (bounded()) node.backtrack = node.preemptions < options_.preemptions ? enabled : free_;
        nodes_.push_back(node);
        ++result_.states;
      }
    } else if (nodes_[steps_].enabled != enabled) {
      fail("a run did not repeat: not all that it does is up to the schedule");
    }
    if (!redundant_) chosen = nodes_[steps_].chosen;
  }
  if (chosen < 0) chosen = preferred(enabled);
  Thread& self = *threads_[static_cast<std::size_t>(chosen)];
  take_step(self);
  return &self;
}

// The threads that may run without a preemption: the last thread, unless it cannot run or pauses;
// otherwise all threads that do not pause, if any.
Explorer::Mask Explorer::unforced(Mask enabled) const noexcept {
  Mask running = 0;
  for (std::size_t i = 0; i < thread_count_; ++i) {
    if (!threads_[i]->paused) running |= static_cast<Mask>(enabled & bit(i));
  }
  if (running == 0) return enabled;
  if (last_ == nullptr || (running & bit(last_->number)) == 0) return running;
  return bit(last_->number);
}

int Explorer::preferred(Mask among) const noexcept {
  const auto first = static_cast<Mask>(among & free_);
  return std::countr_zero(first != 0 ? first : among);
}

void Explorer::take_step(Thread& self) {
  if (options_.replay != nullptr) print_step(self);
  if (options_.record != nullptr) {
    options_.record->threads[steps_] = self.number;
    options_.record->length = steps_ + 1;
  }
  ++steps_;
  next_preemptions_ += (free_ & bit(self.number)) != 0 ? 0 : 1;
  last_ = &self;
  look_for_dead_stack(self);
  if (reduces()) order_step(self);
  stir_others(self);
  if (self.next.kind == Kind::kTimeout) {
    self.state = Thread::State::kReady;
    self.in_time = false;
    self.time = std::max(self.time, self.deadline);
  }
}

// Updates the clock of a step, and finds the threads that could have run before it.
void Explorer::order_step(Thread& self) {
  Touched& last = touched(self.next.address);
  join(self.clock, last.written_clock);
  if (self.next.kind == Kind::kRead) {
    self.clock[self.number] = last.reads[self.number] = steps_;
    join(last.read_clock, self.clock);
  } else {
    join(self.clock, last.read_clock);
    self.clock[self.number] = last.write = steps_;
    last.writer = self.number;
    last.written_clock = self.clock;
    last.reads = last.read_clock = {};
  }
  const Node& node = nodes_[steps_ - 1];
  const auto tried = static_cast<Mask>((node.sleep | node.done) & ~bit(self.number));
  next_sleep_ = 0;
  for (std::size_t i = 0; i < thread_count_; ++i) {
    Thread& other = *threads_[i];
    if (&other == &self || !other.stands_before_step()) continue;
    if (other.next.conflicts_with(self.next)) {
      add_backtrack(steps_, other);
    } else {
      next_sleep_ |= static_cast<Mask>(tried & bit(i));
    }
  }
}

void Explorer::look_for_dead_stack(const Thread& self) const {
  for (std::size_t i = 0; i < thread_count_; ++i) {
    const Thread& other = *threads_[i];
    const bool ended = other.state == Thread::State::kEnded;
    if (&other != &self &&
        (ended ? other.fiber->owns(self.next.address) : other.fiber->has_left(self.next.address))) {
      fail("a thread touches another's stack where that has returned");
    }
  }
}

void Explorer::stir_others(Thread& self) {
  const auto has_seen = [&](const Thread& thread) {
    return std::ranges::find(thread.seen, self.next.address) != thread.seen.end();
  };
  if (self.paused) {
    self.paused = self.stirred = false;
    self.seen.clear();
  }
  if (!has_seen(self)) self.seen.push_back(self.next.address);
  if (self.next.kind == Kind::kRead) return;
  for (std::size_t i = 0; i < thread_count_; ++i) {
    Thread& other = *threads_[i];
    if (&other != &self && !other.stirred) other.stirred = has_seen(other);
  }
}

}  // namespace halyard::inline v0::sim
