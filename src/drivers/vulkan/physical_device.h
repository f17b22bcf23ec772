// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: what one device of Vulkan has, and what it lacks to be a device of Halyard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/vulkan/functions.h"
#include "halyard/base/result.h"
#include "halyard/hal/limits.h"

namespace halyard::inline v0::vulkan {

// Of all buffers of this driver.
inline constexpr VkBufferUsageFlags kBufferUsage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

// A family of queues that lanes are opened on.
struct QueueFamily {
  std::uint32_t index = 0;
  std::uint32_t queues = 0;          // at most kMostQueues
  std::uint32_t timestamp_bits = 0;  // 0: its queues write no timestamps
};

struct PhysicalDevice {
  static constexpr std::uint32_t kMostQueues = 16;  // of a family: NVIDIA's largest has 16

  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;
  // Of the device and its driver, as caches of pipelines have them.
  std::uint32_t vendor = 0, device = 0, driver_version = 0;
  std::uint8_t cache_uuid[VK_UUID_SIZE] = {};
  // What it lacks, in words: "timelineSemaphore, bufferDeviceAddress". Empty: it can be opened.
  std::string lacks;

  VkPhysicalDeviceLimits limits{};
  VkPhysicalDeviceMemoryProperties memory{};
  std::uint64_t max_buffer_size = 0;
  std::uint64_t memory_size = 0;           // of the heaps that are the device's own
  std::uint64_t import_alignment = 0;      // of host memory; 0: it lacks the extension
  std::uint32_t max_push_descriptors = 0;  // 0: no foreign kernels
  bool calibrated_timestamps = false;      // of its own clock and the host's
  // What it can do with buffers of that kind of memory: VkExternalMemoryFeatureFlagBits.
  VkExternalMemoryFeatureFlags by_descriptor = 0;  // an opaque file descriptor
  VkExternalSemaphoreFeatureFlags timelines_by_descriptor = 0;
  VkExternalMemoryFeatureFlags of_host = 0;  // memory of the host
  bool is_cpu = false;                       // VK_PHYSICAL_DEVICE_TYPE_CPU: lavapipe
  // Elements of 8 and 16 bits in buffers: storageBuffer8BitAccess, storageBuffer16BitAccess.
  bool stores_8_bits = false, stores_16_bits = false;
  // Its kernels may copy single bytes (stores_8_bits), and are worth more than recording again.
  // Not on a CPU: lavapipe records a copy in 0.3 us, and its kernel takes 100 times memcpy's time.
  bool copies_by_kernel = false;
  // VK_SEMAPHORE_WAIT_ANY_BIT sleeps. False: it keeps a core busy until one is reached.
  bool sleeps_for_any = true;
  QueueFamily compute;  // without graphics, if there is such a family
  QueueFamily copy;     // neither compute nor graphics; else the same as `compute`
};

// All devices of the instance.
Result<std::vector<PhysicalDevice>> find_physical_devices(const Functions& vk, VkInstance instance);

hal::DeviceLimits limits_of(const PhysicalDevice& device) noexcept;

}  // namespace halyard::inline v0::vulkan
