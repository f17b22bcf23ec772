// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard-sim --exhaustive: all that is explored, a line each, and what they add up to.
#pragma once

#include <string>

namespace halyard::inline v0::sim {

struct ExhaustiveOptions {
  std::string filter;             // of the names that contain it
  std::string schedule;           // replays this one instead
  void (*after_run)() = nullptr;  // looks for what a run has left behind
};

// The exit status: 0 only if there was something, and none failed. Each runs in a child process;
// one that fails is run again, step by step.
int run_exhaustive(const ExhaustiveOptions& options);

}  // namespace halyard::inline v0::sim
