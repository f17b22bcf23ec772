// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan has exactly the recording's order, with few edges.
#include "drivers/stream/graph_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace halyard::stream {
namespace {

using hal::Command;
using hal::CommandEdge;
using hal::CommandKind;
using Matrix = std::vector<std::vector<bool>>;  // [a][b]: a precedes b

const Command kStep(hal::FillCommand{{}, 0, 4});
const Command kFullBarrier;
Command set_event(std::uint32_t event) { return {CommandKind::kSetEvent, {event}}; }
Command wait_event(std::uint32_t event) { return {CommandKind::kWaitEvent, {event}}; }

struct Recording {
  std::vector<Command> commands;
  std::vector<CommandEdge> edges;
  std::uint32_t events = 0;

  hal::RecordedCommands get() const {
    return {.commands = commands, .edges = edges, .event_count = events};
  }
};

void close(Matrix& order) {
  for (std::size_t k = 0; k < order.size(); ++k) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!order[i][k]) continue;
      for (std::size_t j = 0; j < order.size(); ++j) {
        if (order[k][j]) order[i][j] = true;
      }
    }
  }
}

// The order that hal/command.h specifies, written out literally.
Matrix expected_order(const Recording& recording) {
  const std::size_t n = recording.commands.size();
  Matrix order(n, std::vector<bool>(n));
  const auto works = [&](std::size_t i) { return hal::does_work(recording.commands[i].kind); };
  for (std::size_t at = 0; at < n; ++at) {
    const Command& command = recording.commands[at];
    std::size_t before = 0;
    if (command.kind == CommandKind::kBarrier) before = at;
    if (command.kind == CommandKind::kWaitEvent) {
      for (std::size_t i = 0; i < at; ++i) {
        const Command& earlier = recording.commands[i];
        if (earlier.kind == CommandKind::kSetEvent && earlier.event.event == command.event.event) {
          before = i;
        }
      }
    }
    for (std::size_t i = 0; i < before; ++i) {
      for (std::size_t j = at + 1; j < n; ++j) order[i][j] = works(i) && works(j);
    }
  }
  for (const CommandEdge& edge : recording.edges) order[edge.before][edge.after] = true;
  close(order);
  return order;
}

Matrix order_of(const GraphPlan& plan, std::size_t commands) {
  const auto nodes = plan.nodes();
  Matrix order(nodes.size(), std::vector<bool>(nodes.size()));
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    auto dependencies = plan.dependencies(nodes[i]);
    std::vector<std::uint32_t> sorted(dependencies.begin(), dependencies.end());
    std::ranges::sort(sorted);
    EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "each once";
    EXPECT_LE(sorted.size(), plan.most_dependencies());
    for (const std::uint32_t before : sorted) {
      EXPECT_LT(before, i);
      order[before][i] = true;
    }
  }
  close(order);
  Matrix result(commands, std::vector<bool>(commands));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      if (order[i][j] && nodes[i].command != GraphPlan::kJoin &&
          nodes[j].command != GraphPlan::kJoin) {
        result[nodes[i].command][nodes[j].command] = true;
      }
    }
  }
  return result;
}

std::size_t edges_of(const GraphPlan& plan) {
  std::size_t sum = 0;
  for (const auto& node : plan.nodes()) sum += node.count;
  return sum;
}

TEST(GraphPlan, RandomRecordings_HaveTheirOrderAndNoOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    Recording recording;
    recording.events = 3;
    std::vector<bool> is_set(3);
    const std::uint32_t size = 1 + random() % 60;
    const bool sparse = round % 2 == 0;
    std::vector<std::uint32_t> works;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t what = random() % (sparse ? 40 : 8);
      const std::uint32_t event = random() % 3;
      if (what == 0) {
        recording.commands.push_back(kFullBarrier);
      } else if (what == 1) {
        recording.commands.push_back(set_event(event));
        is_set[event] = true;
      } else if (what == 2) {
        recording.commands.push_back(wait_event(event));
      } else {
        for (std::uint32_t k = random() % 4; k != 0 && !works.empty(); --k) {
          recording.edges.push_back({works[random() % works.size()], i});
        }
        works.push_back(i);
        recording.commands.push_back(kStep);
      }
    }
    GraphPlan plan;
    ASSERT_TRUE(plan.build(recording.get()));
    ASSERT_EQ(order_of(plan, size), expected_order(recording)) << "round " << round;
    ASSERT_LE(edges_of(plan), recording.edges.size() + 20 * plan.nodes().size());
  }
}

TEST(GraphPlan, WithoutOrder_HasNoEdges) {
  Recording recording;
  recording.commands.assign(100, kStep);
  GraphPlan plan;
  ASSERT_TRUE(plan.build(recording.get()));
  EXPECT_EQ(plan.nodes().size(), 100u);
  EXPECT_EQ(edges_of(plan), 0u);
}

TEST(GraphPlan, BarriersBetweenSingleCommands_AreAChain) {
  Recording recording;
  for (int i = 0; i < 100; ++i) {
    recording.commands.push_back(kStep);
    recording.commands.push_back(kFullBarrier);
  }
  GraphPlan plan;
  ASSERT_TRUE(plan.build(recording.get()));
  EXPECT_EQ(plan.nodes().size(), 100u);
  EXPECT_EQ(edges_of(plan), 99u);
}

TEST(GraphPlan, BarrierBetweenManyAndMany_IsOneJoin) {
  Recording recording;
  recording.commands.assign(100, kStep);
  recording.commands.push_back(kFullBarrier);
  recording.commands.insert(recording.commands.end(), 200, kStep);
  GraphPlan plan;
  ASSERT_TRUE(plan.build(recording.get()));
  EXPECT_EQ(plan.nodes().size(), 301u);
  EXPECT_EQ(edges_of(plan), 300u);
}

// Each wait follows one command more than the previous wait.
TEST(GraphPlan, ManyEvents_HaveAsManyEdgesAsCommands) {
  constexpr std::uint32_t kEvents = 1000;
  Recording recording;
  recording.events = kEvents;
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    recording.commands.push_back(kStep);
    recording.commands.push_back(set_event(i));
  }
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    recording.commands.push_back(wait_event(i));
    recording.commands.push_back(kStep);
  }
  GraphPlan plan;
  ASSERT_TRUE(plan.build(recording.get()));
  EXPECT_LE(edges_of(plan), 20 * kEvents);
}

// Commands that already follow the barrier pass its order on, so after() needs only one edge.
TEST(GraphPlan, ChainBehindABarrier_FollowsItOnce) {
  Recording recording;
  recording.commands = {kStep, kStep, kFullBarrier, kStep, kStep, kStep};
  recording.edges = {{3, 4}, {4, 5}, {3, 5}};
  GraphPlan plan;
  ASSERT_TRUE(plan.build(recording.get()));
  EXPECT_EQ(plan.nodes().size(), 5u) << "two before the barrier need no join";
  EXPECT_EQ(edges_of(plan), 2u + 1 + 2);
}

}  // namespace
}  // namespace halyard::stream
