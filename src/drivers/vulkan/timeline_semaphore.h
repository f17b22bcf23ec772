// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates a timeline VkSemaphore: https://registry.khronos.org/vulkan/specs/1.3/html/chap7.html
#pragma once

#include "drivers/vulkan/functions.h"
#include "drivers/vulkan/native_device.h"

namespace halyard::inline v0::vulkan {

// Of value 0. kResourceExhausted, kDeviceLost.
inline Status create_timeline(NativeDevice& device, VkSemaphore& semaphore) {
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  return device.check(device.vk().vkCreateSemaphore(device.handle(), &info, nullptr, &semaphore),
                      "vkCreateSemaphore");
}

}  // namespace halyard::inline v0::vulkan
