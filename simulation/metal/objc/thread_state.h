// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime keeps for each thread of the program: its autorelease pools.
#pragma once

#include <cstddef>
#include <vector>

#include "simulation/metal/objc/abi.h"

namespace halyard::inline v0::sim::objc {

struct ThreadState {
  std::vector<Object*> autoreleased;  // of all its pools, the innermost last
  std::size_t pools = 0;

  // Releases what was autoreleased behind the first `size`, the latest first, and what these
  // autorelease in turn.
  void release_down_to(std::size_t size);
};

// The calling thread's: of the system, or a fiber of halyard-sim.
ThreadState& this_thread();

// Of halyard-sim only, at the end of a process, when no other thread runs: releases what threads
// have autoreleased without end, and forgets them. Numbers of threads begin again.
void forget_threads();

}  // namespace halyard::inline v0::sim::objc
