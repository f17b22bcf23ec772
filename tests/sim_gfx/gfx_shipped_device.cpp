// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels as code of gfx1100, executed by the simulation.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "base/format.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"
#include "kernel/shipped_device.h"
#include "sim_gfx/gfx_memory.h"

namespace halyard::testing {
namespace {

struct HostMemory final : DeviceMemory {
  explicit HostMemory(std::size_t size) : host(size) {}
  std::span<std::byte> bytes() const override { return host; }
  mutable std::vector<std::byte> host;
};

struct GfxKernels final : DeviceKernels {
  explicit GfxKernels(std::string_view file)
      : hyx(kernel::Hyx::read(HALYARD_GFX_KERNELS_DIR + std::string(file) + ".hyx").value()) {
    for (const kernel::ImageInfo& each : hyx.images()) {
      if (!each.target.starts_with("hsaco-gfx1100")) continue;
      loaded = gfx::CodeObject::load(std::as_bytes(std::span(each.bytes)), "gfx1100");
    }
    if (loaded.code != nullptr) image = std::make_unique<GfxImage>(*loaded.code);
  }

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    if (loaded.code == nullptr) return error(StatusCode::kInternal, "{}", loaded.log);
    const kernel::KernelInfo& info = *hyx.find(kernel).value();
    if (groups.x == 0 || groups.y == 0 || groups.z == 0) return {};
    // hy-kernarg-1: the address of each binding, then the struct of constants.
    GfxMemory memory;
    memory.add_mapping(image->mapping());
    std::vector<std::byte> packed(8 * buffers.size() + info.constants_bytes);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const std::span<std::byte> bytes = buffers[i]->bytes();
      const auto address = reinterpret_cast<std::uint64_t>(bytes.data());
      memory.add_mapping({address, address + bytes.size(), bytes.data(), true});
      std::memcpy(&packed[8 * i], &address, 8);
    }
    for (std::size_t i = 0; i < constants.size(); ++i) {
      std::memcpy(&packed[8 * buffers.size() + info.constants[i].offset], constants[i].data(),
                  constants[i].size());
    }
    gfx::Options options;
    options.strict = is_strict;
    options.seed = 7;
    gfx::Launch launch;
    const auto found = loaded.code->find_kernel(kernel);
    if (!found) return error(StatusCode::kInternal, "no kernel {}", kernel);
    launch.kernel = *found;
    launch.grid = {static_cast<std::uint32_t>(groups.x), static_cast<std::uint32_t>(groups.y),
                   static_cast<std::uint32_t>(groups.z)};
    launch.block = info.workgroup_size;
    launch.arguments = packed;
    launch.image_address = image->address;
    const gfx::Outcome outcome = gfx::run(*loaded.code, launch, memory, options);
    if (outcome.kind != gfx::OutcomeKind::kOk) {
      return error(StatusCode::kInternal, "{}", outcome.message);
    }
    for (const gfx::Finding& finding : outcome.findings) {
      return error(StatusCode::kInternal, "{}", finding.message);
    }
    return {};
  }

  static inline const bool is_strict = std::getenv("HALYARD_GFX_STRICT") != nullptr;
  kernel::Hyx hyx;
  gfx::Loaded loaded;
  std::unique_ptr<GfxImage> image;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<HostMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<GfxKernels>(file);
}
std::size_t device_loop_rounds() { return std::numeric_limits<std::size_t>::max(); }

}  // namespace halyard::testing
