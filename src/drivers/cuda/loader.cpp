// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/loader.h"

#include <dlfcn.h>

#include <cerrno>

#include "base/native_call.h"

namespace halyard::inline v0::cuda {
namespace {

HALYARD_CALL_SITE(kOpen, "cuda.dlopen", ENOENT);
HALYARD_CALL_SITE(kFind, "cuda.dlsym", ENOENT);

constinit LoadedLibraries loaded;

}  // namespace

void* open_library(const char* file, std::string& reason) {
  void* const library = base::native_call(
      kOpen, [&] { return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); });
  if (library != nullptr) return library;
  const char* const why = dlerror();
  reason = why != nullptr ? why : "no reason given";
  return nullptr;
}

void* find_symbol(void* library, const char* name) noexcept {
  return base::native_call(kFind, [&] { return dlsym(library, name); });
}

LoadedLibraries& loaded_libraries() noexcept { return loaded; }

}  // namespace halyard::inline v0::cuda
