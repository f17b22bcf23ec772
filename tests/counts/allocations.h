// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts heap allocations of the whole program, and makes one thread's fail: allocations.cpp
// replaces malloc.
#pragma once

#include <cstdint>

namespace halyard::counts {

// False if a sanitizer has replaced malloc: then nothing is counted.
bool counts_allocations() noexcept;
std::uint64_t allocations() noexcept;
// The allocations of this thread.
std::uint64_t thread_allocations() noexcept;

// While it exists, the n-th allocation of this thread fails, counted from 1, and all later ones too
// if `later`. Only one may exist at a time.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t n, bool later = false) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  bool has_failed() const noexcept;  // so far
};

}  // namespace halyard::counts
