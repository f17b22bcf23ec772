// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/physical_device.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/format.h"
#include "drivers/vulkan/error.h"
#include "drivers/vulkan/lane.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::vulkan {
namespace {

// Calls functions that return first a count and then the elements. The count may grow between the
// two calls.
template <class T, class F>
Result<std::vector<T>> list(const char* call, F&& get) {
  std::vector<T> all;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    std::uint32_t count = 0;
    HALYARD_RETURN_IF_ERROR(to_status(get(&count, static_cast<T*>(nullptr)), call));
    all.resize(count);
    result = get(&count, all.data());
    all.resize(count);
  }
  HALYARD_RETURN_IF_ERROR(to_status(result, call));
  return all;
}

void find_queues(const Functions& vk, PhysicalDevice& device) {
  std::uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  // The first family with the flags `has` and without `lacks`.
  const auto find = [&](VkQueueFlags has, VkQueueFlags lacks, QueueFamily& found) {
    for (std::uint32_t i = 0; i < count && found.queues == 0; ++i) {
      const VkQueueFamilyProperties& family = families[i];
      if ((family.queueFlags & has) != has || (family.queueFlags & lacks) != 0) continue;
      found = {.index = i,
               .queues = std::min(family.queueCount, PhysicalDevice::kMostQueues),
               .timestamp_bits = family.timestampValidBits};
    }
  };
  find(VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT, device.compute);
  find(VK_QUEUE_COMPUTE_BIT, 0, device.compute);
  find(VK_QUEUE_TRANSFER_BIT, VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT, device.copy);
  if (device.copy.queues == 0) device.copy = device.compute;
}

void find_memory(const Functions& vk, PhysicalDevice& device) {
  vk.vkGetPhysicalDeviceMemoryProperties(device.handle, &device.memory);
  for (std::uint32_t i = 0; i < device.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = device.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) device.memory_size += heap.size;
  }
}

// Tests whether the device's clock and base::Clock::steady can be read together.
Status find_clocks(const Functions& vk, PhysicalDevice& device) {
  if (vk.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT.pointer == nullptr) return {};
  HALYARD_ASSIGN_OR_RETURN(
      const std::vector<VkTimeDomainEXT> domains,
      list<VkTimeDomainEXT>("vkGetPhysicalDeviceCalibrateableTimeDomainsEXT",
                            [&](std::uint32_t* count, VkTimeDomainEXT* out) {
                              return vk.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(
                                  device.handle, count, out);
                            }));
  const auto has = [&](VkTimeDomainEXT domain) {
    return std::ranges::find(domains, domain) != domains.end();
  };
  device.calibrated_timestamps =
      has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
  return {};
}

VkExternalMemoryFeatureFlags external_features(const Functions& vk, VkPhysicalDevice device,
                                               VkExternalMemoryHandleTypeFlagBits type) {
  VkPhysicalDeviceExternalBufferInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
  info.usage = kBufferUsage;
  info.handleType = type;
  VkExternalBufferProperties found = {};
  found.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
  vk.vkGetPhysicalDeviceExternalBufferProperties(device, &info, &found);
  return found.externalMemoryProperties.externalMemoryFeatures;
}

// The device's support for timelines as opaque file descriptors.
VkExternalSemaphoreFeatureFlags timeline_features(const Functions& vk, VkPhysicalDevice device) {
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkPhysicalDeviceExternalSemaphoreInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO;
  info.pNext = &type;
  info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
  VkExternalSemaphoreProperties found = {};
  found.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES;
  vk.vkGetPhysicalDeviceExternalSemaphoreProperties(device, &info, &found);
  return found.externalSemaphoreFeatures;
}

Status describe(const Functions& vk, PhysicalDevice& device) {
  const auto lacks = [&](bool has, std::string_view what) {
    if (!has) base::append(device.lacks, "{}{}", device.lacks.empty() ? "" : ", ", what);
  };
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  vk.vkGetPhysicalDeviceProperties2(device.handle, &properties);
  device.name = properties.properties.deviceName;
  device.limits = properties.properties.limits;
  device.vendor = properties.properties.vendorID;
  device.device = properties.properties.deviceID;
  device.driver_version = properties.properties.driverVersion;
  std::ranges::copy(properties.properties.pipelineCacheUUID, device.cache_uuid);
  find_queues(vk, device);
  find_memory(vk, device);
  const std::uint32_t version = properties.properties.apiVersion;
  if (version < VK_API_VERSION_1_3) {
    lacks(false, base::format("Vulkan 1.3 (it has {}.{})", VK_API_VERSION_MAJOR(version),
                              VK_API_VERSION_MINOR(version)));
    return {};  // it does not know structures of 1.3
  }

  HALYARD_ASSIGN_OR_RETURN(const std::vector<VkExtensionProperties> extensions,
                           list<VkExtensionProperties>(
                               "vkEnumerateDeviceExtensionProperties",
                               [&](std::uint32_t* count, VkExtensionProperties* out) {
                                 return vk.vkEnumerateDeviceExtensionProperties(
                                     device.handle, static_cast<const char*>(nullptr), count, out);
                               }));
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(extensions,
                               [&](const auto& each) { return name == each.extensionName; });
  };
  if (has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) && device.compute.timestamp_bits != 0) {
    HALYARD_RETURN_IF_ERROR(find_clocks(vk, device));
  }
  if (has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
    device.by_descriptor =
        external_features(vk, device.handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
  }
  if (has(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)) {
    device.timelines_by_descriptor = timeline_features(vk, device.handle);
  }
  if (has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    device.of_host = external_features(vk, device.handle,
                                       VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT);
  }

  // A structure of an extension that the device lacks may not be in the chain.
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {};
  host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
  VkPhysicalDevicePushDescriptorPropertiesKHR push = {};
  push.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR;
  VkPhysicalDeviceVulkan13Properties v13 = {};
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  VkPhysicalDeviceVulkan12Properties v12 = {};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  v12.pNext = &v13;
  VkPhysicalDeviceVulkan11Properties v11 = {};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v11.pNext = &v12;
  void** last = &v13.pNext;
  if (has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    *last = &host;
    last = &host.pNext;
  }
  if (has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) {
    *last = &push;
    last = &push.pNext;
  }
  properties.pNext = &v11;
  vk.vkGetPhysicalDeviceProperties2(device.handle, &properties);
  device.import_alignment = host.minImportedHostPointerAlignment;
  device.max_push_descriptors = push.maxPushDescriptors;
  // If Mesa emulates timelines (vk_sync_timeline), a wait for any of several semaphores is a
  // polling loop.
  device.sleeps_for_any = v12.driverID != VK_DRIVER_ID_MESA_LLVMPIPE;
  device.max_buffer_size = std::min(v13.maxBufferSize, v11.maxMemoryAllocationSize);

  VkPhysicalDeviceVulkan13Features f13 = {};
  f13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  VkPhysicalDeviceVulkan12Features f12 = {};
  f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  f12.pNext = &f13;
  VkPhysicalDeviceVulkan11Features f11 = {};
  f11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  f11.pNext = &f12;
  VkPhysicalDeviceFeatures2 features = {};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &f11;
  vk.vkGetPhysicalDeviceFeatures2(device.handle, &features);
  device.stores_8_bits = f12.storageBuffer8BitAccess == VK_TRUE;
  device.stores_16_bits = f11.storageBuffer16BitAccess == VK_TRUE;
  device.is_cpu = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  device.copies_by_kernel = device.stores_8_bits && !device.is_cpu;
  lacks(device.compute.queues != 0, "a queue for compute");
  lacks(f12.timelineSemaphore == VK_TRUE, "timelineSemaphore");
  lacks(f12.bufferDeviceAddress == VK_TRUE, "bufferDeviceAddress");
  lacks(f12.hostQueryReset == VK_TRUE, "hostQueryReset");
  lacks(f13.synchronization2 == VK_TRUE, "synchronization2");
  // kernel/device_abi.h: every target rounds to nearest and keeps signed zeros, infinities, NaNs.
  lacks(v12.shaderRoundingModeRTEFloat32 == VK_TRUE, "shaderRoundingModeRTEFloat32");
  lacks(v12.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE,
        "shaderSignedZeroInfNanPreserveFloat32");
  return {};
}

}  // namespace

Result<std::vector<PhysicalDevice>> find_physical_devices(const Functions& vk,
                                                          VkInstance instance) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> handles,
                           list<VkPhysicalDevice>("vkEnumeratePhysicalDevices",
                                                  [&](std::uint32_t* count, VkPhysicalDevice* out) {
                                                    return vk.vkEnumeratePhysicalDevices(
                                                        instance, count, out);
                                                  }));
  std::vector<PhysicalDevice> devices(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    devices[i].handle = handles[i];
    HALYARD_RETURN_IF_ERROR(describe(vk, devices[i]));
  }
  return devices;
}

hal::DeviceLimits limits_of(const PhysicalDevice& device) noexcept {
  const VkPhysicalDeviceLimits& limits = device.limits;
  hal::DeviceLimits result;
  result.max_buffer_size = device.max_buffer_size;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, result.max_groups);
  result.max_workgroup_items =
      std::min<std::uint32_t>(limits.maxComputeWorkGroupInvocations, kernel::kMaxWorkgroupItems);
  result.max_shared_bytes =
      std::min<std::uint32_t>(limits.maxComputeSharedMemorySize, kernel::kMaxSharedBytes);
  result.max_bindings = kernel::kMaxBindings;
  result.max_constants_bytes = kernel::kMaxConstantsBytes;
  result.max_in_flight = kMaxInFlight;
  return result;
}

}  // namespace halyard::inline v0::vulkan
