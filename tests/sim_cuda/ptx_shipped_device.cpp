// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels as PTX, executed by the simulation.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "base/format.h"
#include "kernel/device_abi.h"
#include "kernel/hyx.h"
#include "kernel/shipped_device.h"
#include "sim_cuda/ptx_test_util.h"

namespace halyard::testing {
namespace {

struct HostMemory final : DeviceMemory {
  explicit HostMemory(std::size_t size) : host(size) {}
  std::span<std::byte> bytes() const override { return host; }
  mutable std::vector<std::byte> host;
};

struct PtxKernels final : DeviceKernels {
  explicit PtxKernels(std::string_view file)
      : hyx(kernel::Hyx::read(HALYARD_PTX_KERNELS_DIR + std::string(file) + ".hyx").value()) {
    for (const kernel::ImageInfo& image : hyx.images()) {
      if (!image.target.starts_with("ptx-")) continue;
      const std::string_view text(reinterpret_cast<const char*>(image.bytes.data()),
                                  image.bytes.size());
      parsed = ptx::Module::parse(text);
    }
  }

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    if (parsed.module == nullptr) return error(StatusCode::kInternal, "{}", parsed.log);
    const kernel::KernelInfo& info = *hyx.find(kernel).value();
    if (groups.x == 0 || groups.y == 0 || groups.z == 0) return {};
    // hy-kernarg-1: the address of each binding, then the struct of constants.
    PtxModule copy(parsed);
    std::vector<std::byte> packed(8 * buffers.size() + info.constants_bytes);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const std::span<std::byte> bytes = buffers[i]->bytes();
      const auto address = reinterpret_cast<std::uint64_t>(bytes.data());
      copy.memory.add_mapping({address, address + bytes.size(), bytes.data(), true});
      std::memcpy(&packed[8 * i], &address, 8);
    }
    for (std::size_t i = 0; i < constants.size(); ++i) {
      std::memcpy(&packed[8 * buffers.size() + info.constants[i].offset], constants[i].data(),
                  constants[i].size());
    }
    ptx::Options options;
    options.strict = is_strict;
    options.seed = 7;
    const ptx::Outcome outcome =
        copy.run(kernel,
                 {static_cast<std::uint32_t>(groups.x), static_cast<std::uint32_t>(groups.y),
                  static_cast<std::uint32_t>(groups.z)},
                 info.workgroup_size, packed, options);
    if (outcome.kind != ptx::OutcomeKind::kOk) {
      return error(StatusCode::kInternal, "{}", outcome.message);
    }
    for (const ptx::Finding& finding : outcome.findings) {
      return error(StatusCode::kInternal, "{}", finding.message);
    }
    return {};
  }

  static inline const bool is_strict = std::getenv("HALYARD_PTX_STRICT") != nullptr;
  kernel::Hyx hyx;
  ptx::Parsed parsed;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<HostMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<PtxKernels>(file);
}
std::size_t device_loop_rounds() { return std::numeric_limits<std::size_t>::max(); }

}  // namespace halyard::testing
