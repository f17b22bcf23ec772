// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One seed: plan, scheduler and world together.
#pragma once

#include <cstdint>

#include "simulation/scheduler.h"
#include "simulation/world/plan.h"

namespace halyard::inline v0::sim {

struct SeedResult {
  std::uint64_t schedule = 0;  // equal for equal schedules of equal plans
  std::uint64_t points = 0;
  std::uint64_t submissions = 0;
  std::uint64_t faults = 0;
  bool may_keep = false;  // memory may be leaked
};

// Ends the process with status 1, and a report on standard error, if anything does not hold.
// `trace`: prints the plan and what happens.
SeedResult simulate(std::uint64_t seed, bool trace = false);
// The same with another plan, or scheduled otherwise.
SeedResult simulate(const Plan& plan, const Scheduler::Options& options);

}  // namespace halyard::inline v0::sim
