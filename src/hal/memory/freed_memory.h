// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a pool that are free hold a pattern in builds that look for use after free
// (base::kPoisonsFreedMemory): a read finds it, and a write is an assertion when the block is used
// again. In other builds none of these does anything.
//
// Memory that the host cannot see is filled but not checked. Under the lock of the pool.
#pragma once

#include <cstdint>

#include "base/build.h"

namespace halyard::inline v0::hal {

struct PoolBlock;

// Of each byte. A block is filled by its deallocation, in the order of the device's work, or by
// fill_freed() where there is none.
inline constexpr std::uint32_t kFreedPattern = 0xdd;

void fill_freed(const PoolBlock& block) noexcept;
// Precondition: it is free, and what it waited for has passed.
void check_freed(const PoolBlock& block) noexcept;
// Checks it, if what it waited for has passed, and fills what was never used of its slab.
void begin_use(const PoolBlock& block) noexcept;

}  // namespace halyard::inline v0::hal
