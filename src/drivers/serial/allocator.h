// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the serial driver: plain host memory, the same for every memory type. It has no device
// address: commands name it by its root and an offset, as they do where memory is a native handle.
// Freed by the last reference, on whatever thread and however long after its device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hal/memory/memory.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::serial {

// Aligned to a page; of the device whose memory domain that is. kResourceExhausted with the size.
Result<Ref<hal::Memory>> allocate(std::uint64_t size, hal::MemoryType type, const void* domain);

// The host's [data, data + size) as it is. kResourceExhausted.
Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size, const void* domain);

// Where the device works on `range`, of any serial device. For commands that are issued.
std::byte* bytes_of(const hal::BoundRange& range) noexcept;

}  // namespace halyard::inline v0::serial
