// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs over metal:// under the seeded scheduler.
#include <gtest/gtest.h>

#include <set>

#include "simulation/simulate.h"
#include "simulation/world/plan.h"

namespace halyard::sim {
namespace {

std::uint64_t seed_over_metal(std::uint64_t k) { return k * Plan::kMetalEvery + Plan::kMetalFirst; }

TEST(SimulateMetal, ReplaysASeedBitForBitAfterAnyOther) {
  for (std::uint64_t k = 0; k < 40; ++k) {
    const std::uint64_t seed = seed_over_metal(k);
    const SeedResult first = simulate(seed);
    (void)simulate(seed_over_metal(k + 1));
    const SeedResult again = simulate(seed);
    EXPECT_EQ(first.schedule, again.schedule) << seed;
    EXPECT_EQ(first.points, again.points) << seed;
    EXPECT_EQ(first.submissions, again.submissions) << seed;
    EXPECT_EQ(first.faults, again.faults) << seed;
  }
}

TEST(SimulateMetal, PlansHaveEveryFaultDeviceAndNeighbour) {
  std::set<Plan::Driver> beside;
  std::set<std::uint32_t> devices, discrete, splits;
  std::set<int> errors;
  bool adversarial = false, calls = false, for_good = false, objects = false, buffers = false,
       memory = false, removable = false, shared = false, heaps = false;
  int async = 0;
  for (std::uint64_t k = 0; k < 400; ++k) {
    const Plan plan(seed_over_metal(k));
    ASSERT_EQ(plan.driver, Plan::Driver::kMetal);
    const GpuOptions& gpu = plan.gpu;
    async += plan.async;
    beside.insert(plan.beside);
    devices.insert(gpu.metal.devices);
    discrete.insert(gpu.metal.discrete);
    splits.insert(gpu.metal.split);
    errors.insert(gpu.metal.error);
    adversarial |= gpu.adversarial;
    calls |= gpu.failing_call != 0 && !gpu.metal.nil_object && !gpu.fails_for_good;
    for_good |= gpu.failing_call != 0 && !gpu.metal.nil_object && gpu.fails_for_good;
    objects |= gpu.failing_call != 0 && gpu.metal.nil_object;
    buffers |= gpu.failing_kernel != 0;
    memory |= gpu.scarce;
    removable |= gpu.metal.removable && gpu.metal.discrete != 0;
    shared |= gpu.metal.devices < gpu.devices;
    heaps |= gpu.metal.heaps;
    EXPECT_TRUE(plan.faulty || !gpu.fails());
  }
  EXPECT_EQ(async, 200) << "every other one is a program of async";
  EXPECT_EQ(beside, (std::set{Plan::Driver::kSim, Plan::Driver::kCpu, Plan::Driver::kMetal}));
  EXPECT_EQ(devices, (std::set<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(discrete.size(), 8u);
  EXPECT_EQ(splits, (std::set<std::uint32_t>{1, 2, 3, 64}));
  EXPECT_EQ(errors, (std::set{1, 2, 3, 4, 8, 9}));
  EXPECT_TRUE(adversarial && calls && for_good && objects && buffers && memory && removable &&
              shared && heaps);
}

}  // namespace
}  // namespace halyard::sim
