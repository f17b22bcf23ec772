// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's state of each thread of the program: its autorelease pools.
#pragma once

#include <cstddef>
#include <vector>

#include "simulation/metal/objc/abi.h"

namespace halyard::inline v0::sim::objc {

struct ThreadState {
  std::vector<Object*> autoreleased;  // by all its pools, the innermost last
  std::size_t pools = 0;

  // Releases the autoreleased objects after the first `size`, the latest first, and objects that
  // these autorelease in turn.
  void release_down_to(std::size_t size);
};

// The state of the calling thread, which may be a fiber of halyard-sim.
ThreadState& this_thread();

// Only for halyard-sim: called at the end of a simulated process, when no other thread runs.
// Releases the objects in the threads' pools and deletes the threads' states. Thread numbers begin
// again.
void forget_threads();

}  // namespace halyard::inline v0::sim::objc
