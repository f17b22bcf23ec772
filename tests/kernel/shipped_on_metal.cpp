// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels in the Metal Shading Language, on the CPU. They are compiled from their sources:
// shipped files have images for this target only if the build includes them.
#include <algorithm>
#include <vector>

#include "base/format.h"
#include "kernel/kernel_test_util.h"
#include "kernel/metal_device.h"
#include "kernel/shipped_device.h"

namespace halyard::testing {
namespace {

struct MetalMemory final : DeviceMemory {
  explicit MetalMemory(std::size_t count) : words((count + 7) / 8), size(count) {}
  std::span<std::byte> bytes() const override {
    return {reinterpret_cast<std::byte*>(words.data()), size};
  }

  mutable std::vector<std::uint64_t> words;
  std::size_t size;
};

struct MetalShipped final : DeviceKernels {
  explicit MetalShipped(std::string_view file)
      : hyx(kernel::Hyx::parse(compile_shared({.source = HALYARD_SOURCE_DIR "/kernels/" +
                                                         std::string(file) + ".hyk",
                                               .targets = {std::string(kMetalTarget)}})
                                   .value(),
                               file)
                .value()) {}

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* const info, hyx.find(kernel));
    if (constants.size() != info->constants.size()) {
      return error(StatusCode::kInvalidArgument, "{}: {} constants given, it has {}", kernel,
                   constants.size(), info->constants.size());
    }
    std::vector<std::byte> values(info->constants_bytes);
    for (std::size_t i = 0; i < constants.size(); ++i) {
      std::copy_n(constants[i].data(), constants[i].size(),
                  values.begin() + info->constants[i].offset);
    }
    std::vector<std::span<std::byte>> bindings;
    for (const DeviceMemory* memory : buffers) bindings.push_back(memory->bytes());
    return run_on_metal(hyx, kernel, {groups.x, groups.y, groups.z}, bindings, values);
  }

  kernel::Hyx hyx;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<MetalMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<MetalShipped>(file);
}
std::size_t device_loop_rounds() { return std::size_t{1} << 31; }

}  // namespace halyard::testing
