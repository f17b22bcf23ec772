// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In place of src/drivers/cuda/loader.cpp: every file is the simulated libcuda in this program.
#include "simulation/cuda_loader.h"

#include <utility>

#include "drivers/cuda/library.h"
#include "drivers/cuda/loader.h"
#include "simulation/cuda/names.h"

namespace halyard::inline v0 {
namespace cuda {
namespace {

constinit stream::LoadedLibraries<CudaApi> loaded;
constinit char library = 0;

}  // namespace

void* CudaApi::open_library(const char*, std::string&) { return &library; }

void* find_symbol(void*, const char* name) noexcept {
  for (const sim::cuda::Name& known : sim::cuda::names()) {
    if (known.exported == name) return reinterpret_cast<void*>(known.function);
  }
  return nullptr;
}

stream::LoadedLibraries<CudaApi>& CudaApi::loaded_libraries() noexcept { return loaded; }

}  // namespace cuda

namespace sim {

void unload_cuda(bool in_use) {
  const halyard::cuda::Library* const last =
      std::exchange(halyard::cuda::CudaApi::loaded_libraries().first, nullptr);
  if (!in_use) delete last;
}

}  // namespace sim
}  // namespace halyard::inline v0
