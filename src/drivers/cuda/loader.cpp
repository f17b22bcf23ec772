// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/loader.h"

#include "drivers/cuda/api.h"
#include "drivers/stream/loader.h"

namespace halyard::inline v0::cuda {
namespace {

HALYARD_CALL_SITE(kOpen, "cuda.dlopen", ENOENT);
HALYARD_CALL_SITE(kFind, "cuda.dlsym", ENOENT);

constinit stream::LoadedLibraries<CudaApi> loaded;

}  // namespace

void* CudaApi::open_library(const char* file, std::string& reason) {
  return stream::open_shared_object(kOpen, file, reason);
}

void* find_symbol(void* library, const char* name) noexcept {
  return stream::find_symbol(kFind, library, name);
}

stream::LoadedLibraries<CudaApi>& CudaApi::loaded_libraries() noexcept { return loaded; }

}  // namespace halyard::inline v0::cuda
