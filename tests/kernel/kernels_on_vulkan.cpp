// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <utility>

#include "kernel/kernel_test_util.h"
#include "kernel/vulkan_device.h"

namespace halyard::testing {
namespace {

// Copies the test's memory to the device for each launch, and back.
class VulkanKernels final : public HostKernels {
 public:
  using HostKernels::HostKernels;

  void run(std::string_view kernel, const Groups& groups, const std::vector<HostMemory>& buffers,
           const void* constants, std::size_t) const override {
    std::vector<VulkanBuffer> copies;
    std::vector<VulkanBinding> bindings;
    copies.reserve(buffers.size());
    for (const HostMemory& buffer : buffers) {
      // Memory that is passed twice is a single buffer on the device as well.
      const auto same = std::ranges::find(buffers, buffer.data(), &HostMemory::data);
      if (const auto index = static_cast<std::size_t>(same - buffers.begin());
          index < copies.size()) {
        bindings.emplace_back(&copies[index]);
        copies.emplace_back();
        continue;
      }
      copies.push_back(vulkan_device().allocate(buffer.bytes.size()).value());
      std::ranges::copy(buffer.bytes, copies.back().bytes.begin());
      bindings.emplace_back(&copies.back());
    }
    const kernel::KernelInfo& info = *hyx().find(kernel).value();
    check(vulkan_device().run(hyx(), kernel, groups, bindings,
                              {static_cast<const std::byte*>(constants), info.constants_bytes}));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (info.bindings[i].access == kernel::Access::kRead) continue;
      std::ranges::copy(bindings[i].buffer->bytes, buffers[i].data());
    }
  }
};

}  // namespace

std::string tested_target() { return std::string(kVulkanTarget); }

std::unique_ptr<HostKernels> load_kernels(kernel::Hyx hyx) {
  if (has_vulkan_image(hyx)) {
    return std::make_unique<VulkanKernels>(std::move(hyx));
  }
  return std::make_unique<CpuKernels>(std::move(hyx));
}

}  // namespace halyard::testing
