// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "counts/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "base/sanitizers.h"

#if HALYARD_ASAN || HALYARD_TSAN
#define HALYARD_COUNTS_MALLOC 0
#else
#define HALYARD_COUNTS_MALLOC 1
#endif

namespace {
constinit std::atomic<std::uint64_t> count{0};
}  // namespace

namespace halyard::counts {
bool counts_allocations() noexcept { return HALYARD_COUNTS_MALLOC != 0; }
std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
}  // namespace halyard::counts

#if HALYARD_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t items, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
void* calloc(std::size_t items, std::size_t size) {
  ++count;
  return __libc_calloc(items, size);
}
void* realloc(void* memory, std::size_t size) {
  ++count;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++count;
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
#endif
