// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that calls allocate, free and register. The State is locked.
#pragma once

#include "simulation/gpu/call.h"
#include "simulation/gpu/memory.h"

namespace halyard::inline v0::sim::gpu {

// Alignment of all allocations, and of the rows of pitched allocations.
inline constexpr std::size_t kAlignment = 512;

// Allocates in the call's context.
Result allocate_device(Call& call, DevicePointer* address, std::size_t size);
// Frees device memory of any kind except mappings. The library's rules decide whether it waits for
// the work in flight.
Result free_device(Call& call, DevicePointer address);
Result allocate_managed(Call& call, DevicePointer* address, std::size_t size, unsigned flags);

// Pinned memory of the host.
Result allocate_host(Call& call, void** host, std::size_t size, unsigned flags);
Result free_host(Call& call, void* host);
Result register_host(Call& call, void* host, std::size_t size, unsigned flags);
Result unregister_host(Call& call, void* host);
// Finds the allocation or the registered range that contains `host`.
Result find_host(void* host, Allocation& allocation);
Result host_device_pointer(DevicePointer* address, void* host, unsigned flags);

// Attaches managed memory to a stream, to the host or to all streams.
Result attach_memory(Stream handle, DevicePointer address, unsigned flags);

}  // namespace halyard::inline v0::sim::gpu
