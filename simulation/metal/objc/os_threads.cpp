// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the system. What a thread has autoreleased without end is released when it ends.
#include "simulation/metal/objc/thread_state.h"

namespace halyard::inline v0::sim::objc {

ThreadState& this_thread() {
  struct Own : ThreadState {
    ~Own() { release_down_to(0); }
  };
  thread_local Own state;
  return state;
}

}  // namespace halyard::inline v0::sim::objc
