// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole seeds.
#include "sim/simulate.h"

#include <gtest/gtest.h>

#include "sim/plan.h"
#include "sim/world.h"

namespace halyard::sim {
namespace {

TEST(Simulate, ReplaysASeedBitForBitWhateverRanBefore) {
  for (const std::uint64_t seed : {3, 19, 44, 1548}) {
    const SeedResult first = simulate(seed);
    (void)simulate(seed + 1);
    const SeedResult again = simulate(seed);
    EXPECT_EQ(first.schedule, again.schedule) << seed;
    EXPECT_EQ(first.points, again.points) << seed;
    EXPECT_EQ(first.submissions, again.submissions) << seed;
    EXPECT_EQ(first.faults, again.faults) << seed;
  }
}

TEST(Simulate, PlansOfManySeedsHaveEveryKindOfNodeAndBothDrivers) {
  bool kinds[static_cast<int>(NodeKind::kLoseDevice) + 1] = {};
  bool cpu = false, sim = false, markers = false, failing_calls = false;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Plan plan(seed);
    (plan.driver == Plan::Driver::kCpu ? cpu : sim) = true;
    markers |= !plan.options.marks_every_submission;
    failing_calls |= plan.options.native.failing_call != 0;
    for (const Node& node : plan.nodes) kinds[static_cast<int>(node.kind)] = true;
  }
  EXPECT_TRUE(cpu && sim && markers && failing_calls);
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) EXPECT_TRUE(kinds[kind]) << kind;
}

// A device that reports its work done without doing it: somebody must notice.
TEST(Simulate, FindsWorkThatWasReportedDoneAndNeverRan) {
  const auto lie = [] {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Plan plan(seed);
      plan.options.native.skips_operations = true;
      (void)simulate(plan, {.seed = seed});
    }
  };
  EXPECT_EXIT(lie(), ::testing::ExitedWithCode(1), "has not run|before");
}

// A library that ignores waits between streams.
TEST(Simulate, FindsWorkThatRanBeforeWhatItWaitsFor) {
  const auto lie = [] {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      Plan plan(seed);
      plan.options.native.ignores_waits = true;
      (void)simulate(plan, {.seed = seed});
    }
  };
  EXPECT_EXIT(lie(), ::testing::ExitedWithCode(1), "ran before|runs before");
}

}  // namespace
}  // namespace halyard::sim
