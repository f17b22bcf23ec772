// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Vulkan that this driver calls, loaded when it starts. Each function that can
// fail is called through the seam base::native_call, with a call site named after the function.
//
//     if (VkResult result = vk.vkCreateBuffer(device, &info, nullptr, &buffer); ...)
//
// Names, parameters and results are Vulkan's own:
// https://registry.khronos.org/vulkan/specs/1.3-extensions/html/vkspec.html
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include "base/native_call.h"

namespace halyard::inline v0::vulkan {

// X(function, an error that it may return). Functions of the loader, which need no instance:
#define HALYARD_VULKAN_LOADER(X)                      \
  X(vkCreateInstance, VK_ERROR_INITIALIZATION_FAILED) \
  X(vkEnumerateInstanceVersion, VK_ERROR_OUT_OF_HOST_MEMORY)

#define HALYARD_VULKAN_INSTANCE(X)                                     \
  X(vkCreateDevice, VK_ERROR_INITIALIZATION_FAILED)                    \
  X(vkEnumerateDeviceExtensionProperties, VK_ERROR_OUT_OF_HOST_MEMORY) \
  X(vkEnumeratePhysicalDevices, VK_ERROR_INITIALIZATION_FAILED)

#define HALYARD_VULKAN_DEVICE(X)                              \
  X(vkAllocateCommandBuffers, VK_ERROR_OUT_OF_DEVICE_MEMORY)  \
  X(vkAllocateMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY)          \
  X(vkBeginCommandBuffer, VK_ERROR_OUT_OF_HOST_MEMORY)        \
  X(vkBindBufferMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY)        \
  X(vkCreateBuffer, VK_ERROR_OUT_OF_DEVICE_MEMORY)            \
  X(vkCreateCommandPool, VK_ERROR_OUT_OF_DEVICE_MEMORY)       \
  X(vkCreateComputePipelines, VK_ERROR_OUT_OF_DEVICE_MEMORY)  \
  X(vkCreateDescriptorSetLayout, VK_ERROR_OUT_OF_HOST_MEMORY) \
  X(vkCreatePipelineCache, VK_ERROR_OUT_OF_HOST_MEMORY)       \
  X(vkCreatePipelineLayout, VK_ERROR_OUT_OF_HOST_MEMORY)      \
  X(vkCreateQueryPool, VK_ERROR_OUT_OF_DEVICE_MEMORY)         \
  X(vkCreateSemaphore, VK_ERROR_OUT_OF_DEVICE_MEMORY)         \
  X(vkCreateShaderModule, VK_ERROR_OUT_OF_HOST_MEMORY)        \
  X(vkDeviceWaitIdle, VK_ERROR_DEVICE_LOST)                   \
  X(vkEndCommandBuffer, VK_ERROR_OUT_OF_DEVICE_MEMORY)        \
  X(vkGetPipelineCacheData, VK_ERROR_OUT_OF_HOST_MEMORY)      \
  X(vkGetQueryPoolResults, VK_ERROR_DEVICE_LOST)              \
  X(vkGetSemaphoreCounterValue, VK_ERROR_DEVICE_LOST)         \
  X(vkMapMemory, VK_ERROR_MEMORY_MAP_FAILED)                  \
  X(vkQueueSubmit2, VK_ERROR_DEVICE_LOST)                     \
  X(vkSignalSemaphore, VK_ERROR_OUT_OF_HOST_MEMORY)           \
  X(vkWaitSemaphores, VK_ERROR_DEVICE_LOST)

// Functions of extensions; null without them.
#define HALYARD_VULKAN_EXTENSIONS(X)                           \
  X(vkGetMemoryFdKHR, VK_ERROR_TOO_MANY_OBJECTS)               \
  X(vkGetSemaphoreFdKHR, VK_ERROR_TOO_MANY_OBJECTS)            \
  X(vkImportSemaphoreFdKHR, VK_ERROR_INVALID_EXTERNAL_HANDLE)  \
  X(vkGetCalibratedTimestampsEXT, VK_ERROR_OUT_OF_HOST_MEMORY) \
  X(vkGetMemoryHostPointerPropertiesEXT, VK_ERROR_INVALID_EXTERNAL_HANDLE)

// Functions of the instance for a device extension; null without it.
#define HALYARD_VULKAN_INSTANCE_EXTENSIONS(X) \
  X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT, VK_ERROR_OUT_OF_HOST_MEMORY)

// X(function). These functions neither fail nor block.
#define HALYARD_VULKAN_INSTANCE_VOID(X)             \
  X(vkDestroyInstance)                              \
  X(vkGetDeviceProcAddr)                            \
  X(vkGetPhysicalDeviceExternalSemaphoreProperties) \
  X(vkGetPhysicalDeviceExternalBufferProperties)    \
  X(vkGetPhysicalDeviceFeatures2)                   \
  X(vkGetPhysicalDeviceMemoryProperties)            \
  X(vkGetPhysicalDeviceProperties2)                 \
  X(vkGetPhysicalDeviceQueueFamilyProperties)

#define HALYARD_VULKAN_DEVICE_VOID(X) \
  X(vkCmdBindPipeline)                \
  X(vkCmdCopyBuffer)                  \
  X(vkCmdDispatch)                    \
  X(vkCmdDispatchIndirect)            \
  X(vkCmdFillBuffer)                  \
  X(vkCmdPipelineBarrier2)            \
  X(vkCmdPushConstants)               \
  X(vkCmdWriteTimestamp2)             \
  X(vkDestroyBuffer)                  \
  X(vkDestroyCommandPool)             \
  X(vkDestroyDescriptorSetLayout)     \
  X(vkDestroyDevice)                  \
  X(vkDestroyPipeline)                \
  X(vkDestroyPipelineCache)           \
  X(vkDestroyPipelineLayout)          \
  X(vkDestroyQueryPool)               \
  X(vkDestroySemaphore)               \
  X(vkDestroyShaderModule)            \
  X(vkFreeCommandBuffers)             \
  X(vkFreeMemory)                     \
  X(vkGetBufferDeviceAddress)         \
  X(vkGetBufferMemoryRequirements)    \
  X(vkGetDeviceQueue)                 \
  X(vkResetQueryPool)

#define HALYARD_VULKAN_EXTENSIONS_VOID(X) X(vkCmdPushDescriptorSetKHR)

// The call site of each function that can fail; functions.cpp lists them.
namespace call_site {
#define HALYARD_VULKAN_SITE(function, error) \
  inline constexpr base::CallSite function{"vulkan." #function, error, base::Failing::kCode};
HALYARD_VULKAN_LOADER(HALYARD_VULKAN_SITE)
HALYARD_VULKAN_INSTANCE(HALYARD_VULKAN_SITE)
HALYARD_VULKAN_DEVICE(HALYARD_VULKAN_SITE)
HALYARD_VULKAN_EXTENSIONS(HALYARD_VULKAN_SITE)
HALYARD_VULKAN_INSTANCE_EXTENSIONS(HALYARD_VULKAN_SITE)
#undef HALYARD_VULKAN_SITE
}  // namespace call_site

// A function that can fail, called through the seam.
template <class Pointer, const base::CallSite& kSite>
struct Function {
  Pointer pointer = nullptr;

  template <class... Arguments>
  VkResult operator()(Arguments... arguments) const noexcept {
    return base::native_call(kSite, [&]() noexcept { return pointer(arguments...); });
  }
};

// The table of all functions. Loaded once, constant afterwards.
struct Functions {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
#define HALYARD_VULKAN_MEMBER(function, error) \
  Function<PFN_##function, call_site::function> function;
#define HALYARD_VULKAN_MEMBER_VOID(function) PFN_##function function = nullptr;
  HALYARD_VULKAN_LOADER(HALYARD_VULKAN_MEMBER)
  HALYARD_VULKAN_INSTANCE(HALYARD_VULKAN_MEMBER)
  HALYARD_VULKAN_DEVICE(HALYARD_VULKAN_MEMBER)
  HALYARD_VULKAN_EXTENSIONS(HALYARD_VULKAN_MEMBER)
  HALYARD_VULKAN_INSTANCE_EXTENSIONS(HALYARD_VULKAN_MEMBER)
  HALYARD_VULKAN_INSTANCE_VOID(HALYARD_VULKAN_MEMBER_VOID)
  HALYARD_VULKAN_DEVICE_VOID(HALYARD_VULKAN_MEMBER_VOID)
  HALYARD_VULKAN_EXTENSIONS_VOID(HALYARD_VULKAN_MEMBER_VOID)
#undef HALYARD_VULKAN_MEMBER
#undef HALYARD_VULKAN_MEMBER_VOID

  // Each loads its group, and returns the name of the first missing function, or null. Functions of
  // extensions may be missing.
  const char* load_loader(PFN_vkGetInstanceProcAddr get) noexcept;
  const char* load_instance(VkInstance instance) noexcept;
  const char* load_device(VkDevice device) noexcept;
};

}  // namespace halyard::inline v0::vulkan
