// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates a timeline VkSemaphore: https://registry.khronos.org/vulkan/specs/1.3/html/chap7.html
#pragma once

#include <cstdint>

#include "drivers/vulkan/functions.h"
#include "drivers/vulkan/native_device.h"

namespace halyard::inline v0::vulkan {

// `exported`: the handle types for export, or 0. Returns kResourceExhausted or kDeviceLost.
inline Status create_timeline(NativeDevice& device, VkSemaphore& semaphore,
                              std::uint64_t initial = 0,
                              VkExternalSemaphoreHandleTypeFlags exported = 0) {
  VkExportSemaphoreCreateInfo by_descriptor = {};
  by_descriptor.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;
  by_descriptor.handleTypes = exported;
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.pNext = exported != 0 ? &by_descriptor : nullptr;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  type.initialValue = initial;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  return device.check(device.vk().vkCreateSemaphore(device.handle(), &info, nullptr, &semaphore),
                      "vkCreateSemaphore");
}

}  // namespace halyard::inline v0::vulkan
