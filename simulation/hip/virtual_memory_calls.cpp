// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address ranges and storage that a program maps explicitly.
#include "simulation/gpu/virtual_memory.h"

#include "simulation/hip/call.h"

namespace halyard::inline v0::sim::hip {
namespace {

// hipMemAllocationProp: CUDA's members.
using gpu::AllocationProperties;

Result check_properties(const AllocationProperties* properties) {
  HALYARD_GPU_REQUIRE(properties != nullptr && properties->type == gpu::kPinned &&
                          properties->location.type == gpu::kLocationDevice &&
                          gpu::is_device(properties->location.id),
                      gpu::kInvalidValue);
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipMemGetAllocationGranularity(std::size_t* granularity,
                                                         const AllocationProperties* properties,
                                                         int option) {
  HALYARD_HIP_CALL(hipMemGetAllocationGranularity, gpu::kInitialized) {
    if (const Result result = check_properties(properties); result != kSuccess) return result;
    return gpu::allocation_granularity(granularity, properties, option);
  };
}

HALYARD_HIP_EXPORT Result hipMemAddressReserve(void** pointer, std::size_t size,
                                               std::size_t alignment, void*,
                                               unsigned long long flags) {
  HALYARD_HIP_CALL(hipMemAddressReserve, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
    DevicePointer address = 0;
    const Result result = gpu::reserve_addresses(&address, size, alignment, flags);
    if (result == kSuccess) *pointer = pointer_to(address);
    return result;
  };
}

HALYARD_HIP_EXPORT Result hipMemAddressFree(void* pointer, std::size_t size) {
  HALYARD_HIP_CALL(hipMemAddressFree, gpu::kInitialized) {
    return gpu::free_addresses(address_of(pointer), size);
  };
}

HALYARD_HIP_EXPORT Result hipMemCreate(std::uint64_t* handle, std::size_t size,
                                       const AllocationProperties* properties,
                                       unsigned long long flags) {
  HALYARD_HIP_CALL(hipMemCreate, gpu::kInitialized) {
    if (const Result result = check_properties(properties); result != kSuccess) return result;
    return gpu::create_physical(handle, size, properties, flags);
  };
}

HALYARD_HIP_EXPORT Result hipMemRelease(std::uint64_t handle) {
  HALYARD_HIP_CALL(hipMemRelease, gpu::kInitialized) { return gpu::release_physical(handle); };
}

HALYARD_HIP_EXPORT Result hipMemMap(void* pointer, std::size_t size, std::size_t offset,
                                    std::uint64_t handle, unsigned long long flags) {
  HALYARD_HIP_CALL(hipMemMap, gpu::kInitialized) {
    return gpu::map_memory(address_of(pointer), size, offset, handle, flags);
  };
}

HALYARD_HIP_EXPORT Result hipMemUnmap(void* pointer, std::size_t size) {
  HALYARD_HIP_CALL(hipMemUnmap, gpu::kInitialized) {
    return gpu::unmap_memory(address_of(pointer), size);
  };
}

HALYARD_HIP_EXPORT Result hipMemSetAccess(void* pointer, std::size_t size,
                                          const AccessDescription* list, std::size_t count) {
  HALYARD_HIP_CALL(hipMemSetAccess, gpu::kInitialized) {
    return gpu::set_memory_access(address_of(pointer), size, list, count);
  };
}

HALYARD_HIP_EXPORT Result hipMemGetAccess(unsigned long long* flags, const Location* location,
                                          void* pointer) {
  HALYARD_HIP_CALL(hipMemGetAccess, gpu::kInitialized) {
    return gpu::memory_access(flags, location, address_of(pointer));
  };
}

HALYARD_HIP_EXPORT Result hipMemGetAllocationPropertiesFromHandle(AllocationProperties* properties,
                                                                  std::uint64_t handle) {
  HALYARD_HIP_CALL(hipMemGetAllocationPropertiesFromHandle, gpu::kInitialized) {
    return gpu::physical_properties(properties, handle);
  };
}

HALYARD_HIP_EXPORT Result hipMemRetainAllocationHandle(std::uint64_t* handle, void* pointer) {
  HALYARD_HIP_CALL(hipMemRetainAllocationHandle, gpu::kInitialized) {
    return gpu::retain_physical(handle, pointer);
  };
}

}  // namespace halyard::inline v0::sim::hip
