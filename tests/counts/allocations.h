// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heap allocations of the whole program, and failures of one thread's: allocations.cpp replaces
// malloc.
#pragma once

#include <cstdint>

namespace halyard::counts {

// False where a sanitizer has replaced malloc: then nothing is counted.
bool counts_allocations() noexcept;
std::uint64_t allocations() noexcept;

// While it lives, the n-th allocation of this thread fails, counted from 1, and those behind it too
// if `later` do. One at a time.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t n, bool later = false) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  bool has_failed() const noexcept;  // so far
};

}  // namespace halyard::counts
