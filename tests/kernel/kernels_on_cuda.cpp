// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels of tests on the simulated library of CUDA, through the HAL.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "drivers/cuda/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "kernel/kernel_test_util.h"

namespace halyard::testing {
namespace {

hal::Constant constant_of(kernel::ElementType type, const std::byte* at) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return hal::Constant(value);
  };
  return type == kernel::ElementType::kFloat32   ? read(float{})
         : type == kernel::ElementType::kFloat64 ? read(double{})
         : type == kernel::ElementType::kInt32   ? read(std::int32_t{})
                                                 : read(std::uint32_t{});
}

// Copies the test's memory to the device for each launch, and back.
class CudaKernels final : public HostKernels {
 public:
  explicit CudaKernels(kernel::Hyx file) : HostKernels(std::move(file)) {
    setenv("HALYARD_CUDA_LIBRARY", HALYARD_SIM_CUDA_LIBRARY, 1);
    check(cuda::register_cuda_driver(registry_));
    device_ = registry_.open("cuda://0?cache=0").value();
    executable_ = device_.load(hyx().bytes(), hyx().name()).value();
  }

  void run(std::string_view kernel, const Groups& groups, const std::vector<HostMemory>& buffers,
           const void* constants, std::size_t) const override {
    const kernel::KernelInfo& info = *hyx().find(kernel).value();
    std::vector<hal::Buffer> copies;
    std::vector<hal::BufferRange> bindings;
    for (const HostMemory& buffer : buffers) {
      copies.push_back(
          device_.allocate({.size = buffer.bytes.size(), .memory = hal::MemoryType::kHostVisible})
              .value());
      std::ranges::copy(buffer.bytes, copies.back().map().value().bytes().begin());
      bindings.emplace_back(copies.back());
    }
    std::vector<hal::Constant> values;
    for (const kernel::ConstantInfo& each : info.constants) {
      values.push_back(
          constant_of(each.type, static_cast<const std::byte*>(constants) + each.offset));
    }
    const hal::Semaphore done = device_.create_semaphore().value();
    const auto count = [&](int d) { return static_cast<std::uint32_t>(groups[d]); };
    check(device_.queue().dispatch(executable_.function(kernel).value(),
                                   {.groups = {count(0), count(1), count(2)}}, bindings, values,
                                   {.signal = {{done, 1}}}));
    check(done.wait(1, kForever));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (info.bindings[i].access == kernel::Access::kRead) continue;
      std::ranges::copy(copies[i].map().value().bytes(), buffers[i].data());
    }
  }

 private:
  hal::DriverRegistry registry_;
  hal::Device device_;
  hal::Executable executable_;
};

}  // namespace

std::string tested_target() { return "ptx-sm_80"; }

std::unique_ptr<HostKernels> load_kernels(kernel::Hyx hyx) {
  return std::make_unique<CudaKernels>(std::move(hyx));
}

}  // namespace halyard::testing
