// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/hip/loader.h"

#include "drivers/hip/api.h"
#include "drivers/stream/loader.h"

namespace halyard::inline v0::hip {
namespace {

HALYARD_CALL_SITE(kOpen, "hip.dlopen", ENOENT);
HALYARD_CALL_SITE(kFind, "hip.dlsym", ENOENT);

constinit stream::LoadedLibraries<HipApi> loaded;

}  // namespace

void* HipApi::open_library(const char* file, std::string& reason) {
  return stream::open_shared_object(kOpen, file, reason);
}

void* find_symbol(void* library, const char* name) noexcept {
  return stream::find_symbol(kFind, library, name);
}

stream::LoadedLibraries<HipApi>& HipApi::loaded_libraries() noexcept { return loaded; }

}  // namespace halyard::inline v0::hip
