// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages of the process. From any thread.
#pragma once

#include <cstddef>

#include "halyard/base/export.h"

namespace halyard::inline v0::base {

// Bytes, a power of two; constant during the process: 4096 on x86, 16384 on Apple silicon. Devices
// import host memory by whole pages.
HALYARD_EXPORT std::size_t page_size() noexcept;

// Maps `size` bytes, readable, writable and zero, which begin at a multiple of page_size().
// MAP_FAILED, with the error in errno, as mmap(2). munmap(2) of the same size takes them back.
HALYARD_EXPORT void* map_pages(std::size_t size) noexcept;

}  // namespace halyard::inline v0::base
