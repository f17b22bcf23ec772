// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the cpu driver: plain host memory, the same for every memory type. Commands use its
// device_address(): the host_pointer() of hidden memory is null. Needs no device to
// be freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hal/memory/memory.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::cpu {

// What all cpu devices of a process have in common: each may use the others' memory, and wait for
// their lanes.
const void* domain() noexcept;

// `alignment`: a power of two up to base::page_size(), or 0 for 64. `node`: the NUMA node of memory
// of a page or more; less comes from the heap. `hidden`: from the host. kResourceExhausted with the
// size; kUnimplemented: the system binds no memory.
Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment, hal::MemoryType type,
                                  std::optional<unsigned> node = {}, bool hidden = false);

// The host's [data, data + size) as it is.
Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size);

}  // namespace halyard::inline v0::cpu
