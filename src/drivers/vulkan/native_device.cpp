// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/native_device.h"

#include <algorithm>
#include <new>

#include "base/format.h"
#include "drivers/vulkan/error.h"

namespace halyard::inline v0::vulkan {
namespace {

using hal::QueuePriority;

// With three or more queues, the first has high priority and the last has low priority.
QueuePriority priority_of(std::uint32_t queue, std::uint32_t count) noexcept {
  if (count < 3) return QueuePriority::kNormal;
  return queue == 0           ? QueuePriority::kHigh
         : queue == count - 1 ? QueuePriority::kLow
                              : QueuePriority::kNormal;
}

constexpr float kNativePriority[] = {0.0f, 0.5f, 1.0f};  // by QueuePriority

}  // namespace

Result<HandleRef<NativeDevice>> OpenDevices::get(const Ref<Library>& library, unsigned ordinal) {
  const PhysicalDevice& physical = library->devices()[ordinal];
  if (!physical.lacks.empty()) {
    return error(StatusCode::kUnavailable, "vulkan: {} lacks {}", physical.name, physical.lacks);
  }
  HandleRef<NativeDevice> device;
  {
    base::LockGuard lock(mutex_);
    devices_.resize(library->devices().size());
    NativeDevice* const open = devices_[ordinal];
    if (open != nullptr && open->retain_handle_if_any()) {
      device = HandleRef<NativeDevice>(open);
      open->release_handle();  // device has its own
    }
  }
  if (device) {
    if (!device->lost()) return device;
    return error(StatusCode::kUnavailable,
                 "vulkan: {} is lost; it can be opened again once its devices are closed",
                 physical.name);
  }
  auto fresh = Ref<NativeDevice>::adopt(new (std::nothrow) NativeDevice(library, physical));
  if (!fresh) return error(StatusCode::kResourceExhausted, "vulkan: no memory for a device");
  HALYARD_RETURN_IF_ERROR(fresh->create());
  HALYARD_RETURN_IF_ERROR(fresh->open_queues());
  HALYARD_RETURN_IF_ERROR(fresh->create_pools());
  HALYARD_RETURN_IF_ERROR(fresh->notifier_.start());
  base::LockGuard lock(mutex_);
  fresh->open_in_ = this;
  devices_[ordinal] = fresh.get();
  return HandleRef<NativeDevice>(fresh.get());
}

void NativeDevice::on_last_handle() noexcept {
  if (open_in_ != nullptr) {
    base::LockGuard lock(open_in_->mutex_);
    std::ranges::replace(open_in_->devices_, this, nullptr);
  }
  notifier_.stop();
}

NativeDevice::~NativeDevice() {
  notifier_.stop();
  if (handle_ == VK_NULL_HANDLE) return;
  if (!retired_.empty()) (void)vk_.vkDeviceWaitIdle(handle_);
  for (const VkSemaphore semaphore : retired_) vk_.vkDestroySemaphore(handle_, semaphore, nullptr);
  pipeline_cache_.close(*this);
  builtins_.destroy(vk_, handle_);
  vk_.vkDestroyCommandPool(handle_, recording_pool_, nullptr);
  vk_.vkDestroyPipelineLayout(handle_, address_layout_, nullptr);
  vk_.vkDestroyDevice(handle_, nullptr);
}

Status NativeDevice::create() {
  const QueueFamily families[] = {physical_.compute, physical_.copy};
  float priorities[2][PhysicalDevice::kMostQueues];
  VkDeviceQueueCreateInfo queues[2] = {};
  for (std::uint32_t i = 0; i < family_count(); ++i) {
    for (std::uint32_t k = 0; k < families[i].queues; ++k) {
      priorities[i][k] = kNativePriority[static_cast<int>(priority_of(k, families[i].queues))];
    }
    queues[i].sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queues[i].queueFamilyIndex = families[i].index;
    queues[i].queueCount = families[i].queues;
    queues[i].pQueuePriorities = priorities[i];
  }
  const char* extensions[5];
  std::uint32_t extension_count = 0;
  if (physical_.import_alignment != 0) {
    extensions[extension_count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
  }
  if (physical_.max_push_descriptors != 0) {
    extensions[extension_count++] = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
  }
  if (physical_.by_descriptor != 0) {
    extensions[extension_count++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
  }
  if (physical_.timelines_by_descriptor != 0) {
    extensions[extension_count++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
  }
  if (physical_.calibrated_timestamps) {
    extensions[extension_count++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
  }
  VkPhysicalDeviceVulkan13Features f13 = {};
  f13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  f13.synchronization2 = VK_TRUE;
  VkPhysicalDeviceVulkan12Features f12 = {};
  f12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  f12.pNext = &f13;
  f12.storageBuffer8BitAccess = physical_.stores_8_bits ? VK_TRUE : VK_FALSE;
  f12.timelineSemaphore = VK_TRUE;
  f12.hostQueryReset = VK_TRUE;
  f12.bufferDeviceAddress = VK_TRUE;
  VkPhysicalDeviceVulkan11Features f11 = {};
  f11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  f11.pNext = &f12;
  f11.storageBuffer16BitAccess = physical_.stores_16_bits ? VK_TRUE : VK_FALSE;
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &f11;
  info.queueCreateInfoCount = family_count();
  info.pQueueCreateInfos = queues;
  info.enabledExtensionCount = extension_count;
  info.ppEnabledExtensionNames = extensions;
  HALYARD_RETURN_IF_ERROR(
      check(vk_.vkCreateDevice(physical_.handle, &info, nullptr, &handle_), "vkCreateDevice"));
  const char* const missing = vk_.load_device(handle_);
  if (missing == nullptr) return {};
  vk_.vkDestroyDevice =
      reinterpret_cast<PFN_vkDestroyDevice>(vk_.vkGetDeviceProcAddr(handle_, "vkDestroyDevice"));
  if (vk_.vkDestroyDevice != nullptr) vk_.vkDestroyDevice(handle_, nullptr);
  handle_ = VK_NULL_HANDLE;
  return error(StatusCode::kUnavailable, "vulkan: {} has no {}", physical_.name, missing);
}

Status NativeDevice::open_queues() {
  const QueueFamily families[] = {physical_.compute, physical_.copy};
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < family_count(); ++i) count += families[i].queues;
  queues_.reset(new (std::nothrow) SharedQueue[count]);
  if (queues_ == nullptr) {
    return error(StatusCode::kResourceExhausted, "vulkan: no memory for {} queues", count);
  }
  for (std::uint32_t i = 0; i < family_count(); ++i) {
    for (std::uint32_t k = 0; k < families[i].queues; ++k) {
      SharedQueue& queue = queues_[queue_count_++];
      queue.family = families[i].index;
      queue.priority = priority_of(k, families[i].queues);
      vk_.vkGetDeviceQueue(handle_, queue.family, k, &queue.handle);
    }
  }
  return {};
}

Status NativeDevice::create_pools() {
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(VkDeviceAddress)};
  VkPipelineLayoutCreateInfo layout = {};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  HALYARD_RETURN_IF_ERROR(
      check(vk_.vkCreatePipelineLayout(handle_, &layout, nullptr, &address_layout_),
            "vkCreatePipelineLayout"));
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = physical_.compute.index;
  return check(vk_.vkCreateCommandPool(handle_, &pool, nullptr, &recording_pool_),
               "vkCreateCommandPool");
}

SharedQueue& NativeDevice::take_queue(hal::QueueKind kind, hal::QueuePriority priority) noexcept {
  const std::uint32_t family =
      kind == hal::QueueKind::kCopy ? physical_.copy.index : physical_.compute.index;
  base::LockGuard lock(mutex_);
  SharedQueue* best = nullptr;
  const auto is_better = [&](const SharedQueue& queue) {
    if (best == nullptr) return true;
    const bool fits = queue.priority == priority;
    if (fits != (best->priority == priority)) return fits;
    return queue.lanes < best->lanes;
  };
  for (std::size_t i = 0; i < queue_count_; ++i) {
    if (queues_[i].family == family && is_better(queues_[i])) best = &queues_[i];
  }
  ++best->lanes;
  return *best;
}

void NativeDevice::give_back(SharedQueue& queue) noexcept {
  base::LockGuard lock(mutex_);
  --queue.lanes;
}

// If Mesa emulates timelines, its thread still uses the semaphores that a batch waited for after
// the batch has signalled (vk_sync_timeline_point_release, seen in Mesa 22.3). So they are then
// destroyed with the device.
void NativeDevice::destroy_timeline(VkSemaphore semaphore) noexcept {
  if (semaphore == VK_NULL_HANDLE) return;
  if (!physical_.sleeps_for_any) {
    base::LockGuard lock(mutex_);
    if (retired_.push_back(semaphore)) return;
  }
  vk_.vkDestroySemaphore(handle_, semaphore, nullptr);
}

Status NativeDevice::check(VkResult result, const char* call) noexcept {
  if (result == VK_ERROR_DEVICE_LOST) lose(result);
  return to_status(result, call);
}

void NativeDevice::lose(VkResult result) noexcept {
  std::int32_t none = VK_SUCCESS;
  lost_.compare_exchange_strong(none, result, std::memory_order_acq_rel);
}

Status NativeDevice::loss() const {
  const auto result = static_cast<VkResult>(lost_.load(std::memory_order_acquire));
  if (result == VK_SUCCESS) return {};
  return Status(StatusCode::kDeviceLost, "vulkan: the device is lost",
                to_status(result, "").native_error());
}

Status NativeDevice::read_clocks(std::uint64_t& host, std::uint64_t& device) noexcept {
  VkCalibratedTimestampInfoEXT clocks[2] = {};
  clocks[0].sType = clocks[1].sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
  clocks[0].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
  clocks[1].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
  std::uint64_t times[2] = {};
  std::uint64_t deviation = 0;
  HALYARD_RETURN_IF_ERROR(
      check(vk_.vkGetCalibratedTimestampsEXT(handle_, 2u, clocks, times, &deviation),
            "vkGetCalibratedTimestampsEXT"));
  host = times[0];
  device = times[1];
  return {};
}

std::uint32_t NativeDevice::memory_type(hal::MemoryType type, std::uint32_t types) const noexcept {
  constexpr VkMemoryPropertyFlags kMapped =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // Types with other properties are for images, or need a feature.
  constexpr VkMemoryPropertyFlags kKnown =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  struct Wish {
    VkMemoryPropertyFlags has, lacks;
  };
  // Best first. Section 11.2.1 of the specification guarantees a type with kMapped and a type with
  // DEVICE_LOCAL.
  static constexpr Wish kDeviceLocal[] = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kMapped},
                                          {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0}};
  static constexpr Wish kHostVisible[] = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kMapped, 0},
                                          {kMapped, 0}};
  static constexpr Wish kHostLocal[] = {
      {VK_MEMORY_PROPERTY_HOST_CACHED_BIT | kMapped, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
      {VK_MEMORY_PROPERTY_HOST_CACHED_BIT | kMapped, 0},
      {kMapped, 0}};
  const auto find = [&](const auto& wishes) {
    for (const Wish& wish : wishes) {
      for (std::uint32_t i = 0; i < physical_.memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = physical_.memory.memoryTypes[i].propertyFlags;
        if ((types & 1u << i) != 0 && (flags & ~kKnown) == 0 && (flags & wish.has) == wish.has &&
            (flags & wish.lacks) == 0) {
          return i;
        }
      }
    }
    return ~0u;
  };
  switch (type) {
    case hal::MemoryType::kDeviceLocal:
      return find(kDeviceLocal);
    case hal::MemoryType::kHostVisible:
      return find(kHostVisible);
    case hal::MemoryType::kHostLocal:
      break;
  }
  return find(kHostLocal);
}

}  // namespace halyard::inline v0::vulkan
