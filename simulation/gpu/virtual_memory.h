// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address ranges and storage that a program maps explicitly. The State is locked.
#pragma once

#include "simulation/gpu/pool.h"

namespace halyard::inline v0::sim::gpu {

Result allocation_granularity(std::size_t* granularity, const AllocationProperties* properties,
                              int option);
Result reserve_addresses(DevicePointer* address, std::size_t size, std::size_t alignment,
                         unsigned long long flags);
Result free_addresses(DevicePointer address, std::size_t size);
Result create_physical(std::uint64_t* handle, std::size_t size,
                       const AllocationProperties* properties, unsigned long long flags);
Result release_physical(std::uint64_t handle);
Result map_memory(DevicePointer address, std::size_t size, std::size_t offset, std::uint64_t handle,
                  unsigned long long flags);
Result unmap_memory(DevicePointer address, std::size_t size);
Result set_memory_access(DevicePointer address, std::size_t size, const AccessDescription* list,
                         std::size_t count);
Result memory_access(unsigned long long* flags, const Location* location, DevicePointer address);
Result physical_properties(AllocationProperties* properties, std::uint64_t handle);
Result retain_physical(std::uint64_t* handle, void* address);

}  // namespace halyard::inline v0::sim::gpu
