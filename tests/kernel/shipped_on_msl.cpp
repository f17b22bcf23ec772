// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels in the Metal Shading Language.
#include <algorithm>
#include <vector>

#include "base/format.h"
#include "kernel/msl_device.h"
#include "kernel/shipped_device.h"

namespace halyard::testing {
namespace {

struct MslMemory final : DeviceMemory {
  // As Metal gives it: whole pages.
  explicit MslMemory(std::size_t size) : memory(size + 16), length(size) {}
  std::span<std::byte> bytes() const override {
    return {
        reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory.data() + 15) & ~15ul),
        length};
  }
  mutable std::vector<std::byte> memory;
  std::size_t length;
};

struct MslShipped final : DeviceKernels {
  explicit MslShipped(std::string_view file)
      : hyx(kernel::Hyx::read(HALYARD_KERNELS_DIR + std::string(file) + ".hyx").value()) {}

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    HALYARD_ASSIGN_OR_RETURN(const kernel::KernelInfo* const info, hyx.find(kernel));
    if (constants.size() != info->constants.size()) {
      return error(StatusCode::kInvalidArgument, "{}: {} constants given, it has {}", kernel,
                   constants.size(), info->constants.size());
    }
    std::vector<std::byte> bytes(info->constants_bytes);
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (constants[i].type() != info->constants[i].type) {
        return error(StatusCode::kInvalidArgument, "{}: constant {} is given another type", kernel,
                     info->constants[i].name);
      }
      std::copy_n(constants[i].data(), constants[i].size(),
                  bytes.begin() + info->constants[i].offset);
    }
    std::vector<std::span<std::byte>> bindings;
    for (const DeviceMemory* memory : buffers) bindings.push_back(memory->bytes());
    const std::size_t extent[3] = {groups.x, groups.y, groups.z};
    return run_msl(hyx, kernel, extent, bindings, bytes);
  }

  kernel::Hyx hyx;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<MslMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<MslShipped>(file);
}
std::size_t device_loop_rounds() { return ~std::size_t{0}; }

}  // namespace halyard::testing
