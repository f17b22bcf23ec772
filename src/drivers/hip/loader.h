// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a libamdhip64 comes into the process. halyard-sim has a loader of its own, in which the
// library is a part of the program (simulation/gpu_loaders.cpp).
#pragma once

namespace halyard::inline v0::hip {

// Null if the library has no such symbol. HipApi::open_library() has given `library`.
void* find_symbol(void* library, const char* name) noexcept;

}  // namespace halyard::inline v0::hip
