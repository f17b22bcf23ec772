// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/simulate.h"

#include <fmt/format.h>

#include "simulation/async/async_program.h"
#include "simulation/scheduler.h"
#include "simulation/world/plan.h"
#include "simulation/world/world.h"

namespace halyard::inline v0::sim {
namespace {

Scheduler::Options scheduling(std::uint64_t seed, const Plan& plan) {
  Random random(Random::mix(seed ^ 0x7363686564));
  constexpr std::uint32_t kDistances[] = {0, 1, 4, 16, 64};
  constexpr std::uint32_t kLengths[] = {500, 3'000, 20'000};
  return {.seed = seed,
          .policy = random.one_in(2) ? Scheduler::Policy::kUniform : Scheduler::Policy::kPct,
          .mean_distance = kDistances[random.below(5)],
          .depth = static_cast<std::uint32_t>(random.between(1, 6)),
          .length = kLengths[random.below(3)],
          .hasty = random.one_in(4),
          .spurious = plan.spurious,
          // Work that hangs because of a lost notice or a fault is found by polling.
          .longest_idle = plan.options.native.notices_lost != 0 || plan.loses_devices
                              ? Deadline::kForeverTime
                              : 5'000'000};
}

template <class Program>
SeedResult run(const Plan& plan, const Scheduler::Options& options) {
  static Program* program = nullptr;  // the running program
  SeedResult result;
  Scheduler scheduler(options);
  Program here(plan);
  program = &here;
  scheduler.describe = [] { return program->dump(); };
  if constexpr (requires { here.step(); }) {
    scheduler.step = [] { program->step(); };
  }
  scheduler.run([](void*) { program->run(); }, nullptr);
  result.schedule = Random::mix(scheduler.schedule() ^ here.program());
  result.points = scheduler.points();
  result.submissions = here.submissions();
  result.faults = here.faults();
  result.may_keep = here.may_have_kept();
  program = nullptr;
  return result;
}

}  // namespace

SeedResult simulate(const Plan& plan, const Scheduler::Options& options) {
  return plan.async ? run<AsyncProgram>(plan, options) : run<World>(plan, options);
}

SeedResult simulate(std::uint64_t seed, bool trace) {
  const Plan plan(seed);
  if (trace) fmt::print("seed {}: {}", seed, plan.describe());
  Scheduler::Options options = scheduling(seed, plan);
  options.trace = trace;
  return simulate(plan, options);
}

}  // namespace halyard::inline v0::sim
