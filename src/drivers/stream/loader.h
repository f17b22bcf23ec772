// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads native libraries into the process and keeps them. Each driver has its own loader.cpp with
// its call sites, which a simulation may replace.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/mutex.h"
#include "base/native_call.h"

namespace halyard::inline v0::stream {

template <class Api>
class Library;

// All loaded libraries of a driver. Never destroyed, since devices may outlive main().
template <class Api>
struct LoadedLibraries {
  base::Mutex mutex;
  Library<Api>* first = nullptr;  // guarded by the mutex
};

// Returns a handle of dlopen(3), which is never closed. Null, with the reason, if the file cannot
// be opened.
inline void* open_shared_object(const base::CallSite& site, const char* file, std::string& reason) {
  void* const library = base::native_call(
      site, [&] { return ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); });
  if (library != nullptr) return library;
  const char* const why = ::dlerror();
  reason = why != nullptr ? why : "no reason given";
  return nullptr;
}

// Null if the library has no such symbol.
inline void* find_symbol(const base::CallSite& site, void* library, const char* name) noexcept {
  return base::native_call(site, [&] { return ::dlsym(library, name); });
}

}  // namespace halyard::inline v0::stream
