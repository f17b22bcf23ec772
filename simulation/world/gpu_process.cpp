// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/world/gpu_process.h"

#include <cstdlib>

namespace halyard::inline v0::sim {

std::unique_ptr<GpuProcess> GpuProcess::begin(const GpuOptions& options, std::uint64_t seed) {
#if HALYARD_SIMULATES_METAL
  if (options.library == GpuLibrary::kMetal) return begin_metal_process(options, seed);
#endif
#if HALYARD_SIMULATES_STREAMS
  if (options.library != GpuLibrary::kMetal) return begin_stream_process(options, seed);
#endif
  std::abort();
}

}  // namespace halyard::inline v0::sim
