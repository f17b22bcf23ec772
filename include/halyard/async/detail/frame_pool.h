// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool of memory blocks for coroutine frames, awaits and cells. Each thread caches the blocks
// that it has freed, by size.
#pragma once

#include <cstddef>

#include "halyard/base/export.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::async::detail {

HALYARD_EXPORT void* allocate_frame(std::size_t size) noexcept;  // null without memory
// The same, but raises kResourceExhausted without memory.
inline void* new_frame(std::size_t size) {
  void* const frame = allocate_frame(size);
  if (frame == nullptr) {
    v0::detail::raise(Status(StatusCode::kResourceExhausted, "no memory for an operation or Task"));
  }
  return frame;
}
HALYARD_EXPORT void free_frame(void* frame, std::size_t size) noexcept;

// Base of objects in memory of the pool.
struct InFramePool {
  static void* operator new(std::size_t size) { return new_frame(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { free_frame(memory, size); }
};

}  // namespace halyard::inline v0::async::detail
