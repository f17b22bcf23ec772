// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loader of the cuda driver in halyard-sim.
#pragma once

namespace halyard::inline v0::sim {

// Forgets the libraries that the cuda driver has loaded, as the end of a process does. No device is
// open. `in_use`: what the driver keeps of a lost device for good may refer to them.
void unload_cuda(bool in_use);

}  // namespace halyard::inline v0::sim
