// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels on an NVIDIA GPU, through the raw driver API: the PTX images of their files.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "base/format.h"
#include "gpu/cuda_api.h"
#include "gpu/kernels_folder.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"
#include "kernel/shipped_device.h"

namespace halyard::testing {
namespace {

using cuda::check;
using cuda::gpu;

// Host memory, copied to the device before a launch and back after it.
struct CudaMemory final : DeviceMemory {
  explicit CudaMemory(std::size_t size) : host(size) {
    check(gpu().api.allocate(&device, std::max<std::size_t>(size, 1)), "cuMemAlloc");
  }
  ~CudaMemory() override { gpu().api.free(device); }
  std::span<std::byte> bytes() const override { return host; }

  mutable std::vector<std::byte> host;
  cuda::DevicePointer device = 0;
};

// The image for the newest architecture that this device supports.
const kernel::ImageInfo* choose_image(const kernel::Hyx& hyx) {
  const kernel::ImageInfo* best = nullptr;
  unsigned best_capability = 0;
  for (const kernel::ImageInfo& image : hyx.images()) {
    constexpr std::string_view kPrefix = "ptx-sm_";
    unsigned capability = 0;
    if (image.convention != kernel::kKernargConvention || !image.target.starts_with(kPrefix)) {
      continue;
    }
    std::from_chars(image.target.data() + kPrefix.size(), image.target.data() + image.target.size(),
                    capability);
    if (capability > best_capability && capability <= gpu().compute_capability) {
      best = &image;
      best_capability = capability;
    }
  }
  return best;
}

struct CudaKernels final : DeviceKernels {
  explicit CudaKernels(std::string_view file)
      : hyx(kernel::Hyx::read(kernels_folder() + std::string(file) + ".hyx").value()) {
    const kernel::ImageInfo* const image = choose_image(hyx);
    if (image == nullptr) {
      throw std::runtime_error(fmt::format("{}: no PTX for sm_{}", file, gpu().compute_capability));
    }
    // The driver needs a terminating 0.
    const std::string text(reinterpret_cast<const char*>(image->bytes.data()), image->bytes.size());
    check(gpu().api.load_module(&module, text.c_str()), "cuModuleLoadData");
  }
  ~CudaKernels() override { gpu().api.unload_module(module); }

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    const kernel::KernelInfo& info = *hyx.find(kernel).value();
    if (buffers.size() != info.bindings.size() || constants.size() != info.constants.size()) {
      return error(StatusCode::kInvalidArgument, "{}: {} buffers and {} constants given", kernel,
                   buffers.size(), constants.size());
    }
    // hy-kernarg-1: the address of each binding, then the struct of constants.
    std::vector<std::byte> packed(8 * buffers.size() + info.constants_bytes);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const auto& memory = static_cast<const CudaMemory&>(*buffers[i]);
      check(gpu().api.copy_in(memory.device, memory.host.data(), memory.host.size()),
            "cuMemcpyHtoD");
      std::memcpy(&packed[8 * i], &memory.device, 8);
    }
    for (std::size_t i = 0; i < constants.size(); ++i) {
      std::memcpy(&packed[8 * buffers.size() + info.constants[i].offset], constants[i].data(),
                  constants[i].size());
    }
    std::size_t size = packed.size();
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
    void* extra[] = {reinterpret_cast<void*>(1), packed.data(), reinterpret_cast<void*>(2), &size,
                     nullptr};
    cuda::Function function = nullptr;
    check(gpu().api.get_function(&function, module, std::string(kernel).c_str()),
          "cuModuleGetFunction");
    const auto& [x, y, z] = info.workgroup_size;
    // Halyard then runs no group. The driver refuses a grid without blocks.
    if (groups.x == 0 || groups.y == 0 || groups.z == 0) return {};
    check(gpu().api.launch(function, groups.x, groups.y, groups.z, x, y, z, 0, nullptr, nullptr,
                           extra),
          "cuLaunchKernel");
    check(gpu().api.synchronize_context(), "cuCtxSynchronize");
    for (const DeviceMemory* buffer : buffers) {
      const auto& memory = static_cast<const CudaMemory&>(*buffer);
      check(gpu().api.copy_out(memory.host.data(), memory.device, memory.host.size()),
            "cuMemcpyDtoH");
    }
    return {};
  }

  kernel::Hyx hyx;
  cuda::Module module = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<CudaMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<CudaKernels>(file);
}
std::size_t device_loop_rounds() { return std::numeric_limits<std::size_t>::max(); }

}  // namespace halyard::testing
