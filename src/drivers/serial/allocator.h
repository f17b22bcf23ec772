// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the serial driver: plain host memory, the same for every memory type. It has no device
// address: commands name it by its root and an offset, as in drivers whose memory is a native
// handle. The last reference frees it, on any thread and at any time, even after its device is
// closed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/memory/memory.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::serial {

// Allocates memory, aligned to a page, for the device with this memory domain. Returns
// kResourceExhausted with the size.
Result<Ref<hal::Memory>> allocate(std::uint64_t size, hal::MemoryType type, const void* domain);

// Imports the host's [data, data + size) in place. Returns kResourceExhausted.
Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size, const void* domain);

// The bytes of `range`, which may belong to any serial device. For commands that are issued.
std::byte* bytes_of(const hal::BoundRange& range) noexcept;

}  // namespace halyard::inline v0::serial
