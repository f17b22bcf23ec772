// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/task_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace halyard::cpu {
namespace {

constexpr std::uint32_t kEvents = 3;

// A recording whose commands are identified by number.
class Recorded {
 public:
  std::uint32_t work(std::vector<std::uint32_t> after = {}, std::uint32_t pieces = 1) {
    const auto index = static_cast<std::uint32_t>(commands_.size());
    for (const std::uint32_t before : after) edges_.push_back({before, index});
    cpu::Task task;
    task.argument = this;
    task.pieces = pieces;
    add(hal::CommandKind::kFill, 0, task);
    return index;
  }
  void barrier() { add(hal::CommandKind::kBarrier); }
  void set(std::uint32_t event) { add(hal::CommandKind::kSetEvent, event); }
  void reset(std::uint32_t event) { add(hal::CommandKind::kResetEvent, event); }
  void wait(std::uint32_t event) { add(hal::CommandKind::kWaitEvent, event); }

  TaskPlan plan() const {
    return plan_tasks({.commands = commands_, .edges = edges_, .event_count = kEvents}, work_)
        .value();
  }

  // follows[b][a]: command b runs after command a, by the definitions of barrier, event and edge.
  std::vector<std::vector<bool>> definition() const {
    const std::size_t size = commands_.size();
    std::vector<std::vector<bool>> follows(size, std::vector<bool>(size));
    std::vector<bool> base(size);  // all later commands follow these
    std::vector<bool> marks[kEvents];
    std::size_t edge = 0;
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<bool> all(size);
      for (std::size_t before = 0; before < i; ++before) all[before] = is_work(before);
      const std::uint32_t event = is_work(i) ? 0 : commands_[i].event.event;
      switch (commands_[i].kind) {
        case hal::CommandKind::kBarrier:
          base = all;
          break;
        case hal::CommandKind::kSetEvent:
          marks[event] = all;
          break;
        case hal::CommandKind::kResetEvent:
          marks[event].clear();
          break;
        case hal::CommandKind::kWaitEvent:
          for (std::size_t b = 0; b < marks[event].size(); ++b) {
            if (marks[event][b]) base[b] = true;
          }
          break;
        default:
          follows[i] = base;
          for (; edge < edges_.size() && edges_[edge].after == i; ++edge) {
            const std::uint32_t before = edges_[edge].before;
            follows[i][before] = true;
            for (std::size_t b = 0; b < size; ++b) {
              if (follows[before][b]) follows[i][b] = true;
            }
          }
      }
    }
    return follows;
  }

  // The same from a plan: true if a path of edges leads from the last task of a to the first of b.
  std::vector<std::vector<bool>> of_plan(const TaskPlan& plan) const {
    const std::size_t tasks = plan.tasks.size();
    std::vector<std::vector<bool>> reached(tasks, std::vector<bool>(tasks));  // [task][from]
    std::vector<std::vector<std::size_t>> before(tasks);
    for (const cpu::TaskEdge& edge : plan.edges) {
      EXPECT_LT(edge.before, edge.after);
      before[edge.after].push_back(edge.before);
    }
    for (std::size_t task = 0; task < tasks; ++task) {
      for (const std::size_t b : before[task]) {
        reached[task][b] = true;
        for (std::size_t from = 0; from < tasks; ++from) {
          if (reached[b][from]) reached[task][from] = true;
        }
      }
    }
    // Commands have their tasks in order; a divided command is an empty task, its pieces, an empty
    // task.
    std::vector<std::pair<std::size_t, std::size_t>> ends(commands_.size());
    std::size_t task = 0;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (!is_work(i)) continue;
      while (plan.tasks[task].argument == nullptr) ++task;
      const std::uint32_t pieces = work_[i].pieces;
      if (pieces == 1) {
        ends[i] = {task, task};
        ++task;
        continue;
      }
      ends[i] = {task - 1, task + pieces};
      for (std::uint32_t piece = 0; piece < pieces; ++piece, ++task) {
        EXPECT_EQ(plan.tasks[task].piece, piece);
        EXPECT_EQ(plan.tasks[task].pieces, pieces);
        EXPECT_TRUE(reached[task][ends[i].first]);
        EXPECT_TRUE(reached[ends[i].second][task]);
      }
    }
    std::vector<std::vector<bool>> follows(commands_.size(), std::vector<bool>(commands_.size()));
    for (std::size_t a = 0; a < commands_.size(); ++a) {
      for (std::size_t b = a + 1; b < commands_.size(); ++b) {
        if (is_work(a) && is_work(b)) follows[b][a] = reached[ends[b].first][ends[a].second];
      }
    }
    return follows;
  }

  std::size_t size() const { return commands_.size(); }

 private:
  bool is_work(std::size_t index) const { return hal::does_work(commands_[index].kind); }
  void add(hal::CommandKind kind, std::uint32_t event = 0, const cpu::Task& task = {}) {
    hal::Command command(kind, hal::EventCommand{event});
    commands_.push_back(command);
    work_.push_back(task);
  }

  std::vector<hal::Command> commands_;
  std::vector<hal::CommandEdge> edges_;
  std::vector<cpu::Task> work_;
};

void expect_as_defined(const Recorded& recorded) {
  const TaskPlan plan = recorded.plan();
  EXPECT_EQ(recorded.of_plan(plan), recorded.definition());
}

TEST(TaskPlan, OrdersNothingThatTheRecordingDoesNot) {
  Recorded r;
  for (int i = 0; i < 5; ++i) r.work();
  const TaskPlan plan = r.plan();
  EXPECT_EQ(plan.tasks.size(), 5u);
  EXPECT_EQ(plan.edges.size(), 0u);
  EXPECT_TRUE(plan.parallel);
}

TEST(TaskPlan, KnowsAChain) {
  Recorded barriers, edges, empty, one;
  for (std::uint32_t i = 0; i < 5; ++i) {
    barriers.work();
    barriers.barrier();
    if (i == 0) edges.work();
    if (i != 0) edges.work({i - 1});
  }
  one.work({}, 8);
  for (const Recorded* chain : {&barriers, &edges, &empty, &one}) {
    EXPECT_FALSE(chain->plan().parallel);
  }
}

TEST(TaskPlan, ABarrierBetweenWideStagesTakesAnEdgePerCommand) {
  Recorded r;
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < 100; ++i) r.work();
    r.barrier();
  }
  EXPECT_LE(r.plan().edges.size(), 600u);
  expect_as_defined(r);
}

TEST(TaskPlan, WideStagesThatFollowEachOtherByEdgesTakeFewOfThem) {
  Recorded r;
  std::vector<std::uint32_t> last;
  for (int stage = 0; stage < 3; ++stage) {
    std::vector<std::uint32_t> now;
    for (int i = 0; i < 100; ++i) now.push_back(r.work(last));
    last = now;
  }
  EXPECT_LE(r.plan().edges.size(), 600u);
  expect_as_defined(r);
}

TEST(TaskPlan, AWaitOrdersAfterWhatStoodBeforeItsSetAlone) {
  Recorded r;
  r.work();
  r.set(0);
  r.work();
  r.wait(0);
  r.work();
  expect_as_defined(r);
}

TEST(TaskPlan, AnEdgeAcrossABarrierAddsNothing) {
  Recorded r;
  const std::uint32_t first = r.work();
  r.work();
  r.barrier();
  r.work({first});
  EXPECT_EQ(r.plan().edges.size(), 3u);
  expect_as_defined(r);
}

TEST(TaskPlan, OrdersAsBarriersEventsAndEdgesAreDefined) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Recorded r;
    std::vector<std::uint32_t> commands, after;
    for (int i = 0; i < 40; ++i) {
      switch (const unsigned what = random() % 12; what) {
        case 0:
          r.barrier();
          break;
        case 1:
          r.set(random() % kEvents);
          break;
        case 2:
          r.wait(random() % kEvents);
          break;
        case 3:
          r.reset(random() % kEvents);
          break;
        default: {
          if (random() % 3 != 0) {  // otherwise the previous predecessors
            after.clear();
            const unsigned most = random() % 2 == 0 ? 3 : 8;
            for (unsigned edges = random() % most; edges != 0 && !commands.empty(); --edges) {
              after.push_back(commands[random() % commands.size()]);
            }
          }
          commands.push_back(r.work(after, what < 6 ? 1 + random() % 3 : 1));
        }
      }
    }
    expect_as_defined(r);
  }
}

}  // namespace
}  // namespace halyard::cpu
