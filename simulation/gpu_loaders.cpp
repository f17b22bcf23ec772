// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the loader.cpp of each driver: every file name loads the simulated library in this
// program.
#include "simulation/gpu_loaders.h"

#include <utility>

#include "drivers/cuda/library.h"
#include "drivers/cuda/loader.h"
#include "drivers/hip/device.h"
#include "drivers/hip/loader.h"
#include "simulation/cuda/names.h"
#include "simulation/hip/names.h"
#include "simulation/hip/settings.h"

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

namespace hip {
namespace {

constinit stream::LoadedLibraries<HipApi> loaded;
constinit char library = 0;

}  // namespace

void* HipApi::open_library(const char*, std::string&) { return &library; }

void* find_symbol(void*, const char* name) noexcept {
  for (const sim::hip::Name& known : sim::hip::names()) {
    if (known.name != name) continue;
    return sim::hip::is_since(known.since) ? reinterpret_cast<void*>(known.function) : nullptr;
  }
  return nullptr;
}

stream::LoadedLibraries<HipApi>& HipApi::loaded_libraries() noexcept { return loaded; }

}  // namespace hip

namespace sim {
namespace {

template <class Api>
void unload(bool in_use) {
  const auto* const last = std::exchange(Api::loaded_libraries().first, nullptr);
  if (!in_use) delete last;
}

}  // namespace

void unload_cuda(bool in_use) { unload<halyard::cuda::CudaApi>(in_use); }
void unload_hip(bool in_use) { unload<halyard::hip::HipApi>(in_use); }

}  // namespace sim
}  // namespace halyard::inline v0
