// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels on a Vulkan device.
#include <algorithm>
#include <vector>

#include "base/format.h"
#include "kernel/shipped_device.h"
#include "kernel/vulkan_device.h"

namespace halyard::testing {
namespace {

struct VulkanMemory final : DeviceMemory {
  explicit VulkanMemory(std::size_t size) : buffer(vulkan_device().allocate(size).value()) {}
  std::span<std::byte> bytes() const override { return buffer.bytes; }

  VulkanBuffer buffer;
};

// The struct of all constants in the layout of the file.
Result<std::vector<std::byte>> pack(const kernel::KernelInfo& info,
                                    hal::View<hal::Constant> constants) {
  if (constants.size() != info.constants.size()) {
    return error(StatusCode::kInvalidArgument, "{}: {} constants given, it has {}", info.name,
                 constants.size(), info.constants.size());
  }
  std::vector<std::byte> bytes(info.constants_bytes);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].type() != info.constants[i].type) {
      return error(StatusCode::kInvalidArgument, "{}: constant {} is given another type", info.name,
                   info.constants[i].name);
    }
    std::copy_n(constants[i].data(), constants[i].size(), bytes.begin() + info.constants[i].offset);
  }
  return bytes;
}

struct VulkanShipped final : DeviceKernels {
  explicit VulkanShipped(std::string_view file)
      : hyx(kernel::Hyx::read(HALYARD_KERNELS_DIR + std::string(file) + ".hyx").value()) {}

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* const info, hyx.find(kernel));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, pack(*info, constants));
    std::vector<VulkanBinding> bindings;
    for (const DeviceMemory* memory : buffers) {
      bindings.emplace_back(&static_cast<const VulkanMemory*>(memory)->buffer);
    }
    return vulkan_device().run(hyx, kernel, {groups.x, groups.y, groups.z}, bindings, bytes);
  }

  kernel::Hyx hyx;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<VulkanMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<VulkanShipped>(file);
}
// Mesa's llvmpipe exits every loop here: LP_MAX_TGSI_LOOP_ITERATIONS in its lp_bld_limits.h.
std::size_t device_loop_rounds() { return 65535; }

}  // namespace halyard::testing
