// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <utility>

#include "kernel/device_abi.h"
#include "kernel/kernel_test_util.h"
#include "kernel/msl_device.h"

namespace halyard::testing {
namespace {

class MslKernels final : public HostKernels {
 public:
  using HostKernels::HostKernels;

  void run(std::string_view kernel, const Groups& groups, const std::vector<HostMemory>& buffers,
           const void* constants, std::size_t) const override {
    std::vector<std::span<std::byte>> bindings;
    for (const HostMemory& buffer : buffers) {
      bindings.emplace_back(buffer.data(), buffer.bytes.size());
    }
    const kernel::KernelInfo& info = *hyx().find(kernel).value();
    check(run_msl(hyx(), kernel, groups, bindings,
                  {static_cast<const std::byte*>(constants), info.constants_bytes}));
  }
};

}  // namespace

std::string tested_target() { return std::string(kernel::kMetalTarget); }

std::unique_ptr<HostKernels> load_kernels(kernel::Hyx hyx) {
  if (has_msl_image(hyx)) return std::make_unique<MslKernels>(std::move(hyx));
  return std::make_unique<CpuKernels>(std::move(hyx));
}

}  // namespace halyard::testing
