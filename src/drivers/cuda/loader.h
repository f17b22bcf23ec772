// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a libcuda comes into the process, and what the process keeps of it. halyard-sim has a
// loader of its own, in which the library is a part of the program (simulation/cuda_loader.cpp).
#pragma once

#include <string>

#include "base/mutex.h"

namespace halyard::inline v0::cuda {

class Library;

// A handle for find_symbol(); null, with the reason, if the file cannot be opened. Never closed.
void* open_library(const char* file, std::string& reason);
// Null if the library has no such symbol.
void* find_symbol(void* library, const char* name) noexcept;

// All libraries that were loaded. Never destroyed, since devices may outlive main().
struct LoadedLibraries {
  base::Mutex mutex;
  Library* first = nullptr;  // guarded by it
};
LoadedLibraries& loaded_libraries() noexcept;

}  // namespace halyard::inline v0::cuda
