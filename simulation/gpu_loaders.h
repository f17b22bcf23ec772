// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loaders of the cuda and of the hip driver in halyard-sim.
#pragma once

namespace halyard::inline v0::sim {

// Drop the libraries that the driver has loaded, as the end of a process does. No device is open.
// `in_use`: resources of a lost device, which the driver leaks, may refer to them.
void unload_cuda(bool in_use);
void unload_hip(bool in_use);

}  // namespace halyard::inline v0::sim
