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

// This thread's plan: the number of allocations until the next failure, and whether all later
// allocations fail as well.
struct Plan {
  std::uint64_t left = 0;  // 0: none fails, or it has failed
  bool later = false;
  bool has_failed = false;
};
constinit thread_local Plan plan;
constinit thread_local std::uint64_t thread_count = 0;

[[maybe_unused]] bool fails() noexcept {
  ++count;
  ++thread_count;
  if (plan.left == 0) return plan.has_failed && plan.later;
  if (--plan.left != 0) return false;
  return plan.has_failed = true;
}
}  // namespace

namespace halyard::counts {
bool counts_allocations() noexcept { return HALYARD_COUNTS_MALLOC != 0; }
std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
std::uint64_t thread_allocations() noexcept { return thread_count; }

FailingAllocation::FailingAllocation(std::uint64_t n, bool later) noexcept {
  plan = {.left = n, .later = later};
}
FailingAllocation::~FailingAllocation() { plan = {}; }
bool FailingAllocation::has_failed() const noexcept { return plan.has_failed; }
}  // namespace halyard::counts

#if HALYARD_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t items, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t items, std::size_t size) {
  return fails() ? nullptr : __libc_calloc(items, size);
}
void* realloc(void* memory, std::size_t size) {
  return fails() ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = fails() ? nullptr : __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
#endif
