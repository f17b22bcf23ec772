// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/poison.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr unsigned char kPoison = 0xdd;
constexpr std::size_t kLargest = 4096;  // larger blocks go back at once
constexpr std::size_t kKept = 1 << 16;  // how many blocks are kept at most

constinit std::int64_t live = 0;
constinit void* freed[kKept] = {};
constinit std::size_t freed_count = 0;

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size != 0 ? size : 1)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++live;
  return memory;
}

void* allocate_or_die(std::size_t size, std::size_t alignment) noexcept {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

void deallocate(void* memory) noexcept {
  if (memory == nullptr) return;
  --live;
  const std::size_t size = malloc_usable_size(memory);
  if (size > kLargest || freed_count == kKept) return std::free(memory);
  std::memset(memory, kPoison, size);
  freed[freed_count++] = memory;
}

}  // namespace

namespace halyard::inline v0::sim {

std::int64_t live_blocks() noexcept { return live; }

bool release_freed() noexcept {
  bool clean = true;
  while (freed_count != 0) {
    auto* const bytes = static_cast<unsigned char*>(freed[--freed_count]);
    const std::size_t size = malloc_usable_size(bytes);
    clean &= bytes[0] == kPoison && std::memcmp(bytes, bytes + 1, size - 1) == 0;
    std::free(bytes);
  }
  return clean;
}

}  // namespace halyard::inline v0::sim

void* operator new(std::size_t size) { return allocate_or_die(size, 1); }
void* operator new[](std::size_t size) { return allocate_or_die(size, 1); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_die(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_die(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { deallocate(memory); }
void operator delete[](void* memory) noexcept { deallocate(memory); }
void operator delete(void* memory, std::size_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::size_t) noexcept { deallocate(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { deallocate(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { deallocate(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { deallocate(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { deallocate(memory); }
