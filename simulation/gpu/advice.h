// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Advice about managed memory, and its prefetches. The State is locked.
#pragma once

#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {

Location location_of(DeviceId device);
// `advice` and `which` have the values of CU_MEM_ADVISE_* and CU_MEM_RANGE_ATTRIBUTE_*, which HIP
// shares.
Result advise(DevicePointer address, std::size_t size, int advice, Location location);
Result prefetch(DevicePointer address, std::size_t size, Location location, Stream handle);
Result range_attribute(void* data, std::size_t bytes, int which, DevicePointer address,
                       std::size_t size);

}  // namespace halyard::inline v0::sim::gpu
