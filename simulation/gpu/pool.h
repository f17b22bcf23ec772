// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of devices: accounting, and pools of stream-ordered memory.
#pragma once

#include "simulation/gpu/call.h"
#include "simulation/gpu/memory.h"

namespace halyard::inline v0::sim::gpu {

struct PoolState {
  static constexpr Kind kKind = Kind::kPool;
  static constexpr const char* kName = "memory pool";

  DeviceId device = 0;
  bool is_default = false;
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};
  std::uint64_t used = 0, used_high = 0, reserved_high = 0;
  std::uint64_t access = 0;  // bit d: device d may use its memory
  std::size_t max_size = 0;  // 0: no limit of its own
  // Null mode: freed allocations by size, for reuse.
  std::map<std::size_t, std::vector<Allocation*>> spare;
};

// Allocates device memory and counts it. Returns kOutOfMemory beyond the device's size. The State
// is locked.
Result allocate_memory(Allocation allocation, std::size_t alignment, DevicePointer& address);
// Releases memory that cuMemFree freed while work was in flight, if no work is in flight now. The
// State is locked.
void return_freed(ContextState& context);
// Releases an allocation of any kind. The State is locked.
void release_allocation(const Allocation& allocation);

Pool default_pool(DeviceId device);
Pool current_pool(DeviceId device);
Result allocate_async(DevicePointer* address, std::size_t size, Pool handle, StreamState* stream);
Result free_async(DevicePointer address, Stream handle);

// --- operations of API calls on pools; the State is locked ---------------------------------------

Result set_current_pool(DeviceId device, Pool handle);
Result create_pool(Pool* pool, const PoolProperties* properties);
Result destroy_pool(Pool handle);
Result pool_attribute(Pool handle, int which, void* value);
Result set_pool_attribute(Pool handle, int which, void* value);
Result set_pool_access(Pool handle, const AccessDescription* list, std::size_t count);
Result pool_access(int* flags, Pool handle, Location* location);

}  // namespace halyard::inline v0::sim::gpu
