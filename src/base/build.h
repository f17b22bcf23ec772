// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differences between builds, as constants, so that the layers above need no preprocessor
// conditions.
#pragma once

#include "base/sanitizers.h"

namespace halyard::inline v0::base {

#ifdef HALYARD_SIMULATION
// Bounds are so small that the programs of a simulation, which are small, reach them.
inline constexpr bool kSmallBounds = true;
// Freed device memory is filled with a pattern, so that reads and writes after free are detected.
inline constexpr bool kPoisonsFreedMemory = true;
#else
inline constexpr bool kSmallBounds = false;
inline constexpr bool kPoisonsFreedMemory = false;
#endif

// Whether freed host memory is cached for reuse; false in builds that detect use after free.
#ifdef HALYARD_RELACY
inline constexpr bool kKeepsFreedMemory = false;
#else
inline constexpr bool kKeepsFreedMemory = !kPoisonsFreedMemory && HALYARD_ASAN == 0;
#endif

}  // namespace halyard::inline v0::base
