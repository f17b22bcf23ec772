// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new and delete of a program that simulates. Freed memory is overwritten and kept until
// the seed ends, so that a later read returns garbage and a later write is detected.
#pragma once

#include <cstdint>

namespace halyard::inline v0::sim {

// Blocks that are allocated and not freed.
std::int64_t live_blocks() noexcept;
// Returns the freed memory to the system. Returns false if it was written to after it was freed.
bool release_freed() noexcept;

}  // namespace halyard::inline v0::sim
