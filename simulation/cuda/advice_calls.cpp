// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuMemAdvise, cuMemPrefetchAsync and cuMemRangeGetAttribute.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/advice.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuMemAdvise(DevicePointer address, std::size_t size, int advice,
                                      DeviceId device) {
  HALYARD_GPU_CALL(cuMemAdvise, kNamed);
  return advise(address, size, advice, location_of(device));
}

HALYARD_GPU_EXPORT Result cuMemAdvise_v2(DevicePointer address, std::size_t size, int advice,
                                         Location location) {
  HALYARD_GPU_CALL(cuMemAdvise_v2, kNamed);
  return advise(address, size, advice, location);
}

HALYARD_GPU_EXPORT Result cuMemPrefetchAsync(DevicePointer address, std::size_t size,
                                             DeviceId device, Stream stream) {
  HALYARD_GPU_CALL(cuMemPrefetchAsync, kNamed);
  return prefetch(address, size, location_of(device), stream);
}

HALYARD_GPU_EXPORT Result cuMemPrefetchAsync_v2(DevicePointer address, std::size_t size,
                                                Location location, unsigned flags, Stream stream) {
  HALYARD_GPU_CALL(cuMemPrefetchAsync_v2, kNamed);
  HALYARD_GPU_REQUIRE(flags == 0, kInvalidValue);
  return prefetch(address, size, location, stream);
}

HALYARD_GPU_EXPORT Result cuMemRangeGetAttribute(void* data, std::size_t bytes, int which,
                                                 DevicePointer address, std::size_t size) {
  HALYARD_GPU_CALL(cuMemRangeGetAttribute, kInitialized);
  return range_attribute(data, bytes, which, address, size);
}

HALYARD_GPU_EXPORT Result cuMemRangeGetAttributes(void** data, std::size_t* bytes, int* which,
                                                  std::size_t count, DevicePointer address,
                                                  std::size_t size) {
  HALYARD_GPU_CALL(cuMemRangeGetAttributes, kInitialized);
  HALYARD_GPU_REQUIRE(data != nullptr && bytes != nullptr && which != nullptr && count != 0,
                      kInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    const Result result = range_attribute(data[i], bytes[i], which[i], address, size);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

HALYARD_GPU_PER_THREAD(cuMemPrefetchAsync, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemPrefetchAsync_v2, _ptsz, 5)
}  // namespace halyard::inline v0::sim::cuda
