// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loader's reports of instances, devices and memory: without the removed features, and as a
// discrete device that lavapipe's device implements.
#include <algorithm>
#include <cstring>

#include "vulkan/fake_state.h"

namespace halyard::vulkan::testing {

VkResult create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                         VkInstance* instance) {
  if (lacks("drivers")) return VK_ERROR_INCOMPATIBLE_DRIVER;
  const VkResult result = next.vkCreateInstance(info, allocator, instance);
  if (result == VK_SUCCESS) next.load(*instance);
  return result;
}

VkResult enumerate_version(std::uint32_t* version) {
  const VkResult result = next.vkEnumerateInstanceVersion(version);
  if (lacks("loader 1.3")) *version = VK_API_VERSION_1_2;
  return result;
}

VkResult enumerate_devices(VkInstance instance, std::uint32_t* count, VkPhysicalDevice* devices_) {
  if (!lacks("devices")) return next.vkEnumeratePhysicalDevices(instance, count, devices_);
  *count = 0;
  return VK_SUCCESS;
}

VkResult enumerate_extensions(VkPhysicalDevice device, const char* layer, std::uint32_t* count,
                              VkExtensionProperties* out) {
  if (out != nullptr && fake.timelines_by_descriptor != 0) --*count;
  const VkResult result = next.vkEnumerateDeviceExtensionProperties(device, layer, count, out);
  if (out == nullptr && fake.timelines_by_descriptor != 0) ++*count;
  if (out == nullptr || result != VK_SUCCESS) return result;
  const auto end =
      std::remove_if(out, out + *count, [](const auto& each) { return lacks(each.extensionName); });
  *count = static_cast<std::uint32_t>(end - out);
  if (fake.timelines_by_descriptor != 0) {
    std::strcpy(out[*count].extensionName, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    ++*count;
  }
  return result;
}

namespace {

template <class T>
T* in_chain(void* chain, VkStructureType type) {
  for (auto* it = static_cast<VkBaseOutStructure*>(chain); it != nullptr; it = it->pNext) {
    if (it->sType == type) return reinterpret_cast<T*>(it);
  }
  return nullptr;
}

}  // namespace

void get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  next.vkGetPhysicalDeviceFeatures2(device, features);
  auto* const f12 = in_chain<VkPhysicalDeviceVulkan12Features>(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto* const f11 = in_chain<VkPhysicalDeviceVulkan11Features>(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  auto* const f13 = in_chain<VkPhysicalDeviceVulkan13Features>(
      features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  if (lacks("timelineSemaphore") && f12 != nullptr) f12->timelineSemaphore = VK_FALSE;
  if (lacks("bufferDeviceAddress") && f12 != nullptr) f12->bufferDeviceAddress = VK_FALSE;
  if (lacks("storageBuffer8BitAccess") && f12 != nullptr) f12->storageBuffer8BitAccess = VK_FALSE;
  if (lacks("storageBuffer16BitAccess") && f11 != nullptr) f11->storageBuffer16BitAccess = VK_FALSE;
  if (lacks("hostQueryReset") && f12 != nullptr) f12->hostQueryReset = VK_FALSE;
  if (lacks("synchronization2") && f13 != nullptr) f13->synchronization2 = VK_FALSE;
  if (lacks("shaderInt64")) features->features.shaderInt64 = VK_FALSE;
  if (lacks("shaderFloat64")) features->features.shaderFloat64 = VK_FALSE;
}

void get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  next.vkGetPhysicalDeviceProperties2(device, properties);
  if (fake.gpu) properties->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  if (fake.another_driver) properties->properties.pipelineCacheUUID[0] ^= 1;
  if (const std::uint32_t most = fake.max_groups; most != 0) {
    std::ranges::fill(properties->properties.limits.maxComputeWorkGroupCount, most);
  }
  if (const std::uint32_t most = fake.max_items; most != 0) {
    std::ranges::fill(properties->properties.limits.maxComputeWorkGroupSize, most);
  }
  if (lacks("Vulkan 1.3")) properties->properties.apiVersion = VK_API_VERSION_1_2;
  auto* const v12 = in_chain<VkPhysicalDeviceVulkan12Properties>(
      properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  if (v12 == nullptr) return;
  if (fake.sleeps_for_any) v12->driverID = VK_DRIVER_ID_MESA_RADV;
  if (lacks("shaderRoundingModeRTEFloat32")) v12->shaderRoundingModeRTEFloat32 = VK_FALSE;
  if (lacks("shaderSignedZeroInfNanPreserveFloat32")) {
    v12->shaderSignedZeroInfNanPreserveFloat32 = VK_FALSE;
  }
}

// ---- a discrete device over lavapipe's single queue and single type of memory

constexpr VkMemoryPropertyFlags kHost =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

void get_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory) {
  next.vkGetPhysicalDeviceMemoryProperties(device, memory);
  if (!fake.discrete) return;
  const VkDeviceSize size = memory->memoryHeaps[0].size;
  *memory = {};
  memory->memoryTypeCount = 3;
  memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  memory->memoryTypes[1] = {kHost, 1};
  memory->memoryTypes[2] = {kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 1};
  if (fake.has_bar) {
    memory->memoryTypeCount = 4;
    memory->memoryTypes[FakeVulkan::kBar] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kHost, 2};
    memory->memoryHeaps[2] = {size, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  }
  memory->memoryHeapCount = fake.has_bar ? 3 : 2;
  memory->memoryHeaps[0] = {size, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  memory->memoryHeaps[1] = {size, 0};
}

void get_families(VkPhysicalDevice device, std::uint32_t* count, VkQueueFamilyProperties* out) {
  if (!fake.discrete) return next.vkGetPhysicalDeviceQueueFamilyProperties(device, count, out);
  std::uint32_t one = 1;
  VkQueueFamilyProperties real = {};
  next.vkGetPhysicalDeviceQueueFamilyProperties(device, &one, &real);
  constexpr std::uint32_t kFamilies = 2;
  if (out != nullptr) {
    for (std::uint32_t i = 0; i < std::min(*count, kFamilies); ++i) out[i] = real;
    out[0].queueCount = 3;
    if (*count > 1) out[1].queueFlags = VK_QUEUE_TRANSFER_BIT;
    if (*count > 1 && lacks("timestamps of copies")) out[1].timestampValidBits = 0;
  }
  *count = kFamilies;
}

VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkDevice* device) {
  VkDeviceCreateInfo real = *info;
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  // This library implements the extension, not the device.
  if (fake.timelines_by_descriptor != 0) {
    std::erase_if(extensions, [](const char* name) {
      return std::string_view(name) == VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    });
  }
  real.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  real.ppEnabledExtensionNames = extensions.data();
  VkDeviceQueueCreateInfo queue = info->pQueueCreateInfos[0];
  if (fake.discrete) {
    queue.queueFamilyIndex = 0;
    queue.queueCount = 1;
    real.queueCreateInfoCount = 1;
    real.pQueueCreateInfos = &queue;
  }
  const VkDeviceQueueCreateInfo& first = info->pQueueCreateInfos[0];
  unsigned priorities = 0;
  for (std::uint32_t i = 0; i < first.queueCount; ++i) {
    priorities = 10 * priorities + static_cast<unsigned>(2 * first.pQueuePriorities[i]);
  }
  fake.priorities = priorities;
  return next.vkCreateDevice(physical, &real, allocator, device);
}

void get_queue(VkDevice device, std::uint32_t family, std::uint32_t index, VkQueue* queue) {
  if (fake.discrete) family = index = 0;
  next.vkGetDeviceQueue(device, family, index, queue);
  const std::lock_guard lock(mutex);
  devices[*queue] = device;
}

VkResult create_buffer(VkDevice device, const VkBufferCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkBuffer* buffer) {
  VkBufferCreateInfo real = *info;
  if (fake.discrete) {
    if (real.sharingMode != VK_SHARING_MODE_CONCURRENT) violate("a buffer of one family alone");
    real.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  }
  const VkResult result = next.vkCreateBuffer(device, &real, allocator, buffer);
  if (result == VK_SUCCESS) note_objects(device, 1);
  return result;
}

void get_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
  next.vkGetBufferMemoryRequirements(device, buffer, needs);
  if (fake.discrete) needs->memoryTypeBits = fake.has_bar ? 15 : 7;
  needs->size += fake.skew;
}

namespace {

const VkBaseInStructure* in_chain(const VkMemoryAllocateInfo* info, VkStructureType type) {
  const auto* it = static_cast<const VkBaseInStructure*>(info->pNext);
  while (it != nullptr && it->sType != type) it = it->pNext;
  return it;
}

bool is_shared(const VkMemoryAllocateInfo* info) {
  return in_chain(info, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO) != nullptr ||
         in_chain(info, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) != nullptr;
}

}  // namespace

VkResult allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                         const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
  VkMemoryAllocateInfo real = *info;
  fake.memory_type = info->memoryTypeIndex;
  if (fake.discrete) real.memoryTypeIndex = 0;
  if (fake.bar_is_full && info->memoryTypeIndex == FakeVulkan::kBar) {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  if (is_shared(info) &&
      (fake.by_descriptor & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0 &&
      fake.by_descriptor != FakeVulkan::kReal &&
      in_chain(info, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO) == nullptr) {
    violate("memory of a shared buffer that is not dedicated to it");
  }
  const VkResult result = next.vkAllocateMemory(device, &real, allocator, memory);
  if (result == VK_SUCCESS) note_objects(device, 1);
  return result;
}

VkResult create_cache(VkDevice device, const VkPipelineCacheCreateInfo* info,
                      const VkAllocationCallbacks* allocator, VkPipelineCache* cache) {
  fake.cached = info->initialDataSize;
  return next.vkCreatePipelineCache(device, info, allocator, cache);
}

VkResult bind_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
  return next.vkBindBufferMemory(device, buffer, memory, offset + fake.skew);
}

VkResult map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                    VkMemoryMapFlags flags, void** data) {
  const VkResult result = next.vkMapMemory(device, memory, offset, size, flags, data);
  if (result == VK_SUCCESS) *data = static_cast<char*>(*data) + fake.skew;
  return result;
}

void get_external(VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo* info,
                  VkExternalBufferProperties* out) {
  next.vkGetPhysicalDeviceExternalBufferProperties(device, info, out);
  if (info->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) {
    if (lacks("imported buffers")) out->externalMemoryProperties.externalMemoryFeatures = 0;
  } else if (fake.by_descriptor != FakeVulkan::kReal) {
    out->externalMemoryProperties.externalMemoryFeatures = fake.by_descriptor;
  }
}

VkResult get_domains(VkPhysicalDevice device, std::uint32_t* count, VkTimeDomainEXT* out) {
  const VkResult result = next.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(device, count, out);
  if (out == nullptr || result != VK_SUCCESS) return result;
  const auto end = std::remove_if(out, out + *count, [](VkTimeDomainEXT domain) {
    return (domain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT && lacks("the host's clock")) ||
           (domain == VK_TIME_DOMAIN_DEVICE_EXT && lacks("the device's clock"));
  });
  *count = static_cast<std::uint32_t>(end - out);
  return result;
}

VkResult get_times(VkDevice device, std::uint32_t count, const VkCalibratedTimestampInfoEXT* infos,
                   std::uint64_t* times, std::uint64_t* deviation) {
  const VkResult result = next.vkGetCalibratedTimestampsEXT(device, count, infos, times, deviation);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (infos[i].timeDomain == VK_TIME_DOMAIN_DEVICE_EXT) times[i] += fake.ticks_ahead;
  }
  return result;
}

VkResult get_host_pointer(VkDevice device, VkExternalMemoryHandleTypeFlagBits type,
                          const void* pointer, VkMemoryHostPointerPropertiesEXT* out) {
  const VkResult result = next.vkGetMemoryHostPointerPropertiesEXT(device, type, pointer, out);
  if (fake.discrete) out->memoryTypeBits = 6;
  if (lacks("types of host memory")) out->memoryTypeBits = 0;
  return result;
}

}  // namespace halyard::vulkan::testing
