// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/virtual_memory.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuMemGetAllocationGranularity(std::size_t* granularity,
                                                        const AllocationProperties* properties,
                                                        int option) {
  HALYARD_GPU_CALL(cuMemGetAllocationGranularity, kInitialized);
  return allocation_granularity(granularity, properties, option);
}

HALYARD_GPU_EXPORT Result cuMemAddressReserve(DevicePointer* address, std::size_t size,
                                              std::size_t alignment, DevicePointer,
                                              unsigned long long flags) {
  HALYARD_GPU_CALL(cuMemAddressReserve, kInitialized);
  return reserve_addresses(address, size, alignment, flags);
}

HALYARD_GPU_EXPORT Result cuMemAddressFree(DevicePointer address, std::size_t size) {
  HALYARD_GPU_CALL(cuMemAddressFree, kInitialized);
  return free_addresses(address, size);
}

HALYARD_GPU_EXPORT Result cuMemCreate(std::uint64_t* handle, std::size_t size,
                                      const AllocationProperties* properties,
                                      unsigned long long flags) {
  HALYARD_GPU_CALL(cuMemCreate, kInitialized);
  return create_physical(handle, size, properties, flags);
}

HALYARD_GPU_EXPORT Result cuMemRelease(std::uint64_t handle) {
  HALYARD_GPU_CALL(cuMemRelease, kInitialized);
  return release_physical(handle);
}

HALYARD_GPU_EXPORT Result cuMemMap(DevicePointer address, std::size_t size, std::size_t offset,
                                   std::uint64_t handle, unsigned long long flags) {
  HALYARD_GPU_CALL(cuMemMap, kInitialized);
  return map_memory(address, size, offset, handle, flags);
}

HALYARD_GPU_EXPORT Result cuMemUnmap(DevicePointer address, std::size_t size) {
  HALYARD_GPU_CALL(cuMemUnmap, kInitialized);
  return unmap_memory(address, size);
}

HALYARD_GPU_EXPORT Result cuMemSetAccess(DevicePointer address, std::size_t size,
                                         const AccessDescription* list, std::size_t count) {
  HALYARD_GPU_CALL(cuMemSetAccess, kInitialized);
  return set_memory_access(address, size, list, count);
}

HALYARD_GPU_EXPORT Result cuMemGetAccess(unsigned long long* flags, const Location* location,
                                         DevicePointer address) {
  HALYARD_GPU_CALL(cuMemGetAccess, kInitialized);
  return memory_access(flags, location, address);
}

HALYARD_GPU_EXPORT Result cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties,
                                                                 std::uint64_t handle) {
  HALYARD_GPU_CALL(cuMemGetAllocationPropertiesFromHandle, kInitialized);
  return physical_properties(properties, handle);
}

HALYARD_GPU_EXPORT Result cuMemRetainAllocationHandle(std::uint64_t* handle, void* address) {
  HALYARD_GPU_CALL(cuMemRetainAllocationHandle, kInitialized);
  return retain_physical(handle, address);
}

}  // namespace halyard::inline v0::sim::cuda
