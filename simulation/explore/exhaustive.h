// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard-sim --exhaustive: runs all explorations and prints one line for each, and the totals.
#pragma once

#include <string>

namespace halyard::inline v0::sim {

struct ExhaustiveOptions {
  std::string filter;             // of the names that contain it
  std::string schedule;           // replays this schedule instead
  void (*after_run)() = nullptr;  // checks for leftovers of a run
};

// Returns the exit status: 0 only if there was an exploration and none failed. Each exploration
// runs in a child process; a failing one is run again, step by step.
int run_exhaustive(const ExhaustiveOptions& options);

}  // namespace halyard::inline v0::sim
