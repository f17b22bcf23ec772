// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuPointerGetAttribute.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/pointer.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuPointerGetAttribute(void* data, int which, DevicePointer address) {
  HALYARD_GPU_CALL(cuPointerGetAttribute, kInitialized);
  HALYARD_GPU_REQUIRE(data != nullptr, kInvalidValue);
  return pointer_attribute(data, which, address);
}

HALYARD_GPU_EXPORT Result cuPointerGetAttributes(unsigned count, const int* which, void** data,
                                                 DevicePointer address) {
  HALYARD_GPU_CALL(cuPointerGetAttributes, kInitialized);
  return pointer_attributes(count, which, data, address);
}

HALYARD_GPU_EXPORT Result cuPointerSetAttribute(const void* value, int which,
                                                DevicePointer address) {
  HALYARD_GPU_CALL(cuPointerSetAttribute, kInitialized);
  HALYARD_GPU_REQUIRE(value != nullptr && which == kSyncMemops, kInvalidValue);
  HALYARD_GPU_REQUIRE(memory().find(address), kInvalidValue);
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::cuda
