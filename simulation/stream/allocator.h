// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of stream:// devices, accessed by device address. Visible to the host unless it is
// kDeviceLocal. The last reference frees it, within the guard of its device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/memory/memory.h"
#include "halyard/base/result.h"
#include "simulation/stream/fake_api.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

// The domain of all stream:// devices of a process: each device may use the others' memory and wait
// for their lanes.
const void* domain() noexcept;

// Allocates within `guard`. Returns kResourceExhausted, with the size, if there is no memory.
Result<Ref<hal::Memory>> allocate(const FakeApi& api, Ref<timeline::EntryGuard> guard,
                                  std::uint64_t size, hal::MemoryType type);

// Imports host memory [data, data + size). Returns kResourceExhausted if out of memory.
Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size);

}  // namespace halyard::inline v0::stream
