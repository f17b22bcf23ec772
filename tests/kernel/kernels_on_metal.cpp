// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels of tests in the Metal Shading Language, on the CPU.
#include <utility>

#include "kernel/kernel_test_util.h"
#include "kernel/metal_device.h"

namespace halyard::testing {
namespace {

class MetalKernels final : public HostKernels {
 public:
  using HostKernels::HostKernels;

  void run(std::string_view kernel, const Groups& groups, const std::vector<HostMemory>& buffers,
           const void* constants, std::size_t) const override {
    std::vector<std::span<std::byte>> bindings;
    for (const HostMemory& buffer : buffers) {
      bindings.emplace_back(buffer.data(), buffer.bytes.size());
    }
    const kernel::KernelInfo& info = *hyx().find(kernel).value();
    check(run_on_metal(hyx(), kernel, groups, bindings,
                       {static_cast<const std::byte*>(constants), info.constants_bytes}));
  }
};

}  // namespace

std::string tested_target() { return std::string(kMetalTarget); }

std::unique_ptr<HostKernels> load_kernels(kernel::Hyx hyx) {
  if (has_metal_image(hyx)) return std::make_unique<MetalKernels>(std::move(hyx));
  return std::make_unique<CpuKernels>(std::move(hyx));
}

}  // namespace halyard::testing
