// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/operations/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "simulation/explore/explored_world.h"
#include "simulation/explore/explorer.h"
#include "simulation/random.h"

namespace halyard::inline v0::sim {
namespace {

using timeline::Point;
using timeline::Semaphore;
using timeline::Submission;
using State = Submission::State;

enum class Kind : std::uint8_t {
  kSubmit,
  kRun,
  kIssueShell,
  kCompletionShell,
  kLook,
  kFail,
  kLose
};

struct Step {
  Kind kind;
  int index = 0;
};

std::string text(const Step& step) {
  constexpr const char* kNames[] = {"submit", "run",  "issue shell", "completion shell",
                                    "look",   "fail", "lose"};
  const bool indexed = step.kind != Kind::kIssueShell && step.kind != Kind::kCompletionShell;
  return kNames[static_cast<int>(step.kind)] + (indexed ? fmt::format(" {}", step.index) : "");
}

// A submission and its outcome.
struct Submitted {
  const Operation* operation;
  int queue;
  const Submission* submission;  // null: refused
  bool ran = false;

  State state() const { return submission->state(); }
  bool failed() const { return state() == State::kFailed; }
};

// A fresh engine, and the progress of a program on it.
class Run {
 public:
  Run(const OperationProgram& program, const OperationOptions& options)
      : program_(program), options_(options), world_(options.native_edges) {
    for (auto& semaphore : semaphores_) semaphore = world_.semaphore();
    for (int i = 0; i < kOperationQueues; ++i) {
      if (program.queues[static_cast<std::size_t>(i)].empty()) continue;
      auto& queue = world_.queue({.max_in_flight = options.max_in_flight}, true);
      queue.native().ignores_waits = options.ignores_waits;
      queue.log = queue.native().log = &log_;
    }
  }

  std::vector<Step> enabled();
  void make(const Step& step);
  std::uint64_t state();
  void check();
  void check_end();

 private:
  void submit(int queue);
  void look() {
    for (const auto& semaphore : semaphores_) (void)semaphore->query();
  }
  bool signalled(std::size_t semaphore, std::uint64_t value) const;
  bool may_fail(const Submitted& one) const;
  bool runnable(const Submitted& one) const;

  const OperationProgram& program_;
  const OperationOptions& options_;
  std::vector<int> log_;  // executed operations, as indices into submitted_
  std::vector<Submitted> submitted_;
  HandleRef<Semaphore> semaphores_[kOperationSemaphores];
  ExploredWorld world_;
  std::array<std::size_t, kOperationQueues> next_{};
  int failed_semaphore_ = -1, lost_queue_ = -1;
};

std::vector<Step> Run::enabled() {
  std::vector<Step> steps;
  const int queues = static_cast<int>(world_.queues.size());
  for (int q = 0; q < queues; ++q) {
    const auto at = static_cast<std::size_t>(q);
    if (next_[at] < program_.queues[at].size()) steps.push_back({Kind::kSubmit, q});
    for (const auto& lane : world_.queues[at]->lanes) {
      if (lane->can_step()) {
        steps.push_back({Kind::kRun, q});
        break;
      }
    }
  }
  const auto& woken = world_.work.woken;
  if (woken[static_cast<int>(base::Shell::kIssue)]) steps.push_back({Kind::kIssueShell});
  if (woken[static_cast<int>(base::Shell::kCompletion)]) steps.push_back({Kind::kCompletionShell});
  const bool news = std::ranges::any_of(
      submitted_, [](const Submitted& one) { return one.ran && one.state() == State::kIssued; });
  const bool fault = !options_.faults || failed_semaphore_ >= 0 || lost_queue_ >= 0;
  for (int s = 0; s < kOperationSemaphores; ++s) {
    if (news && options_.looks) steps.push_back({Kind::kLook, s});
    if (!fault) steps.push_back({Kind::kFail, s});
  }
  for (int q = 0; !fault && q < queues; ++q) steps.push_back({Kind::kLose, q});
  return steps;
}

void Run::submit(int queue) {
  const auto at = static_cast<std::size_t>(queue);
  const Operation& operation = program_.queues[at][next_[at]++];
  std::vector<Point> waits, signals;
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    if (operation.wait[s] != 0) waits.push_back({semaphores_[s].get(), operation.wait[s]});
    if (operation.signal[s] != 0) signals.push_back({semaphores_[s].get(), operation.signal[s]});
  }
  // Rule 4, and a lost device's refusal: nothing is queued.
  const bool late = std::ranges::any_of(
      signals, [](const Point& point) { return point.semaphore()->value() >= point.value(); });
  const bool lost = world_.queues[at]->device->lost();
  const int number = static_cast<int>(submitted_.size());
  const Submission* const submission =
      world_.try_submit(*world_.queues[at], waits, signals, number, operation.depth);
  expect((submission == nullptr) == (late || lost), "refused, or not, without a reason");
  submitted_.push_back({&operation, queue, submission});
}

void Run::make(const Step& step) {
  const auto at = static_cast<std::size_t>(step.index);
  auto& woken = world_.work.woken;
  const auto turn = [&](base::Shell shell, auto&& take) {
    woken[static_cast<int>(shell)] = false;
    if (take()) woken[static_cast<int>(shell)] = true;
  };
  const Status planted(StatusCode::kInternal, "planted");
  switch (step.kind) {
    case Kind::kSubmit:
      submit(step.index);
      break;
    case Kind::kRun: {
      const std::size_t before = log_.size();
      for (auto& lane : world_.queues[at]->lanes) {
        if (lane->step()) break;
      }
      for (std::size_t i = before; i < log_.size(); ++i) {
        const bool is_part = log_[i] < 0;
        Submitted& one = submitted_[static_cast<std::size_t>(is_part ? ~log_[i] : log_[i])];
        expect(!one.ran, "an operation runs twice");
        expect(runnable(one), "an operation runs before what it waits for");
        one.ran = !is_part;
      }
      if (!options_.looks) look();
      break;
    }
    case Kind::kIssueShell:
      turn(base::Shell::kIssue, [&] { return world_.engine.step_issue(); });
      break;
    case Kind::kCompletionShell:
      turn(base::Shell::kCompletion, [&] { return world_.engine.step_completion(); });
      break;
    case Kind::kLook:
      (void)semaphores_[at]->query();
      break;
    case Kind::kFail:
      semaphores_[at]->fail(planted);
      failed_semaphore_ = step.index;
      break;
    case Kind::kLose:
      world_.queues[at]->device->lose(planted);
      lost_queue_ = step.index;
      break;
  }
}

std::uint64_t Run::state() {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t value) { hash = Random::mix(hash ^ value) + 1; };
  for (const auto& semaphore : semaphores_) {
    add(semaphore->value() << 1 |
        (semaphore->value_state(~timeline::kFailedBit) == Semaphore::ValueState::kFailed));
  }
  for (const bool woken : world_.work.woken) add(woken);
  add(world_.engine.next_check() != Deadline::kForeverTime);
  add(static_cast<std::uint64_t>(failed_semaphore_ + 1) << 8 |
      static_cast<std::uint64_t>(lost_queue_ + 1));
  // Submissions are added by queue and place, because the order among queues no longer matters.
  for (std::size_t q = 0; q < world_.queues.size(); ++q) {
    add(next_[q]);
    for (const Submitted& one : submitted_) {
      if (one.queue != static_cast<int>(q)) continue;
      add(one.submission == nullptr ? 99 : static_cast<std::uint64_t>(one.state()) << 1 | one.ran);
    }
    for (const auto& lane : world_.queues[q]->lanes) {
      lane->add_state(
          [&](std::uint64_t value) { add(value); },
          [&](int number) {
            const Submitted& one = submitted_[static_cast<std::size_t>(number)];
            return static_cast<std::uint64_t>(
                one.operation - program_.queues[static_cast<std::size_t>(one.queue)].data());
          });
    }
  }
  return hash;
}

// --- invariants, given the faults and the operations that the native queues have run -------------

bool Run::signalled(std::size_t semaphore, std::uint64_t value) const {
  return value == 0 || std::ranges::any_of(submitted_, [&](const Submitted& one) {
           return one.ran && one.operation->signal[semaphore] >= value;
         });
}

bool Run::runnable(const Submitted& one) const {
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    if (!signalled(s, one.operation->wait[s])) return false;
  }
  return true;
}

// Its device is lost; or it waits for a semaphore that was failed, or that a failed submission was
// to signal; or it is queued after a dead wait (rule 27).
bool Run::may_fail(const Submitted& one) const {
  if (one.queue == lost_queue_) return true;
  for (const Submitted& other : submitted_) {
    if (other.submission == nullptr || !other.failed() || &other == &one) continue;
    if (lost_queue_ >= 0 && other.queue == one.queue) return true;
    for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
      if (one.operation->wait[s] != 0 && other.operation->signal[s] != 0) return true;
    }
  }
  return failed_semaphore_ >= 0 &&
         one.operation->wait[static_cast<std::size_t>(failed_semaphore_)] != 0;
}

void Run::check() {
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    expect(signalled(s, semaphores_[s]->value()), "a value that no submission has signalled");
    bool reason = failed_semaphore_ == static_cast<int>(s);
    for (const Submitted& one : submitted_) {
      if (one.submission != nullptr && one.failed()) reason |= one.operation->signal[s] != 0;
    }
    const bool failed =
        semaphores_[s]->value_state(~timeline::kFailedBit) == Semaphore::ValueState::kFailed;
    expect(!failed || reason, "a semaphore fails without a reason");
  }
  for (const Submitted& one : submitted_) {
    if (one.submission == nullptr) continue;
    switch (one.state()) {
      case State::kComplete:
        expect(one.ran, "complete, and has not run");
        for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
          const std::uint64_t value = one.operation->signal[s];
          expect(semaphores_[s]->value_state(value) != Semaphore::ValueState::kPending,
                 "complete, and its value is not reached");
        }
        break;
      case State::kFailed:
        expect(may_fail(one), "fails without a reason");
        break;
      case State::kParked:
        expect(!one.ran, "parked, and has run");
        break;
      case State::kIssued:
        break;
      default:
        fail("neither parked, issued nor ended");
    }
  }
}

// No work is left: each submission that has not ended waits for a value without a signaller.
void Run::check_end() {
  for (int turn = 0; turn < 3; ++turn) {
    look();
    for (auto& queue : world_.queues) (void)queue->queue->in_flight();
    world_.settle();
  }
  for (const Submitted& one : submitted_) {
    if (one.submission == nullptr) continue;
    if (one.state() == State::kParked) {
      bool pending = false;
      for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
        pending |=
            semaphores_[s]->value_state(one.operation->wait[s]) == Semaphore::ValueState::kPending;
      }
      expect(pending && !runnable(one), "parked at the end, and nothing to wait for");
    } else {
      expect(one.state() == State::kComplete || one.failed(), "has not ended");
    }
  }
  check();
  for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
    for (const Submitted& one : submitted_) {
      if (one.submission != nullptr && one.state() == State::kComplete) {
        expect(semaphores_[s]->value_state(one.operation->signal[s]) !=
                   Semaphore::ValueState::kPending,
               "what has run is not reached at the end");
      }
    }
  }
}

class Search {
 public:
  Search(const OperationProgram& program, const OperationOptions& options, OperationResult& result)
      : program_(program), options_(options), result_(result) {}

  void visit(std::unique_ptr<Run> run);
  std::string path() const {
    std::string all;
    for (const Step& step : path_) all += fmt::format("{}{}", all.empty() ? "" : ", ", text(step));
    return all;
  }

 private:
  std::unique_ptr<Run> at_path() const {
    auto run = std::make_unique<Run>(program_, options_);
    for (const Step& step : path_) run->make(step);
    return run;
  }

  const OperationProgram& program_;
  const OperationOptions& options_;
  OperationResult& result_;
  std::vector<Step> path_;
  std::unordered_set<std::uint64_t> seen_;
};

const Search* searching = nullptr;
const OperationProgram* searched = nullptr;

void Search::visit(std::unique_ptr<Run> run) {
  run->check();
  if (!seen_.insert(run->state()).second) return;
  ++result_.states;
  const std::vector<Step> steps = run->enabled();
  const bool end = std::ranges::all_of(steps, [](const Step& step) {
    return step.kind == Kind::kFail || step.kind == Kind::kLose || step.kind == Kind::kLook;
  });
  if (end) {
    run->check_end();
    run = nullptr;
  }
  for (const Step& step : steps) {
    // The first step continues this run; for the others, the path is run again.
    if (run == nullptr) {
      run = at_path();
      ++result_.executions;
    }
    path_.push_back(step);
    run->make(step);
    visit(std::move(run));
    path_.pop_back();
  }
}

}  // namespace

std::string OperationProgram::text() const {
  std::string all;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    if (queues[q].empty()) continue;
    all += fmt::format("{}queue {}:", q == 0 ? "" : "; ", q);
    for (const Operation& operation : queues[q]) {
      all += " (";
      for (std::size_t s = 0; s < kOperationSemaphores; ++s) {
        if (operation.wait[s] != 0) all += fmt::format("wait {}>={} ", s, operation.wait[s]);
        if (operation.signal[s] != 0) all += fmt::format("signal {}={} ", s, operation.signal[s]);
      }
      if (operation.depth != 1) all += fmt::format("{} commands ", operation.depth);
      if (all.back() == ' ') all.pop_back();
      all += ")";
    }
  }
  return all;
}

void explore_operations(const OperationProgram& program, const OperationOptions& options,
                        OperationResult& result) {
  Search search(program, options, result);
  searching = &search;
  searched = &program;
  Explorer::describe = [] {
    return fmt::format("  {}\n  {}\n", searched->text(), searching->path());
  };
  ++result.programs;
  ++result.executions;
  search.visit(std::make_unique<Run>(program, options));
  Explorer::describe = nullptr;
}

}  // namespace halyard::inline v0::sim
