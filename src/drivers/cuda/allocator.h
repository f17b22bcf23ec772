// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of CUDA devices, reached by its address, which is the same for all devices and, of pinned
// memory, for the host:
//
//   kDeviceLocal                cuMemAlloc, or a memory pool of CUDA
//   kHostVisible, kHostLocal    cuMemHostAlloc: pinned, of all devices
//   kHostVisible, managed       cuMemAllocManaged, which moves to where it is used
//   imported                    cuMemHostRegister; an import within another shares its registration;
//                               an address of the device as it is
//
// Freed by the last reference, within the guard of its device, which keeps the context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/cuda/functions.h"
#include "drivers/cuda/memory_pool.h"
#include "hal/memory.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::cuda {

// What a device allocates with. `cuda` lives until the process ends.
struct Allocator {
  const Functions& cuda;
  const Ref<timeline::EntryGuard>& guard;
  const void* domain;
  bool managed = false;  // kHostVisible memory is; the host may touch it while the device works
  MemoryPool* pool = nullptr;  // of kDeviceLocal memory; null: cuMemAlloc

  // Both within the guard. kResourceExhausted with the size.
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) const;
  // The host's [data, data + size) as it is. kResourceExhausted: a part of its pages, not all, is
  // pinned already.
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) const;
  // Memory of device `ordinal` that its owner keeps. kInvalidArgument: it is not.
  Result<Ref<hal::Memory>> import_address(std::uint64_t address, std::uint64_t size,
                                          int ordinal) const;
};

}  // namespace halyard::inline v0::cuda
