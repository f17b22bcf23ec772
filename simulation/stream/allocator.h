// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of stream:// devices: reached by its device address. The host sees it unless it is
// kDeviceLocal. Freed by the last reference, within the guard of its device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/memory/memory.h"
#include "halyard/base/result.h"
#include "simulation/stream/fake_api.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::stream {

// What all stream:// devices of a process have in common: each may use the others' memory, and wait
// for their lanes.
const void* domain() noexcept;

// Allocates within `guard`. Returns kResourceExhausted, with the size, if there is no memory.
Result<Ref<hal::Memory>> allocate(const FakeApi& api, Ref<timeline::EntryGuard> guard,
                                  std::uint64_t size, hal::MemoryType type);

// The host's [data, data + size) as it is. kResourceExhausted.
Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size);

}  // namespace halyard::inline v0::stream
