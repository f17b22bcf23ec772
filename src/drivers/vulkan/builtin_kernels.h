// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BuiltinKernels: copies and fills as dispatches, kernels/*.comp. They read where they work from
// an argument block, so a command buffer that is replayed names no buffer. For any address and
// size.
//
// A build without glslang has none. PhysicalDevice::copies_by_kernel says where they are used.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "drivers/vulkan/functions.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::vulkan {

class NativeDevice;

// What kernels/block.glsl reads, and behind it the groups of a vkCmdDispatchIndirect.
struct BuiltinBlock {
  VkDeviceAddress target = 0;
  VkDeviceAddress source = 0;
  std::uint64_t size = 0;
  std::uint32_t pattern = 0;
  std::uint32_t groups[3] = {0, 1, 1};
};

// The groups, in x, for a target of that size at any address.
std::uint32_t builtin_groups(std::uint64_t size) noexcept;

class BuiltinKernels {
 public:
  static bool in_this_build() noexcept;

  // Makes the pipelines, once; later calls do nothing. Errors as Executable::prepare. Precondition:
  // in_this_build(), and the device copies by kernel.
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
