// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole seeds of the simulation.
#include "simulation/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "simulation/world/plan.h"
#include "simulation/world/world.h"

namespace halyard::sim {
namespace {

TEST(Simulate, ReplaysASeedBitForBitAfterAnyOther) {
  for (const std::uint64_t seed : {3, 19, 44, 1548, 5, 17, 83, 101, 133, 37189}) {
    const SeedResult first = simulate(seed);
    (void)simulate(seed + 1);
    const SeedResult again = simulate(seed);
    EXPECT_EQ(first.schedule, again.schedule) << seed;
    EXPECT_EQ(first.points, again.points) << seed;
    EXPECT_EQ(first.submissions, again.submissions) << seed;
    EXPECT_EQ(first.faults, again.faults) << seed;
  }
}

TEST(Simulate, PlansOfManySeedsHaveEveryKindOfNodeAndEveryDriver) {
  bool kinds[static_cast<int>(NodeKind::kLoseDevice) + 1] = {};
  bool drivers[6] = {}, markers = false, failing_calls = false, backlogs = false, queues = false,
       spurious = false, small_pools = false;
  int async = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Plan plan(seed);
    async += plan.async;
    drivers[static_cast<int>(plan.driver)] = true;
    backlogs |= plan.small_backlog();
    queues |= plan.created != 0;
    spurious |= plan.spurious;
    small_pools |= plan.tight_pools;
    markers |= !plan.options.marks_every_submission;
    failing_calls |= plan.options.native.failing_call != 0;
    for (const Node& node : plan.nodes) kinds[static_cast<int>(node.kind)] = true;
  }
  EXPECT_EQ(async, 125) << "one in four is a program of async";
  EXPECT_TRUE(drivers[0] && drivers[1] && drivers[2]);
  EXPECT_EQ(drivers[3] && drivers[4], Plan::kHasStreams);
  EXPECT_EQ(drivers[5], Plan::kHasMetal);
  EXPECT_TRUE(markers && failing_calls && backlogs && queues && spurious && small_pools);
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) EXPECT_TRUE(kinds[kind]) << kind;
}

// Checks the plans over a driver: every n-th seed, starting with the first.
void expect_every_fault_and_neighbour(Plan::Driver driver, std::uint64_t every,
                                      std::uint64_t first) {
  bool beside[6] = {}, adversarial = false, late = false, calls = false, for_good = false,
       kernels = false, memory = false, tight = false, two = false;
  int async = 0;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const Plan plan(k * every + first);
    ASSERT_EQ(plan.driver, driver);
    async += plan.async;
    beside[static_cast<int>(plan.beside)] = true;
    adversarial |= plan.gpu.adversarial;
    late |= plan.gpu.host_delay != 0;
    calls |= plan.gpu.failing_call != 0 && !plan.gpu.fails_for_good;
    for_good |= plan.gpu.failing_call != 0 && plan.gpu.fails_for_good;
    kernels |= plan.gpu.failing_kernel != 0;
    memory |= plan.gpu.scarce;
    tight |= plan.async && plan.tight;
    two |= plan.gpu.devices == 2;
    EXPECT_TRUE(plan.faulty || !plan.gpu.fails());
  }
  constexpr auto at = [](Plan::Driver which) { return static_cast<int>(which); };
  EXPECT_TRUE(beside[at(Plan::Driver::kSim)] && beside[at(Plan::Driver::kCpu)] &&
              beside[at(driver)]);
  EXPECT_EQ(async, 100) << "every other one is a program of async";
  EXPECT_TRUE(adversarial && late && calls && for_good && kernels && memory && tight && two);
}

TEST(Simulate, PlansOverCudaHaveEveryFaultAndNeighbour) {
  if (!Plan::kHasStreams) GTEST_SKIP() << "built without cuda:// and hip://";
  expect_every_fault_and_neighbour(Plan::Driver::kCuda, Plan::kCudaEvery, Plan::kCudaFirst);
}

TEST(Simulate, PlansOverHipHaveEveryFaultAndNeighbour) {
  if (!Plan::kHasStreams) GTEST_SKIP() << "built without cuda:// and hip://";
  expect_every_fault_and_neighbour(Plan::Driver::kHip, Plan::kHipEvery, Plan::kHipFirst);
}

TEST(Simulate, PlansOverHipAreOfEveryVersion_AndLoseDevicesFromVersion7On) {
  if (!Plan::kHasStreams) GTEST_SKIP() << "built without cuda:// and hip://";
  std::set<int> versions;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const Plan plan(k * Plan::kHipEvery + Plan::kHipFirst);
    versions.insert(plan.gpu.hip_version);
    EXPECT_TRUE(!plan.faulty || plan.gpu.hip_version >= 700) << plan.seed;
  }
  EXPECT_EQ(versions, (std::set<int>{506, 603, 700, 715}));
}

TEST(Simulate, AFaultOfAnyHipDevice_MayLoseAllOfThem) {
  if (!Plan::kHasStreams) GTEST_SKIP() << "built without cuda:// and hip://";
  for (std::uint64_t k = 0; k < 200; ++k) {
    const Plan plan(k * Plan::kHipEvery + Plan::kHipFirst);
    const bool fails = plan.gpu.failing_call != 0 || plan.gpu.failing_kernel != 0;
    for (std::uint32_t device = 0; device < plan.gpu.devices; ++device) {
      EXPECT_EQ(plan.may_be_lost(device), fails) << plan.seed;
    }
  }
}

// Simulates devices that report their work done without doing it.
void simulate_idlers(bool async) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Plan plan(seed);
    if (plan.async != async) continue;
    plan.options.native.skips_operations = true;
    (void)simulate(plan, {.seed = seed});
  }
}

TEST(Simulate, FindsWorkThatWasReportedDoneAndNeverRan) {
  EXPECT_EXIT(simulate_idlers(false), ::testing::ExitedWithCode(1),
              "which .* signalled|a complete submission has not run");
}

TEST(Simulate, FindsATensorThatWasNotWritten) {
  EXPECT_EXIT(simulate_idlers(true), ::testing::ExitedWithCode(1), "element .* is .*, not");
}

// A library that ignores waits between streams.
TEST(Simulate, FindsWorkThatRanBeforeItsWaits) {
  const auto lie = [] {
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      Plan plan(seed);
      if (plan.async) continue;
      plan.options.native.ignores_waits = true;
      (void)simulate(plan, {.seed = seed});
    }
  };
  // The last alternative: work wrote to pool memory to which earlier work still wrote, and the
  // result was overwritten.
  EXPECT_EXIT(lie(), ::testing::ExitedWithCode(1),
              "ran before|runs before|at a step|a complete submission has not run");
}

// The work does not check its waits, so only the invariants of each step can detect the fault.
void simulate_silent_work(bool skips, bool ignores) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Plan plan(seed);
    if (plan.async) continue;
    plan.driver = Plan::Driver::kSim;
    plan.options.native.skips_operations = skips;
    plan.options.native.ignores_waits = ignores;
    for (std::size_t k = 0; k < plan.nodes.size(); ++k) {
      constexpr NodeKind kSilent[] = {NodeKind::kBarrier, NodeKind::kFill, NodeKind::kUpdate};
      NodeKind& kind = plan.nodes[k].kind;
      kind = plan.is_submission(plan.nodes[k]) ? kSilent[k % 3]
             : kind == NodeKind::kSignal       ? kind
                                               : NodeKind::kFlush;
    }
    (void)simulate(plan, {.seed = seed});
  }
}

TEST(Simulate, FindsAnUnsignalledValueAtOnce) {
  EXPECT_EXIT(simulate_silent_work(true, false), ::testing::ExitedWithCode(1),
              "at a step: s[0-9]+ is [0-9]+, which .* signalled");
}

TEST(Simulate, FindsWorkThatRanTooEarlyAsSoonAsItHasRun) {
  // The signal may be detected first.
  EXPECT_EXIT(simulate_silent_work(false, true), ::testing::ExitedWithCode(1),
              "at a step: (has run, s[0-9]+ was not [0-9]+|s[0-9]+ is [0-9]+, which .* signalled)");
}

TEST(Simulate, FindsNothingWrongWithSilentWorkThatRuns) { simulate_silent_work(false, false); }

// Looks like an engine that does not issue ready work, or does not propagate a failure. The plan's
// own failures and losses do not explain it.
TEST(Simulate, FindsWorkThatIsLeftBehindInPlansWithFaults) {
  const auto forget = [] {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Plan plan(seed);
      if (plan.async || !plan.faulty) continue;
      plan.forgets = true;
      (void)simulate(plan, {.seed = seed});
    }
  };
  EXPECT_EXIT(forget(), ::testing::ExitedWithCode(1), "left behind, though nothing is left");
}

}  // namespace
}  // namespace halyard::sim
