// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device that the tests of shipped kernels run on. A program links one definition of it:
// shipped_on_cpu.cpp, which goes through the HAL, or shipped_on_vulkan.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "halyard/halyard.h"

namespace halyard::testing {

// Mapped while it exists.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::span<std::byte> bytes() const = 0;
};

class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;
  // Runs the kernel and returns at its end. The buffers come from device_memory().
  virtual Status run(std::string_view kernel, const hal::Grid::Extent& groups,
                     hal::View<const DeviceMemory*> buffers,
                     hal::View<hal::Constant> constants) = 0;
};

std::unique_ptr<DeviceMemory> device_memory(std::size_t bytes);
// `file` is the shipped file's name without its folder and ending.
std::unique_ptr<DeviceKernels> device_kernels(std::string_view file);
// The largest number of loop iterations of an item in a launch, all its loops together.
std::size_t device_loop_rounds();

}  // namespace halyard::testing
