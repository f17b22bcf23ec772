// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What differs between builds of the code above this layer: constants, so that this code has no
// conditions of the preprocessor and does not ask who compiles it.
#pragma once

#include "base/sanitizers.h"

namespace halyard::inline v0::base {

#ifdef HALYARD_SIMULATION
// Bounds are so small that the programs of a simulation, which are small, reach them.
inline constexpr bool kSmallBounds = true;
// Freed device memory is filled, and what is read from it or written to it is noticed.
inline constexpr bool kPoisonsFreedMemory = true;
#else
inline constexpr bool kSmallBounds = false;
inline constexpr bool kPoisonsFreedMemory = false;
#endif

// Whether freed memory of the host is kept for its next use. Not where a use after free is
// detected.
#ifdef HALYARD_RELACY
inline constexpr bool kKeepsFreedMemory = false;
#else
inline constexpr bool kKeepsFreedMemory = !kPoisonsFreedMemory && HALYARD_ASAN == 0;
#endif

}  // namespace halyard::inline v0::base
