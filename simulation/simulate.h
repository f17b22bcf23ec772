// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a seed: plan, scheduler and world together.
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

// If a check fails, reports it on standard error and ends the process with status 1. `trace` prints
// the plan and the events.
SeedResult simulate(std::uint64_t seed, bool trace = false);
// The same with a given plan and given options of the scheduler.
SeedResult simulate(const Plan& plan, const Scheduler::Options& options);

}  // namespace halyard::inline v0::sim
