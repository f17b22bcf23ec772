// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/refused.h"

#include <cstdio>

#include "simulation/gpu/options.h"
#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {

int refuse(gpu::Entry& entry) {
  entry.count();
  if (gpu::options().strict) {
    std::fprintf(stderr, "simulated HIP: %s is not built\n", entry.name());
  }
  return finish(entry, gpu::kNotSupported);
}

}  // namespace halyard::inline v0::sim::hip
