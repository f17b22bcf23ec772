// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs over metal:// under the seeded scheduler.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>

#include "base/native_call.h"
#include "simulation/metal/framework/report.h"
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
  for (std::uint64_t k = 0; k < 1600; ++k) {
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
  EXPECT_EQ(async, 800) << "every other one is a program of async";
  EXPECT_EQ(beside, (std::set{Plan::Driver::kSim, Plan::Driver::kCpu, Plan::Driver::kMetal}));
  EXPECT_EQ(devices, (std::set<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(discrete.size(), 8u);
  EXPECT_EQ(splits, (std::set<std::uint32_t>{1, 2, 3, 64}));
  EXPECT_EQ(errors, (std::set{1, 2, 3, 4, 8, 9}));
  EXPECT_TRUE(adversarial && calls && for_good && objects && buffers && memory && removable &&
              shared && heaps);
}

// Each seed was a deadlock, a livelock, a crash or wrong contents: a failed command buffer that
// signalled past its wait, a listener called for a value already reached, an effect of a refused
// submission outside a scope, a wait on the device that timed out as time leapt, and writes that
// another device did not see.
TEST(SimulateMetal, SeedsThatHaveFoundDefectsPass) {
  for (const std::uint64_t seed : {4567, 6415, 15809, 17789, 21375, 21837, 27865, 28613}) {
    ASSERT_TRUE(Plan::is_over_metal(seed));
    EXPECT_GT(simulate(seed).points, 0U);
  }
}

// Calls a function at the first message that the driver sends to Metal.
class AtFirstMessage final : public base::CallObserver {
 public:
  explicit AtFirstMessage(std::function<void()> action) : action_(std::move(action)) {
    base::observe_calls(this);
  }
  ~AtFirstMessage() { base::observe_calls(nullptr); }
  int before(const base::CallSite& site) noexcept override {
    if (site.area() == "metal" && !std::exchange(done_, true)) action_();
    return 0;
  }

 private:
  const std::function<void()> action_;
  bool done_ = false;
};

void simulate_sound_plan_with(const std::function<void()>& planted) {
  std::uint64_t k = 0;
  while (Plan(seed_over_metal(k)).faulty) ++k;
  const AtFirstMessage observer(planted);
  (void)simulate(seed_over_metal(k));
}

TEST(SimulateMetal, FindsAnObjectThatIsNotDestroyed) {
  EXPECT_EXIT(simulate_sound_plan_with([] { metal::count_created(metal::Class::kFence); }),
              ::testing::ExitedWithCode(1), "has not released: MTLFence: ");
}

TEST(SimulateMetal, FindsMisuseOfMetal) {
  EXPECT_EXIT(simulate_sound_plan_with([] { metal::report("planted", "by this test"); }),
              ::testing::ExitedWithCode(1), "misuses Metal: planted: by this test");
}

// Work that waits for a semaphore that the world does not know, in plans in which nothing ends such
// a wait.
TEST(SimulateMetal, FindsWorkThatWaitsForEver) {
  const auto forget = [] {
    for (std::uint64_t k = 0; k < 100; ++k) {
      Plan plan(seed_over_metal(k));
      if (plan.async || !plan.faulty) continue;
      plan.forgets = true;
      (void)simulate(plan, {.seed = plan.seed});
    }
  };
  EXPECT_EXIT(forget(), ::testing::ExitedWithCode(1), "left behind, though nothing is left|failed for no reason");
}

}  // namespace
}  // namespace halyard::sim
