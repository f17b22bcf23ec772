// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new and delete of a program that simulates. What is freed is overwritten and kept until
// the seed ends, so that a later read finds garbage, and a later write is
// found.
#pragma once

#include <cstdint>

namespace halyard::inline v0::sim {

// Blocks that are allocated and not freed.
std::int64_t live_blocks() noexcept;
// Gives what was freed back. False if it was written to.
bool release_freed() noexcept;

}  // namespace halyard::inline v0::sim
