// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are exported but not implemented.
#pragma once

#include "simulation/gpu/report.h"

namespace halyard::inline v0::sim::hip {

// Counts the call and names it on stderr in strict mode. Returns hipErrorNotSupported, which
// becomes the thread's last error.
int refuse(gpu::Entry& entry);

}  // namespace halyard::inline v0::sim::hip
