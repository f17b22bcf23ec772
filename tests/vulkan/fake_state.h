// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State shared by the loader's sources: the functions of libvulkan.so.1, the choices of a test, and
// records about handles.
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "vulkan/fake_vulkan.h"

namespace halyard::vulkan::testing {

inline FakeVulkan fake;

inline bool lacks(std::string_view what) {
  const char* const name = fake.lacks.load();
  return name != nullptr && what == name;
}

inline bool in_program = false;  // in a program that does not know this library

inline void violate(const char* what) {
  if (in_program) {
    std::fprintf(stderr, "VIOLATION: %s\n", what);
    std::abort();
  }
  fake.violation = what;
  ++fake.violations;
}

// The functions of libvulkan.so.1 that are called here.
struct Next {
  PFN_vkGetInstanceProcAddr get = nullptr;
#define HALYARD_FAKE_NEXT(X)                        \
  X(vkCreateInstance)                               \
  X(vkEnumerateInstanceVersion)                     \
  X(vkEnumeratePhysicalDevices)                     \
  X(vkEnumerateDeviceExtensionProperties)           \
  X(vkGetPhysicalDeviceFeatures2)                   \
  X(vkGetPhysicalDeviceProperties2)                 \
  X(vkGetPhysicalDeviceMemoryProperties)            \
  X(vkGetPhysicalDeviceQueueFamilyProperties)       \
  X(vkCreateDevice)                                 \
  X(vkGetDeviceProcAddr)                            \
  X(vkGetDeviceQueue)                               \
  X(vkQueueSubmit2)                                 \
  X(vkWaitSemaphores)                               \
  X(vkGetSemaphoreCounterValue)                     \
  X(vkSignalSemaphore)                              \
  X(vkCreateSemaphore)                              \
  X(vkDestroySemaphore)                             \
  X(vkDestroyBuffer)                                \
  X(vkFreeMemory)                                   \
  X(vkDeviceWaitIdle)                               \
  X(vkCreateCommandPool)                            \
  X(vkDestroyCommandPool)                           \
  X(vkAllocateCommandBuffers)                       \
  X(vkFreeCommandBuffers)                           \
  X(vkBeginCommandBuffer)                           \
  X(vkEndCommandBuffer)                             \
  X(vkCmdResetQueryPool)                            \
  X(vkCmdBindPipeline)                              \
  X(vkCmdCopyBuffer)                                \
  X(vkCmdDispatch)                                  \
  X(vkCmdDispatchIndirect)                          \
  X(vkCmdFillBuffer)                                \
  X(vkCmdPipelineBarrier2)                          \
  X(vkCmdPushConstants)                             \
  X(vkGetQueryPoolResults)                          \
  X(vkCreateBuffer)                                 \
  X(vkGetBufferMemoryRequirements)                  \
  X(vkAllocateMemory)                               \
  X(vkGetPhysicalDeviceExternalSemaphoreProperties) \
  X(vkCreatePipelineCache)                          \
  X(vkBindBufferMemory)                             \
  X(vkMapMemory)                                    \
  X(vkGetCalibratedTimestampsEXT)                   \
  X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT) \
  X(vkGetPhysicalDeviceExternalBufferProperties)    \
  X(vkGetMemoryHostPointerPropertiesEXT)            \
  X(vkCreateShaderModule)                           \
  X(vkDestroyShaderModule)                          \
  X(vkCreatePipelineLayout)                         \
  X(vkDestroyPipelineLayout)                        \
  X(vkCreateDescriptorSetLayout)                    \
  X(vkDestroyDescriptorSetLayout)                   \
  X(vkCreateQueryPool)                              \
  X(vkDestroyQueryPool)                             \
  X(vkCreateComputePipelines)                       \
  X(vkDestroyPipeline)                              \
  X(vkDestroyDevice)
#define HALYARD_FAKE_MEMBER(function) PFN_##function function = nullptr;
  HALYARD_FAKE_NEXT(HALYARD_FAKE_MEMBER)
#undef HALYARD_FAKE_MEMBER

  void load(VkInstance instance) {
#define HALYARD_FAKE_LOAD(function)                                                  \
  if (const auto found = reinterpret_cast<PFN_##function>(get(instance, #function)); \
      found != nullptr) {                                                            \
    function = found;                                                                \
  }
    HALYARD_FAKE_NEXT(HALYARD_FAKE_LOAD)
#undef HALYARD_FAKE_LOAD
  }
};
inline Next next;

// While it lives, counts the allocations of Vulkan and of this library on this thread.
class Foreign {
 public:
  Foreign() : before_(count()) {}
  ~Foreign() { made += count() - before_; }
  static thread_local std::uint64_t made;

 private:
  static std::uint64_t count() {
    const auto counter = fake.count_allocations.load();
    return counter != nullptr ? counter() : 0;
  }
  const std::uint64_t before_;
};
inline constinit thread_local std::uint64_t Foreign::made = 0;

inline std::mutex mutex;  // guards the records about handles

// A command buffer, while it is recorded and afterwards.
struct Recorded {
  bool is_simultaneous = false;
  bool ends_with_barrier = false;
};
inline std::map<VkCommandBuffer, Recorded> recorded;

template <class... Others>
void note_command(VkCommandBuffer buffer, Others...) {
  const std::lock_guard lock(mutex);
  recorded[buffer].ends_with_barrier = false;
}

// A command of which only its allocations are of interest.
template <class F, F Next::*kFunction>
struct Noted;
template <class... Arguments, void (*Next::*kFunction)(Arguments...)>
struct Noted<void (*)(Arguments...), kFunction> {
  static void call(Arguments... arguments) {
    const Foreign foreign;
    note_command(arguments...);
    (next.*kFunction)(arguments...);
  }
};

// Objects that a device has made and that are not destroyed: buffers, memory, modules, layouts,
// pipelines and pools of queries.
inline std::map<VkDevice, std::int64_t> objects;

inline void note_objects(VkDevice device, std::int64_t more) {
  const std::lock_guard lock(mutex);
  objects[device] += more;
}

template <class F, F Next::*kFunction>
struct Counted;
template <class Info, class Handle,
          VkResult (*Next::*kFunction)(VkDevice, const Info*, const VkAllocationCallbacks*,
                                       Handle*)>
struct Counted<VkResult (*)(VkDevice, const Info*, const VkAllocationCallbacks*, Handle*),
               kFunction> {
  static VkResult call(VkDevice device, const Info* info, const VkAllocationCallbacks* allocator,
                       Handle* handle) {
    const VkResult result = (next.*kFunction)(device, info, allocator, handle);
    if (result == VK_SUCCESS) note_objects(device, 1);
    return result;
  }
};
template <class Handle,
          void (*Next::*kFunction)(VkDevice, Handle, const VkAllocationCallbacks*)>
struct Counted<void (*)(VkDevice, Handle, const VkAllocationCallbacks*), kFunction> {
  static void call(VkDevice device, Handle handle, const VkAllocationCallbacks* allocator) {
    if (handle != VK_NULL_HANDLE) note_objects(device, -1);
    (next.*kFunction)(device, handle, allocator);
  }
};

struct Point {
  VkDevice device = VK_NULL_HANDLE;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  std::uint64_t value = 0;
};
struct Pool {
  bool only_copies = false;
  const void* user = nullptr;  // the thread that records a buffer of it
};

inline std::multiset<VkSemaphore> waited_for;
inline std::map<VkSemaphore, VkDevice> waited_by_batches;  // since their device was idle
inline std::map<VkSemaphore, std::uint64_t> seen;          // by the driver
inline std::set<VkSemaphore> timelines;
inline std::set<VkSemaphore> exportable;
inline std::set<VkSemaphore> by_host;  // signalled by the host
inline std::map<VkCommandBuffer, std::vector<Point>> pending;
inline std::map<VkSemaphore, Point> last_batches;  // by the semaphore they signal
inline std::map<VkCommandBuffer, VkCommandPool> pool_of;
inline std::map<VkCommandPool, Pool> pools;
inline std::set<VkQueue> submitting;
inline std::map<VkQueue, VkDevice> devices;
inline std::mutex serial;     // held in submits and reads, if they are serialized
inline std::mutex one_queue;  // a discrete device's queues are one

inline const void* self() {
  static thread_local char it;
  return &it;
}

inline std::unique_lock<std::mutex> serialize() {
  return fake.serialized ? std::unique_lock(serial) : std::unique_lock<std::mutex>();
}

inline void rest() {
  const timespec time = {0, 200'000};
  nanosleep(&time, nullptr);
}

// ---- instances, physical devices, devices and memory: fake_device.cpp

VkResult create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                         VkInstance* instance);
VkResult enumerate_version(std::uint32_t* version);
VkResult enumerate_devices(VkInstance instance, std::uint32_t* count, VkPhysicalDevice* devices_);
VkResult enumerate_extensions(VkPhysicalDevice device, const char* layer, std::uint32_t* count,
                              VkExtensionProperties* out);
void get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features);
void get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties);
void get_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* memory);
void get_families(VkPhysicalDevice device, std::uint32_t* count, VkQueueFamilyProperties* out);
VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkDevice* device);
void get_queue(VkDevice device, std::uint32_t family, std::uint32_t index, VkQueue* queue);
VkResult create_buffer(VkDevice device, const VkBufferCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkBuffer* buffer);
void get_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs);
VkResult allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                         const VkAllocationCallbacks* allocator, VkDeviceMemory* memory);
VkResult create_cache(VkDevice device, const VkPipelineCacheCreateInfo* info,
                      const VkAllocationCallbacks* allocator, VkPipelineCache* cache);
VkResult bind_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset);
VkResult map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                    VkMemoryMapFlags flags, void** data);
void get_external(VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo* info,
                  VkExternalBufferProperties* out);
VkResult get_domains(VkPhysicalDevice device, std::uint32_t* count, VkTimeDomainEXT* out);
VkResult get_times(VkDevice device, std::uint32_t count, const VkCalibratedTimestampInfoEXT* infos,
                   std::uint64_t* times, std::uint64_t* deviation);
VkResult get_host_pointer(VkDevice device, VkExternalMemoryHandleTypeFlagBits type,
                          const void* pointer, VkMemoryHostPointerPropertiesEXT* out);

}  // namespace halyard::vulkan::testing
