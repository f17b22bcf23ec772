// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/builtin_kernels.h"

#include <stdint.h>  // the generated headers name uint32_t

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/format.h"
#include "drivers/vulkan/native_device.h"
#ifdef HALYARD_VULKAN_KERNELS
#include "vulkan_copy.h"
#include "vulkan_fill.h"
#endif

namespace halyard::inline v0::vulkan {
namespace {

#ifdef HALYARD_VULKAN_KERNELS
constexpr std::span<const std::uint32_t> kCopy = kcopyWords, kFill = kfillWords;
#else
constexpr std::span<const std::uint32_t> kCopy, kFill;
#endif

static_assert(offsetof(BuiltinBlock, source) == 8 && offsetof(BuiltinBlock, size) == 16 &&
                  offsetof(BuiltinBlock, pattern) == 24 && sizeof(BuiltinBlock) == 40,
              "as in kernels/block.glsl");

Status make(NativeDevice& device, std::span<const std::uint32_t> words, VkPipeline& pipeline) {
  if (pipeline != VK_NULL_HANDLE) return {};
  const Functions& vk = device.vk();
  VkShaderModuleCreateInfo module = {};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = words.size_bytes();
  module.pCode = words.data();
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  info.layout = device.address_layout();
  HALYARD_RETURN_IF_ERROR(
      device.check(vk.vkCreateShaderModule(device.handle(), &module, nullptr, &info.stage.module),
                   "vkCreateShaderModule"));
  Status status =
      device.check(vk.vkCreateComputePipelines(device.handle(), VkPipelineCache{VK_NULL_HANDLE}, 1u,
                                               &info, nullptr, &pipeline),
                   "vkCreateComputePipelines");
  vk.vkDestroyShaderModule(device.handle(), info.stage.module, nullptr);
  return status;
}

}  // namespace

std::uint32_t builtin_groups(std::uint64_t size) noexcept {
  constexpr std::uint64_t kBytes = 64 * 16;  // of a group; kernels/block.glsl
  // Enough groups to fill a device. For a larger target the groups loop.
  constexpr std::uint64_t kMost = 8192;
  // The first 16 bytes may begin up to 15 bytes before the target.
  return size == 0 ? 0 : static_cast<std::uint32_t>(std::min((size + 14) / kBytes + 1, kMost));
}

bool BuiltinKernels::in_this_build() noexcept { return !kCopy.empty(); }

Status BuiltinKernels::prepare(NativeDevice& device) {
  base::LockGuard lock(mutex_);
  HALYARD_RETURN_IF_ERROR(make(device, kCopy, copy_));
  return make(device, kFill, fill_);
}

void BuiltinKernels::destroy(const Functions& vk, VkDevice device) noexcept {
  vk.vkDestroyPipeline(device, copy_, nullptr);
  vk.vkDestroyPipeline(device, fill_, nullptr);
}

}  // namespace halyard::inline v0::vulkan
