// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BuiltinKernels: copies and fills as dispatches, kernels/*.comp. They read their addresses from an
// argument block, so a command buffer that is replayed names no buffer. They take any address and
// size.
//
// A build without glslang has none. Devices with PhysicalDevice::copies_by_kernel use them.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "drivers/vulkan/functions.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::vulkan {

class NativeDevice;

// The block that kernels/block.glsl reads, followed by the groups of a vkCmdDispatchIndirect.
struct BuiltinBlock {
  VkDeviceAddress target = 0;
  VkDeviceAddress source = 0;
  std::uint64_t size = 0;
  std::uint32_t pattern = 0;
  std::uint32_t groups[3] = {0, 1, 1};
};

// The number of groups, in x, for a target of that size at any address.
std::uint32_t builtin_groups(std::uint64_t size) noexcept;

class BuiltinKernels {
 public:
  static bool in_this_build() noexcept;

  // Creates the pipelines; later calls do nothing. Errors are those of Executable::prepare.
  // Precondition: in_this_build(), and the device has copies_by_kernel.
  Status prepare(NativeDevice& device);
  void destroy(const Functions& vk, VkDevice device) noexcept;

  // After prepare().
  VkPipeline copy() const noexcept { return copy_; }
  VkPipeline fill() const noexcept { return fill_; }

 private:
  base::Mutex mutex_;  // held by prepare(), which writes each once
  VkPipeline copy_ = VK_NULL_HANDLE;
  VkPipeline fill_ = VK_NULL_HANDLE;
};

}  // namespace halyard::inline v0::vulkan
