// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once for each version of the library. The versions differ in the names that they export.
#include "simulation/hip/settings.h"

namespace halyard::inline v0::sim::hip {

int built_version() { return HALYARD_SIM_HIP_BUILT_VERSION; }

}  // namespace halyard::inline v0::sim::hip
