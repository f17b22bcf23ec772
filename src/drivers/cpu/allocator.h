// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the cpu driver: plain host memory, the same for every memory type. Commands use its
// device_address(): the host_pointer() of hidden memory is null. It can be freed without its
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hal/memory/memory.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::cpu {

// The domain of all cpu devices of a process: each may use the others' memory, and wait for their
// lanes.
const void* domain() noexcept;

// `alignment`: a power of two up to base::page_size(), or 0 for 64. `node`: the NUMA node, for
// memory of a page or more; smaller memory comes from the heap. `hidden`: the host cannot map the
// memory. Returns kResourceExhausted with the size, and kUnimplemented if the system cannot bind
// memory to nodes.
Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment, hal::MemoryType type,
                                  std::optional<unsigned> node = {}, bool hidden = false);

// Imports the host's [data, data + size) in place.
Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size);

}  // namespace halyard::inline v0::cpu
