// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/cuda_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

#include "base/format.h"

namespace halyard::testing::cuda {
namespace {

std::string name_of(const Api& api, int result) {
  const char* name = nullptr;
  if (api.error_name == nullptr || api.error_name(result, &name) != 0 || name == nullptr) {
    return fmt::format("error {}", result);
  }
  return name;
}

}  // namespace

std::string find_gpu(Gpu& gpu) {
  const char* const chosen = std::getenv("HALYARD_LIBCUDA");
  const char* const path = chosen != nullptr ? chosen : "libcuda.so.1";
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  Api& api = gpu.api;
#define HALYARD_CUDA_LOAD(member, name, parameters) \
  api.member = reinterpret_cast<int(*) parameters>(dlsym(library, #name));
  HALYARD_CUDA_FUNCTIONS(HALYARD_CUDA_LOAD)
#undef HALYARD_CUDA_LOAD
  if (api.init == nullptr) return fmt::format("{} has no cuInit", path);
  // 34, CUDA_ERROR_STUB_LIBRARY, is the error of the toolkit's stub of libcuda.
  if (const int result = api.init(0); result != 0) {
    return fmt::format("cuInit: {}", name_of(api, result));
  }
  int count = 0;
  if (api.device_count(&count) != 0 || count == 0) return "the driver has no device";
  char name[256] = {};
  int major = 0, minor = 0;
  for (const auto& [result, what] :
       {std::pair(api.device_get(&gpu.device, 0), "cuDeviceGet"),
        std::pair(api.device_name(name, sizeof name - 1, gpu.device), "cuDeviceGetName"),
        std::pair(api.device_attribute(&major, kComputeCapabilityMajor, gpu.device), "capability"),
        std::pair(api.device_attribute(&minor, kComputeCapabilityMinor, gpu.device), "capability"),
        std::pair(api.driver_version(&gpu.driver_version), "cuDriverGetVersion"),
        std::pair(api.retain_context(&gpu.context, gpu.device), "cuDevicePrimaryCtxRetain"),
        std::pair(api.set_context(gpu.context), "cuCtxSetCurrent")}) {
    if (result != 0) return fmt::format("{}: {}", what, name_of(api, result));
  }
  gpu.name = name;
  gpu.compute_capability = static_cast<unsigned>(10 * major + minor);
  return {};
}

const Gpu& gpu() {
  static const Gpu found = [] {
    Gpu first;
    if (const std::string reason = find_gpu(first); !reason.empty()) {
      throw std::runtime_error("no NVIDIA GPU: " + reason);
    }
    return first;
  }();
  return found;
}

void check(int result, const char* what) {
  if (result != 0) {
    throw std::runtime_error(fmt::format("{}: {}", what, name_of(gpu().api, result)));
  }
}

}  // namespace halyard::testing::cuda
