// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads libcuda into the process. halyard-sim has its own loader, since its library is a part of
// the program (simulation/gpu_loaders.cpp).
#pragma once

namespace halyard::inline v0::cuda {

// Null if the library has no such symbol. `library` comes from CudaApi::open_library().
void* find_symbol(void* library, const char* name) noexcept;

}  // namespace halyard::inline v0::cuda
