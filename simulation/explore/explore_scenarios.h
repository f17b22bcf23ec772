// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that halyard-sim --exhaustive runs in every order (simulation/explore/explorer.h):
// each is a race of the engine, named by its rule.
#pragma once

#include <span>

#include "simulation/explore/program.h"

namespace halyard::inline v0::sim {

struct Scenario {
  const char* name;
  void (*build)(Program&);
  int preemptions = kUnbounded;
};

std::span<const Scenario> scenarios() noexcept;
// Scenarios that only run on a weak memory (simulation/weak/weak_memory.h).
std::span<const Scenario> weak_scenarios() noexcept;

}  // namespace halyard::inline v0::sim
