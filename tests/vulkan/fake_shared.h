// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VK_KHR_external_semaphore_fd for timelines of one VkDevice, which lavapipe lacks: an imported
// VkSemaphore stands for the one that was exported. Thread-safe.
#pragma once

#include <vector>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

namespace halyard::vulkan::testing {

// The semaphore that has the payload of this one: itself, if it was not imported.
VkSemaphore payload_of(VkSemaphore semaphore);
// A new descriptor of its payload; -1: none is left.
int export_payload(VkSemaphore semaphore);
// False: the descriptor names no payload. Else the descriptor is closed.
bool import_payload(VkSemaphore semaphore, int descriptor);
// What is destroyed with this one: itself, unless others stand for it still.
std::vector<VkSemaphore> forget_semaphore(VkSemaphore semaphore);

}  // namespace halyard::vulkan::testing
