// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/poison.h"

#include <malloc.h>
#include <execinfo.h>
#include <cstdio>

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

struct Note { void* p; std::size_t size; void* bt[24]; int n; };
constinit Note* notes = nullptr; constinit long note_count = 0; constinit bool noting = false;
void note_new(void* p, std::size_t size) {
  if (!noting) return;
  if (!notes) notes = (Note*)std::calloc(1<<20, sizeof(Note));
  noting = false;
  Note& n = notes[note_count++]; n.p = p; n.size = size; n.n = backtrace(n.bt, 24);
  noting = true;
}
void note_delete(void* p) {
  if (!notes) return;
  for (long i = note_count; i-- > 0;) if (notes[i].p == p) { notes[i].p = nullptr; return; }
}
void* allocate(std::size_t size, std::size_t alignment) noexcept {
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size != 0 ? size : 1)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) { ++live; note_new(memory, size); }
  return memory;
}

void* allocate_or_die(std::size_t size, std::size_t alignment) noexcept {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

void deallocate(void* memory) noexcept {
  if (memory == nullptr) return;
  --live; note_delete(memory);
  const std::size_t size = malloc_usable_size(memory);
  if (size > kLargest || freed_count == kKept) return std::free(memory);
  std::memset(memory, kPoison, size);
  freed[freed_count++] = memory;
}

}  // namespace

namespace halyard::inline v0::sim {

std::int64_t live_blocks() noexcept { return live; }
void start_notes() { noting = true; note_count = 0; }
void print_notes() { noting = false; int shown = 0;
  for (long i = 0; i < note_count && shown < 6; ++i) if (notes[i].p) { ++shown; std::fprintf(stderr, "leak %zu bytes\n", notes[i].size); backtrace_symbols_fd(notes[i].bt, notes[i].n, 2); } }

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
