// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VK_KHR_external_semaphore_fd for timelines of one VkDevice, which lavapipe lacks: an imported
// VkSemaphore represents the exported VkSemaphore. Thread-safe.
#pragma once

#include <vector>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

namespace halyard::vulkan::testing {

// The semaphore that has the payload of this one: itself, if it was not imported.
VkSemaphore payload_of(VkSemaphore semaphore);
// Returns a new descriptor of its payload, or -1 if no descriptor is left.
int export_payload(VkSemaphore semaphore);
// Closes the descriptor. Returns false, and does not close it, if it names no payload.
bool import_payload(VkSemaphore semaphore, int descriptor);
// Returns the semaphores to destroy now: `semaphore`, unless imports of it exist, and its payload
// if that was destroyed before and this was its last import.
std::vector<VkSemaphore> forget_semaphore(VkSemaphore semaphore);

}  // namespace halyard::vulkan::testing
