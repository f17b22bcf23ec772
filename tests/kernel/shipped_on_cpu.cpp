// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels on a cpu device, through the HAL.
#include <chrono>
#include <limits>
#include <vector>

#include "kernel/shipped_device.h"

namespace halyard::testing {
namespace {

// A single object for the process, which ends while its threads run.
const hal::Device& device() {
  static struct Process {
    ~Process() {
      device = {};
      check(hal::shutdown(std::chrono::seconds(20)));
    }
    hal::Device device = hal::open("cpu://?workers=2").value();
  } process;
  return process.device;
}

struct CpuMemory final : DeviceMemory {
  explicit CpuMemory(std::size_t size)
      : buffer(device().allocate({.size = size, .memory = hal::MemoryType::kHostVisible}).value()),
        mapping(buffer.map().value()) {}
  std::span<std::byte> bytes() const override {
    const auto all = mapping.as<std::byte>();
    return {all.data(), all.size()};
  }

  hal::Buffer buffer;
  hal::Mapping mapping;
};

struct LoadedKernels final : DeviceKernels {
  explicit LoadedKernels(std::string_view file)
      : executable(device().load(HALYARD_KERNELS_DIR + std::string(file) + ".hyx").value()) {}

  Status run(std::string_view kernel, const hal::Grid::Extent& groups,
             hal::View<const DeviceMemory*> buffers, hal::View<hal::Constant> constants) override {
    std::vector<hal::BufferRange> bindings;
    for (const DeviceMemory* memory : buffers) {
      bindings.emplace_back(static_cast<const CpuMemory*>(memory)->buffer);
    }
    const hal::Semaphore done = device().create_semaphore().value();
    const Status submitted =
        device().queue().dispatch(executable.function(kernel).value(), {.groups = groups}, bindings,
                                  constants, {.signal = {{done, 1}}});
    return submitted.ok() ? done.wait(1, std::chrono::seconds(60)) : submitted;
  }

  hal::Executable executable;
};

}  // namespace

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes) {
  return std::make_unique<CpuMemory>(bytes);
}
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file) {
  return std::make_unique<LoadedKernels>(file);
}
std::size_t device_loop_rounds() { return std::numeric_limits<std::size_t>::max(); }

}  // namespace halyard::testing
