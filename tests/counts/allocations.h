// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heap allocations of the whole program: allocations.cpp replaces malloc.
#pragma once

#include <cstdint>

namespace halyard::counts {

// False where a sanitizer has replaced malloc: then nothing is counted.
bool counts_allocations() noexcept;
std::uint64_t allocations() noexcept;

}  // namespace halyard::counts
