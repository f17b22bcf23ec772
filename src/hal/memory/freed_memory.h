// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In builds that detect use after free (base::kPoisonsFreedMemory), free blocks of a pool are
// filled with a pattern: reads see it, and a write to it fails an assertion when the block is used
// again. In other builds these functions do nothing.
//
// Memory that the host cannot see is filled but not checked. The caller holds the lock of the pool.
#pragma once

#include <cstdint>

#include "base/build.h"

namespace halyard::inline v0::hal {

struct PoolBlock;

// The value of each byte. The deallocation fills a block, in the order of the device's work;
// fill_freed() fills a block that is returned without a deallocation.
inline constexpr std::uint32_t kFreedPattern = 0xdd;

void fill_freed(const PoolBlock& block) noexcept;
// Asserts that the pattern is intact. Precondition: the block is free and its frontier has passed.
void check_freed(const PoolBlock& block) noexcept;
// Checks the block if its frontier has passed, and fills the part of its slab that was never used.
void begin_use(const PoolBlock& block) noexcept;

}  // namespace halyard::inline v0::hal
