// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults of the processor in kernels, as results: an unmapped address, a division by zero, a trap,
// a full stack.
#pragma once

namespace halyard::inline v0::sim::msl {

// Installs handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL, once for the process, and a stack for
// them in the calling thread. A signal that no kernel caused goes to the previous handler.
void catch_traps();

}  // namespace halyard::inline v0::sim::msl
