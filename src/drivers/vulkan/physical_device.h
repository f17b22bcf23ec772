// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: properties of one Vulkan device, and the requirements of Halyard that it lacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/vulkan/functions.h"
#include "halyard/base/result.h"
#include "halyard/hal/limits.h"

namespace halyard::inline v0::vulkan {

// The usage of all buffers of this driver.
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
  // The device and its driver, as pipeline caches identify them.
  std::uint32_t vendor = 0, device = 0, driver_version = 0;
  std::uint8_t cache_uuid[VK_UUID_SIZE] = {};
  // The requirements that the device lacks, such as "timelineSemaphore, bufferDeviceAddress". If
  // empty, it can be opened.
  std::string lacks;

  VkPhysicalDeviceLimits limits{};
  VkPhysicalDeviceMemoryProperties memory{};
  std::uint64_t max_buffer_size = 0;
  std::uint64_t memory_size = 0;           // of the heaps that are the device's own
  std::uint64_t import_alignment = 0;      // of host memory; 0: the extension is missing
  std::uint32_t max_push_descriptors = 0;  // 0: no foreign kernels
  bool calibrated_timestamps = false;      // of its own clock and the host's
  // What the device supports for buffers with memory of each kind: VkExternalMemoryFeatureFlagBits.
  VkExternalMemoryFeatureFlags by_descriptor = 0;  // an opaque file descriptor
  VkExternalSemaphoreFeatureFlags timelines_by_descriptor = 0;
  VkExternalMemoryFeatureFlags of_host = 0;  // memory of the host
  bool is_cpu = false;                       // VK_PHYSICAL_DEVICE_TYPE_CPU: lavapipe
  // Elements of 8 and 16 bits in buffers: storageBuffer8BitAccess, storageBuffer16BitAccess.
  bool stores_8_bits = false, stores_16_bits = false;
  // The builtin kernels can copy single bytes (stores_8_bits), and are faster than recording again.
  // False on a CPU: lavapipe records a copy in 0.3 us, and its kernel takes 100 times as long as
  // memcpy.
  bool copies_by_kernel = false;
  // Whether a wait with VK_SEMAPHORE_WAIT_ANY_BIT sleeps. If not, it keeps a core busy.
  bool sleeps_for_any = true;
  QueueFamily compute;  // without graphics, if there is such a family
  QueueFamily copy;     // neither compute nor graphics, or the same as `compute`
};

// All devices of the instance.
Result<std::vector<PhysicalDevice>> find_physical_devices(const Functions& vk, VkInstance instance);

hal::DeviceLimits limits_of(const PhysicalDevice& device) noexcept;

}  // namespace halyard::inline v0::vulkan
