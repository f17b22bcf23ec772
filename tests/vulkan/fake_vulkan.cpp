// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "vulkan/fake_shared.h"
#include "vulkan/fake_state.h"

namespace halyard::vulkan::testing {
namespace {

// ---- command pools and buffers

VkResult create_pool(VkDevice device, const VkCommandPoolCreateInfo* info,
                     const VkAllocationCallbacks* allocator, VkCommandPool* pool) {
  VkCommandPoolCreateInfo real = *info;
  if (fake.discrete) real.queueFamilyIndex = 0;
  const VkResult result = next.vkCreateCommandPool(device, &real, allocator, pool);
  const std::lock_guard lock(mutex);
  if (result == VK_SUCCESS) pools[*pool] = {.only_copies = info->queueFamilyIndex == 1};
  return result;
}

void wait_for(const Point& point) {
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &point.semaphore;
  info.pValues = &point.value;
  (void)next.vkWaitSemaphores(point.device, &info, 10'000'000'000);
}

// Under `mutex`. A program may destroy the objects of a lost device (section 5.2.3). The real
// device under this loader is not lost and still uses them.
void end_lost_work(VkDevice device) {
  if (!fake.was_lost) return;
  for (const auto& [semaphore, point] : last_batches) {
    if (point.device == device) wait_for(point);
  }
}

template <class Handle, void (*Next::*kDestroy)(VkDevice, Handle, const VkAllocationCallbacks*)>
void destroy_used_by_work(VkDevice device, Handle handle, const VkAllocationCallbacks* allocator) {
  {
    const std::lock_guard lock(mutex);
    end_lost_work(device);
  }
  if (handle != VK_NULL_HANDLE) note_objects(device, -1);
  (next.*kDestroy)(device, handle, allocator);
}

// Under `mutex`. Judges by the counters that the driver has seen or could read.
void check_not_pending(VkCommandBuffer buffer, const char* what) {
  for (const Point& point : pending[buffer]) {
    std::uint64_t value = seen[point.semaphore];
    if (!fake.frozen) {
      (void)next.vkGetSemaphoreCounterValue(point.device, point.semaphore, &value);
    }
    if (value >= point.value) continue;
    if (!fake.was_lost) {
      violate(what);
      continue;
    }
    wait_for(point);
  }
  pending.erase(buffer);
}

// Under `mutex`.
Pool& use_pool(VkCommandPool pool) {
  Pool& used = pools[pool];
  if (used.user != nullptr && used.user != self()) violate("a command pool used by two threads");
  return used;
}

void destroy_pool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks* allocator) {
  {
    const std::lock_guard lock(mutex);
    for (auto it = pool_of.begin(); it != pool_of.end();) {
      if (it->second != pool) {
        ++it;
        continue;
      }
      check_not_pending(it->first, "a pending command buffer destroyed");
      it = pool_of.erase(it);
    }
    pools.erase(pool);
  }
  next.vkDestroyCommandPool(device, pool, allocator);
}

VkResult allocate_buffers(VkDevice device, const VkCommandBufferAllocateInfo* info,
                          VkCommandBuffer* buffers) {
  {
    const std::lock_guard lock(mutex);
    (void)use_pool(info->commandPool);
  }
  const VkResult result = next.vkAllocateCommandBuffers(device, info, buffers);
  const std::lock_guard lock(mutex);
  for (std::uint32_t i = 0; i < info->commandBufferCount && result == VK_SUCCESS; ++i) {
    pool_of[buffers[i]] = info->commandPool;
  }
  return result;
}

void free_buffers(VkDevice device, VkCommandPool pool, std::uint32_t count,
                  const VkCommandBuffer* buffers) {
  {
    const std::lock_guard lock(mutex);
    (void)use_pool(pool);
    for (std::uint32_t i = 0; i < count; ++i) {
      check_not_pending(buffers[i], "a pending command buffer freed");
      pool_of.erase(buffers[i]);
    }
  }
  next.vkFreeCommandBuffers(device, pool, count, buffers);
}

VkResult begin(VkCommandBuffer buffer, const VkCommandBufferBeginInfo* info) {
  const Foreign foreign;
  {
    const std::lock_guard lock(mutex);
    use_pool(pool_of[buffer]).user = self();
    check_not_pending(buffer, "a pending command buffer begun");
    recorded[buffer] = {.is_simultaneous =
                            (info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0};
  }
  return next.vkBeginCommandBuffer(buffer, info);
}

VkResult end(VkCommandBuffer buffer) {
  const Foreign foreign;
  const VkResult result = next.vkEndCommandBuffer(buffer);
  const std::lock_guard lock(mutex);
  use_pool(pool_of[buffer]).user = nullptr;
  if (!recorded[buffer].ends_with_barrier) violate("a command buffer without a barrier at its end");
  return result;
}

void barrier(VkCommandBuffer buffer, const VkDependencyInfo* info) {
  const Foreign foreign;
  ++fake.barriers;
  {
    const VkMemoryBarrier2& it = info->pMemoryBarriers[0];
    const auto has = [](VkFlags64 flags, VkFlags64 all) { return (flags & all) == all; };
    const std::lock_guard lock(mutex);
    recorded[buffer].ends_with_barrier =
        has(it.srcStageMask, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT) &&
        has(it.srcAccessMask, VK_ACCESS_2_MEMORY_WRITE_BIT) &&
        has(it.dstStageMask, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT) &&
        has(it.dstAccessMask, VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT);
  }
  next.vkCmdPipelineBarrier2(buffer, info);
}

void dispatch(VkCommandBuffer buffer, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const Foreign foreign;
  ++fake.dispatches;
  note_command(buffer);
  next.vkCmdDispatch(buffer, x, y, z);
}

void dispatch_indirect(VkCommandBuffer buffer, VkBuffer counts, VkDeviceSize offset) {
  const Foreign foreign;
  ++fake.dispatches;
  note_command(buffer);
  next.vkCmdDispatchIndirect(buffer, counts, offset);
}

void reset_queries(VkCommandBuffer buffer, VkQueryPool queries, std::uint32_t first,
                   std::uint32_t count) {
  {
    const std::lock_guard lock(mutex);
    if (pools[pool_of[buffer]].only_copies) violate("queries reset on a queue that only copies");
  }
  next.vkCmdResetQueryPool(buffer, queries, first, count);
}

// ---- time

void check_stages(const VkSemaphoreSubmitInfo* points, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (points[i].stageMask != VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT) {
      violate("a semaphore that does not order all commands");
    }
  }
}

VkResult submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo2* submits, VkFence fence) {
  const Foreign foreign;
  if (fake.lost) return VK_ERROR_DEVICE_LOST;
  const auto lock_all = serialize();
  const auto lock_queue =
      fake.discrete ? std::unique_lock(one_queue) : std::unique_lock<std::mutex>();
  {
    const std::lock_guard lock(mutex);
    if (!submitting.insert(queue).second) violate("a queue used by two threads");
    for (std::uint32_t i = 0; i < count; ++i) {
      check_stages(submits[i].pWaitSemaphoreInfos, submits[i].waitSemaphoreInfoCount);
      for (std::uint32_t k = 0; k < submits[i].waitSemaphoreInfoCount; ++k) {
        waited_by_batches[submits[i].pWaitSemaphoreInfos[k].semaphore] = devices[queue];
      }
      check_stages(submits[i].pSignalSemaphoreInfos, submits[i].signalSemaphoreInfoCount);
      for (std::uint32_t k = 0; k < submits[i].commandBufferInfoCount; ++k) {
        const VkCommandBuffer buffer = submits[i].pCommandBufferInfos[k].commandBuffer;
        if (!recorded[buffer].is_simultaneous) {
          check_not_pending(buffer, "a pending command buffer submitted");
        }
        std::vector<Point>& points = pending[submits[i].pCommandBufferInfos[k].commandBuffer];
        const VkSemaphoreSubmitInfo& signalled = submits[i].pSignalSemaphoreInfos[0];
        if (points.size() > 8) points.erase(points.begin());
        points.push_back({devices[queue], signalled.semaphore, signalled.value});
      }
    }
  }
  fake.submits += count;
  const VkResult result = next.vkQueueSubmit2(queue, count, submits, fence);
  for (std::uint32_t i = 0; i < count && fake.synchronous && result == VK_SUCCESS; ++i) {
    wait_for({devices[queue], submits[i].pSignalSemaphoreInfos[0].semaphore,
              submits[i].pSignalSemaphoreInfos[0].value});
  }
  const std::lock_guard lock(mutex);
  for (std::uint32_t i = 0; i < count && result == VK_SUCCESS; ++i) {
    const VkSemaphoreSubmitInfo& signalled = submits[i].pSignalSemaphoreInfos[0];
    last_batches[signalled.semaphore] = {devices[queue], signalled.semaphore, signalled.value};
  }
  submitting.erase(queue);
  return result;
}

VkResult read(VkDevice device, VkSemaphore handle, std::uint64_t* value) {
  const Foreign foreign;
  const VkSemaphore semaphore = payload_of(handle);
  if (fake.lost) return VK_ERROR_DEVICE_LOST;
  if (fake.slow) {
    for (int i = 0; i < 20; ++i) rest();
  }
  const auto lock_all = serialize();
  const std::lock_guard lock(mutex);
  if (!timelines.contains(handle)) {
    violate("a semaphore read that is destroyed");
    *value = 0;
    return VK_SUCCESS;
  }
  if (fake.frozen && !by_host.contains(semaphore)) {
    *value = seen[semaphore];
    return VK_SUCCESS;
  }
  const VkResult result = next.vkGetSemaphoreCounterValue(device, semaphore, value);
  if (result == VK_SUCCESS) seen[semaphore] = *value;
  return result;
}

// Whether a wait ends now.
bool is_reached(const VkSemaphoreWaitInfo& info, VkDevice device) {
  const std::lock_guard lock(mutex);
  std::uint32_t reached = 0;
  for (std::uint32_t i = 0; i < info.semaphoreCount; ++i) {
    std::uint64_t value = seen[info.pSemaphores[i]];
    if (!fake.frozen || by_host.contains(info.pSemaphores[i])) {
      (void)next.vkGetSemaphoreCounterValue(device, info.pSemaphores[i], &value);
    }
    reached += value >= info.pValues[i];
  }
  return (info.flags & VK_SEMAPHORE_WAIT_ANY_BIT) != 0 ? reached != 0
                                                       : reached == info.semaphoreCount;
}

VkResult wait(VkDevice device, const VkSemaphoreWaitInfo* given, std::uint64_t timeout) {
  const Foreign foreign;
  // The driver waits for a shared timeline with no other semaphore in the same call.
  if (given->semaphoreCount == 0) {
    violate("a wait for no semaphore");
    return VK_SUCCESS;
  }
  VkSemaphoreWaitInfo payload = *given;
  const VkSemaphore first = payload_of(given->pSemaphores[0]);
  if (given->semaphoreCount == 1) payload.pSemaphores = &first;
  const VkSemaphoreWaitInfo* const info = &payload;
  {
    const std::lock_guard lock(mutex);
    for (std::uint32_t i = 0; i < info->semaphoreCount; ++i) {
      waited_for.insert(info->pSemaphores[i]);
    }
  }
  const bool any = (info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) != 0;
  if (any) fake.watched = info->semaphoreCount;
  constexpr std::uint64_t kSlice = 2'000'000;
  const bool for_ever = timeout == ~std::uint64_t{0};
  VkResult result = VK_TIMEOUT;
  for (std::uint64_t left = timeout; result == VK_TIMEOUT;) {
    if (fake.lost) {
      result = VK_ERROR_DEVICE_LOST;
    } else if (fake.frozen || (any && !fake.serialized)) {  // lavapipe's wait keeps a core busy
      if (is_reached(*info, device)) result = VK_SUCCESS;
      if (result == VK_TIMEOUT) rest();
    } else if (fake.serialized) {
      {
        const auto lock_all = serialize();
        result = next.vkWaitSemaphores(device, info, 0);
      }
      if (result == VK_TIMEOUT) rest();
    } else {
      result = next.vkWaitSemaphores(device, info, std::min(left, kSlice));
    }
    if (for_ever || result != VK_TIMEOUT) continue;
    if (left <= kSlice) break;
    left -= kSlice;
  }
  if (any) fake.watched = 0;
  const std::lock_guard lock(mutex);
  for (std::uint32_t i = 0; i < info->semaphoreCount; ++i) {
    waited_for.erase(waited_for.find(info->pSemaphores[i]));
  }
  return result;
}

VkResult signal(VkDevice device, const VkSemaphoreSignalInfo* info) {
  const Foreign foreign;
  VkSemaphoreSignalInfo payload = *info;
  payload.semaphore = payload_of(info->semaphore);
  const auto lock_all = serialize();
  {
    const std::lock_guard lock(mutex);
    by_host.insert(payload.semaphore);
  }
  return next.vkSignalSemaphore(device, &payload);
}

VkResult get_semaphore_descriptor(VkDevice, const VkSemaphoreGetFdInfoKHR* info, int* descriptor) {
  {
    const std::lock_guard lock(mutex);
    if (!exportable.contains(info->semaphore)) violate("a semaphore exported that was not made so");
  }
  *descriptor = export_payload(info->semaphore);
  return *descriptor >= 0 ? VK_SUCCESS : VK_ERROR_TOO_MANY_OBJECTS;
}

VkResult import_semaphore(VkDevice, const VkImportSemaphoreFdInfoKHR* info) {
  if (info->flags != 0) violate("a timeline imported for a while");
  return import_payload(info->semaphore, info->fd) ? VK_SUCCESS : VK_ERROR_INVALID_EXTERNAL_HANDLE;
}

void get_external_semaphore(VkPhysicalDevice device,
                            const VkPhysicalDeviceExternalSemaphoreInfo* info,
                            VkExternalSemaphoreProperties* out) {
  next.vkGetPhysicalDeviceExternalSemaphoreProperties(device, info, out);
  const auto* const type = static_cast<const VkSemaphoreTypeCreateInfo*>(info->pNext);
  // Binary semaphores are shared in other ways.
  const bool is_timeline = type != nullptr && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
  out->externalSemaphoreFeatures = is_timeline ? fake.timelines_by_descriptor.load() : 0;
}

VkResult create_semaphore(VkDevice device, const VkSemaphoreCreateInfo* info,
                          const VkAllocationCallbacks* allocator, VkSemaphore* semaphore) {
  VkSemaphoreCreateInfo real = *info;
  VkSemaphoreTypeCreateInfo type = *static_cast<const VkSemaphoreTypeCreateInfo*>(info->pNext);
  const bool is_exportable = type.pNext != nullptr;
  type.pNext = nullptr;
  real.pNext = &type;
  const VkResult result = next.vkCreateSemaphore(device, &real, allocator, semaphore);
  if (result == VK_SUCCESS) {
    const std::lock_guard lock(mutex);
    if (is_exportable) exportable.insert(*semaphore);
    timelines.insert(*semaphore);
    seen.erase(*semaphore);
    by_host.erase(*semaphore);
    fake.device = device;
    fake.semaphore = *semaphore;
  }
  return result;
}

void destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                       const VkAllocationCallbacks* allocator) {
  const auto lock_all = serialize();
  {
    const std::lock_guard lock(mutex);
    if (waited_for.contains(semaphore)) violate("a semaphore destroyed that a thread waits for");
    end_lost_work(device);
    const auto waited = waited_by_batches.find(semaphore);
    if (waited != waited_by_batches.end()) {
      if (!fake.sleeps_for_any) violate("a semaphore destroyed that Mesa's thread may still use");
      (void)next.vkDeviceWaitIdle(device);  // for that thread, whatever the driver believes
      waited_by_batches.erase(waited);
    }
    timelines.erase(semaphore);
    exportable.erase(semaphore);
    seen.erase(semaphore);
    by_host.erase(semaphore);
    last_batches.erase(semaphore);
    // A batch that signals it later was pending for it.
    for (auto& [buffer, points] : pending) {
      std::erase_if(points, [&](const Point& point) { return point.semaphore == semaphore; });
    }
  }
  for (const VkSemaphore each : forget_semaphore(semaphore)) {
    next.vkDestroySemaphore(device, each, allocator);
  }
}

VkResult wait_idle(VkDevice device) {
  const auto lock_all = serialize();
  const VkResult result = next.vkDeviceWaitIdle(device);
  const std::lock_guard lock(mutex);
  std::erase_if(waited_by_batches, [&](const auto& each) { return each.second == device; });
  return fake.lost ? VK_ERROR_DEVICE_LOST : result;
}

VkResult get_queries(VkDevice device, VkQueryPool pool, std::uint32_t first, std::uint32_t count,
                     std::size_t size, void* data, VkDeviceSize stride, VkQueryResultFlags flags) {
  if (fake.lost) return VK_ERROR_DEVICE_LOST;
  return next.vkGetQueryPoolResults(device, pool, first, count, size, data, stride, flags);
}

VkResult create_pipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                          const VkComputePipelineCreateInfo* infos,
                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const VkResult result =
      next.vkCreateComputePipelines(device, cache, count, infos, allocator, pipelines);
  if (result == VK_SUCCESS) note_objects(device, count);
  return result;
}

// VUID-vkDestroyDevice-device-05137
void destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  {
    const std::lock_guard lock(mutex);
    if (objects[device] != 0) violate("a device destroyed before what it has made");
    objects.erase(device);
  }
  next.vkDestroyDevice(device, allocator);
}

// ---- the loader

PFN_vkVoidFunction get_device_address(VkDevice device, const char* name);

struct Row {
  const char* name;
  PFN_vkVoidFunction function;
};
#define HALYARD_FAKE_ROW(name, function) \
  { #name, reinterpret_cast < PFN_vkVoidFunction>(static_cast <PFN_##name>(function)) }

#define HALYARD_FAKE_COUNTED(name) \
  HALYARD_FAKE_ROW(name, (Counted<PFN_##name, &Next::name>::call))
#define HALYARD_FAKE_NOTED(name) HALYARD_FAKE_ROW(name, (Noted<PFN_##name, &Next::name>::call))

const Row kRows[] = {
    HALYARD_FAKE_NOTED(vkCmdBindPipeline),
    HALYARD_FAKE_NOTED(vkCmdCopyBuffer),
    HALYARD_FAKE_ROW(vkCmdDispatch, dispatch),
    HALYARD_FAKE_ROW(vkCmdDispatchIndirect, dispatch_indirect),
    HALYARD_FAKE_NOTED(vkCmdFillBuffer),
    HALYARD_FAKE_ROW(vkCmdPipelineBarrier2, barrier),
    HALYARD_FAKE_NOTED(vkCmdPushConstants),
    HALYARD_FAKE_ROW(vkCreateInstance, create_instance),
    HALYARD_FAKE_ROW(vkEnumerateInstanceVersion, enumerate_version),
    HALYARD_FAKE_ROW(vkEnumeratePhysicalDevices, enumerate_devices),
    HALYARD_FAKE_ROW(vkEnumerateDeviceExtensionProperties, enumerate_extensions),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceFeatures2, get_features),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceProperties2, get_properties),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceMemoryProperties, get_memory),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceQueueFamilyProperties, get_families),
    HALYARD_FAKE_ROW(vkCreateDevice, create_device),
    HALYARD_FAKE_ROW(vkGetDeviceProcAddr, get_device_address),
    HALYARD_FAKE_ROW(vkGetDeviceQueue, get_queue),
    HALYARD_FAKE_ROW(vkQueueSubmit2, submit),
    HALYARD_FAKE_ROW(vkWaitSemaphores, wait),
    HALYARD_FAKE_ROW(vkGetSemaphoreCounterValue, read),
    HALYARD_FAKE_ROW(vkSignalSemaphore, signal),
    HALYARD_FAKE_ROW(vkCreateSemaphore, create_semaphore),
    HALYARD_FAKE_ROW(vkDestroySemaphore, destroy_semaphore),
    HALYARD_FAKE_ROW(vkDeviceWaitIdle, wait_idle),
    HALYARD_FAKE_ROW(vkCreateCommandPool, create_pool),
    HALYARD_FAKE_ROW(vkDestroyCommandPool, destroy_pool),
    HALYARD_FAKE_ROW(vkAllocateCommandBuffers, allocate_buffers),
    HALYARD_FAKE_ROW(vkFreeCommandBuffers, free_buffers),
    HALYARD_FAKE_ROW(vkBeginCommandBuffer, begin),
    HALYARD_FAKE_ROW(vkEndCommandBuffer, end),
    HALYARD_FAKE_ROW(vkCmdResetQueryPool, reset_queries),
    HALYARD_FAKE_ROW(vkGetQueryPoolResults, get_queries),
    HALYARD_FAKE_ROW(vkCreateBuffer, create_buffer),
    HALYARD_FAKE_ROW(vkDestroyBuffer, (destroy_used_by_work<VkBuffer, &Next::vkDestroyBuffer>)),
    HALYARD_FAKE_ROW(vkFreeMemory, (destroy_used_by_work<VkDeviceMemory, &Next::vkFreeMemory>)),
    HALYARD_FAKE_ROW(vkGetBufferMemoryRequirements, get_requirements),
    HALYARD_FAKE_ROW(vkAllocateMemory, allocate_memory),
    HALYARD_FAKE_ROW(vkBindBufferMemory, bind_memory),
    HALYARD_FAKE_ROW(vkCreatePipelineCache, create_cache),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceExternalSemaphoreProperties, get_external_semaphore),
    HALYARD_FAKE_ROW(vkGetSemaphoreFdKHR, get_semaphore_descriptor),
    HALYARD_FAKE_ROW(vkImportSemaphoreFdKHR, import_semaphore),
    HALYARD_FAKE_ROW(vkMapMemory, map_memory),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceExternalBufferProperties, get_external),
    HALYARD_FAKE_ROW(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT, get_domains),
    HALYARD_FAKE_ROW(vkGetCalibratedTimestampsEXT, get_times),
    HALYARD_FAKE_ROW(vkGetMemoryHostPointerPropertiesEXT, get_host_pointer),
    HALYARD_FAKE_COUNTED(vkCreateShaderModule),
    HALYARD_FAKE_COUNTED(vkDestroyShaderModule),
    HALYARD_FAKE_COUNTED(vkCreatePipelineLayout),
    HALYARD_FAKE_COUNTED(vkDestroyPipelineLayout),
    HALYARD_FAKE_COUNTED(vkCreateDescriptorSetLayout),
    HALYARD_FAKE_COUNTED(vkDestroyDescriptorSetLayout),
    HALYARD_FAKE_COUNTED(vkCreateQueryPool),
    HALYARD_FAKE_COUNTED(vkDestroyQueryPool),
    HALYARD_FAKE_ROW(vkCreateComputePipelines, create_pipelines),
    HALYARD_FAKE_COUNTED(vkDestroyPipeline),
    HALYARD_FAKE_ROW(vkDestroyDevice, destroy_device),
};

PFN_vkVoidFunction own(const char* name, PFN_vkVoidFunction real) {
  const auto* const row = std::ranges::find_if(
      kRows, [&](const Row& each) { return std::strcmp(each.name, name) == 0; });
  const bool is_own =
      fake.timelines_by_descriptor != 0 && (std::strcmp(name, "vkGetSemaphoreFdKHR") == 0 ||
                                            std::strcmp(name, "vkImportSemaphoreFdKHR") == 0);
  return row != std::end(kRows) && (real != nullptr || is_own) ? row->function : real;
}

PFN_vkVoidFunction get_device_address(VkDevice device, const char* name) {
  return own(name, next.vkGetDeviceProcAddr(device, name));
}

VkResult signal_as_device(VkDevice device, VkSemaphore semaphore, std::uint64_t value) {
  VkSemaphoreSignalInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
  info.semaphore = semaphore;
  info.value = value;
  return next.vkSignalSemaphore(device, &info);
}

[[gnu::constructor]] void open() {
  void* const loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (loader == nullptr) return;
  // If lavapipe can read the processor's caches, as on AMD's processors, it keeps a list of them
  // until the process ends. The loader would unload lavapipe before that, and leak checkers would
  // report the list.
  (void)dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  next.get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
  next.load(VK_NULL_HANDLE);
  fake.signal = signal_as_device;
  fake.foreign_here = [] { return Foreign::made; };
  const char* const modes = std::getenv("HALYARD_FAKE_VULKAN");
  if (modes == nullptr) return;
  in_program = std::strstr(modes, "program") != nullptr;
  fake.discrete = std::strstr(modes, "discrete") != nullptr;
  fake.sleeps_for_any = fake.discrete.load();
  fake.gpu = fake.discrete || std::strstr(modes, "gpu") != nullptr;
  if (std::strstr(modes, "shares") != nullptr) {
    fake.timelines_by_descriptor =
        VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
  }
  fake.serialized = std::strstr(modes, "serialized") != nullptr;
  fake.synchronous = std::strstr(modes, "synchronous") != nullptr;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] FakeVulkan* halyard_fake_vulkan() { return &fake; }

extern "C" [[gnu::visibility("default")]] PFN_vkVoidFunction vkGetInstanceProcAddr(
    VkInstance instance, const char* name) {
  return next.get != nullptr ? own(name, next.get(instance, name)) : nullptr;
}

}  // namespace halyard::vulkan::testing
