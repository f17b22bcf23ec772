// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads libamdhip64 into the process. halyard-sim has its own loader, since its library is a part
// of the program (simulation/gpu_loaders.cpp).
#pragma once

namespace halyard::inline v0::hip {

// Null if the library has no such symbol. `library` comes from HipApi::open_library().
void* find_symbol(void* library, const char* name) noexcept;

}  // namespace halyard::inline v0::hip
