// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/graph_plan.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "access_model.h"

namespace halyard::hcq {
namespace {

using Waits = std::vector<GraphPlan::Wait>;

constexpr GraphPlan::Queue kInOrder{.fifo_complete = true};
constexpr GraphPlan::Queue kOverlapping{.fifo_complete = false};

// Calls of a test, by queue, with their accesses. A call writes its own byte, and depends on others
// by reading theirs.
struct Calls {
  std::uint32_t add(std::uint32_t queue, std::vector<Access> list) {
    queues.push_back(queue);
    accesses.push_back(std::move(list));
    return static_cast<std::uint32_t>(queues.size() - 1);
  }
  // A call that writes its own byte and reads those of `dependencies`.
  std::uint32_t after(std::uint32_t queue, const std::vector<std::uint32_t>& dependencies) {
    std::vector<Access> list = {write(queues.size(), queues.size() + 1)};
    for (const std::uint32_t call : dependencies) list.push_back(read(call, call + 1));
    return add(queue, std::move(list));
  }
  GraphPlan plan(const std::vector<GraphPlan::Queue>& kinds) const {
    std::vector<GraphPlan::Call> calls;
    for (std::size_t i = 0; i < queues.size(); ++i) calls.push_back({queues[i], accesses[i]});
    return {kinds, calls};
  }

  std::vector<std::uint32_t> queues;
  std::vector<std::vector<Access>> accesses;
};

Waits waits(const GraphPlan& plan, std::size_t call) {
  return {plan.waits(call).begin(), plan.waits(call).end()};
}

TEST(GraphPlan, PositionsCountEachQueueFromOne) {
  Calls calls;
  for (const std::uint32_t queue : {0, 2, 0, 2, 2}) calls.after(queue, {});
  const GraphPlan plan = calls.plan({kInOrder, kInOrder, kInOrder});
  const std::uint32_t positions[] = {1, 1, 2, 2, 3};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(plan.position(i), positions[i]);
}

TEST(GraphPlan, CallWaitsForItsDependencyOnAnotherQueue) {
  Calls calls;
  calls.after(0, {});
  const auto copy = calls.after(1, {});
  const auto kernel = calls.after(0, {copy});
  const GraphPlan plan = calls.plan({kInOrder, kInOrder});
  EXPECT_EQ(waits(plan, kernel), (Waits{{1, 1}}));
}

TEST(GraphPlan, InOrderQueueNeverWaitsForItself) {
  Calls calls;
  const auto first = calls.after(0, {});
  const auto second = calls.after(0, {});
  const auto third = calls.after(0, {first, second});
  EXPECT_EQ(waits(calls.plan({kInOrder}), third), Waits{});
}

TEST(GraphPlan, OverlappingQueueWaitsForItself) {
  Calls calls;
  const auto first = calls.after(0, {});
  const auto second = calls.after(0, {first});
  EXPECT_EQ(waits(calls.plan({kOverlapping}), second), (Waits{{0, 1}}));
}

TEST(GraphPlan, SeveralDependenciesOnOneQueueAreOneWaitForTheNewest) {
  Calls calls;
  const auto a = calls.after(1, {});
  const auto b = calls.after(1, {});
  const auto c = calls.after(0, {a, b});
  EXPECT_EQ(waits(calls.plan({kInOrder, kInOrder}), c), (Waits{{1, 2}}));
}

TEST(GraphPlan, NewestCallOfAnOverlappingQueueDoesNotStandForOlderOnes) {
  Calls calls;
  const auto a = calls.after(1, {});
  const auto b = calls.after(1, {});
  const auto c = calls.after(0, {a, b});
  EXPECT_EQ(waits(calls.plan({kInOrder, kOverlapping}), c), (Waits{{1, 2}, {1, 1}}));
}

TEST(GraphPlan, NewestCallOfAnOverlappingQueueStandsForThoseItWaitedFor) {
  Calls calls;
  const auto a = calls.after(1, {});
  const auto b = calls.after(1, {});
  const auto c = calls.after(1, {a});
  const auto d = calls.after(0, {a, b, c});
  EXPECT_EQ(waits(calls.plan({kInOrder, kOverlapping}), d), (Waits{{1, 3}, {1, 2}}));
}

TEST(GraphPlan, EarlierWaitOfTheQueueHoldsForItsLaterCalls) {
  for (const GraphPlan::Queue kind : {kInOrder, kOverlapping}) {
    Calls calls;
    const auto a = calls.after(1, {});
    const auto b = calls.after(1, {});
    calls.after(0, {b});
    const auto d = calls.after(0, {a, b});
    EXPECT_EQ(waits(calls.plan({kind, kInOrder}), d), Waits{});
  }
}

TEST(GraphPlan, WaitIsRepeatedForANewerCall) {
  Calls calls;
  const auto a = calls.after(1, {});
  const auto b = calls.after(1, {});
  calls.after(0, {a});
  const auto d = calls.after(0, {b});
  EXPECT_EQ(waits(calls.plan({kInOrder, kInOrder}), d), (Waits{{1, 2}}));
}

TEST(GraphPlan, WhatAWaitedForCallHadWaitedForIsKnown) {
  Calls calls;
  const auto a = calls.after(0, {});
  const auto b = calls.after(1, {a});
  const auto c = calls.after(2, {b});
  const auto d = calls.after(3, {a, b, c});
  for (const GraphPlan::Queue kind : {kInOrder, kOverlapping}) {
    EXPECT_EQ(waits(calls.plan({kind, kind, kind, kind}), d), (Waits{{2, 1}}));
  }
}

TEST(GraphPlan, WhatAQueueLearntAfterTheWaitedForCallIsNotKnown) {
  Calls calls;
  const auto a = calls.after(0, {});
  const auto b = calls.after(1, {});
  calls.after(1, {a});
  const auto d = calls.after(2, {a, b});
  EXPECT_EQ(waits(calls.plan({kInOrder, kInOrder, kInOrder}), d), (Waits{{1, 1}, {0, 1}}));
}

TEST(GraphPlan, OnlyCallsThatAreWaitedForSignal) {
  Calls calls;
  const auto unused = calls.after(0, {});
  const auto used = calls.after(0, {});
  const auto last = calls.after(1, {used});
  const GraphPlan plan = calls.plan({kInOrder, kInOrder});
  EXPECT_FALSE(plan.signals(unused));
  EXPECT_TRUE(plan.signals(used));
  EXPECT_FALSE(plan.signals(last));
}

// Executes a plan like a device: for each call, the calls that are certainly complete when it
// starts.
constexpr std::size_t kMaxCalls = 48;
using CallSet = std::bitset<kMaxCalls>;
struct PlannedWait {
  std::size_t call;
  std::size_t target;
};

std::vector<CallSet> complete_at_start(const Calls& calls,
                                       const std::vector<GraphPlan::Queue>& kinds,
                                       const std::vector<PlannedWait>& waits) {
  std::vector<CallSet> complete(calls.queues.size());
  for (std::size_t call = 0; call < complete.size(); ++call) {
    for (std::size_t previous = call; previous-- > 0;) {
      if (calls.queues[previous] != calls.queues[call]) continue;
      complete[call] = complete[previous];  // a queue executes its waits in order
      if (kinds[calls.queues[call]].fifo_complete) complete[call].set(previous);
      break;
    }
    for (const PlannedWait& wait : waits) {
      if (wait.call == call) complete[call] |= complete[wait.target] | CallSet().set(wait.target);
    }
  }
  return complete;
}

bool orders(const std::vector<CallSet>& complete,
            const std::vector<std::vector<std::uint32_t>>& dependencies) {
  for (std::size_t call = 0; call < complete.size(); ++call) {
    for (const std::uint32_t dependency : dependencies[call]) {
      if (!complete[call][dependency]) return false;
    }
  }
  return true;
}

TEST(GraphPlan, RandomGraphsAreOrderedAndNoWaitOrSignalCanBeLeftOut) {
  std::size_t waits_seen = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<GraphPlan::Queue> kinds(1 + random() % 5);
    for (GraphPlan::Queue& kind : kinds) kind.fifo_complete = random() % 2 == 0;
    Calls calls;
    AccessModel model;
    std::vector<std::vector<std::uint32_t>> dependencies;
    for (std::size_t i = random() % (kMaxCalls + 1); i > 0; --i) {
      const auto queue = static_cast<std::uint32_t>(random() % kinds.size());
      const std::uint32_t call = calls.add(queue, random_accesses(random));
      dependencies.push_back(model.access(call, calls.accesses[call]));
    }
    const GraphPlan plan = calls.plan(kinds);

    std::vector<PlannedWait> all_waits;
    CallSet needs_signal;
    for (std::size_t call = 0; call < calls.queues.size(); ++call) {
      for (const GraphPlan::Wait& wait : plan.waits(call)) {
        std::size_t target = 0;
        while (calls.queues[target] != wait.queue || plan.position(target) != wait.position) {
          ASSERT_LT(++target, call);
        }
        all_waits.push_back({call, target});
        needs_signal.set(target);
      }
    }
    for (std::size_t call = 0; call < calls.queues.size(); ++call) {
      ASSERT_EQ(plan.signals(call), needs_signal[call]);
    }
    ASSERT_TRUE(orders(complete_at_start(calls, kinds, all_waits), dependencies));
    for (std::size_t i = 0; i < all_waits.size(); ++i) {
      std::vector<PlannedWait> others = all_waits;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_FALSE(orders(complete_at_start(calls, kinds, others), dependencies));
    }
    waits_seen += all_waits.size();
  }
  EXPECT_GT(waits_seen, 300u);
}

}  // namespace
}  // namespace halyard::hcq
