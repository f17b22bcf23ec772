// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/shared_timeline.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/vulkan/descriptor_copy.h"
#include "drivers/vulkan/timeline_semaphore.h"

namespace halyard::inline v0::vulkan {
namespace {

constexpr VkExternalSemaphoreHandleTypeFlagBits kTimelineDescriptor =
    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;

Status check_timelines(const PhysicalDevice& physical, VkExternalSemaphoreFeatureFlagBits needed) {
  if ((physical.timelines_by_descriptor & needed) != 0) return {};
  const bool exports = needed == VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
  return error(StatusCode::kUnimplemented,
               "vulkan: the device {} no timelines by file descriptors{}",
               exports ? "exports" : "imports",
               physical.timelines_by_descriptor == 0
                   ? ": it lacks VK_KHR_external_semaphore_fd, or that for timelines"
                   : "");
}

}  // namespace

SharedTimeline::~SharedTimeline() {
  device_->vk().vkDestroySemaphore(device_->handle(), semaphore_, nullptr);
}

Result<Ref<hal::SharedTimelineImpl>> SharedTimeline::create(Ref<NativeDevice> device,
                                                            std::uint64_t initial) {
  HALYARD_RETURN_IF_ERROR(
      check_timelines(device->physical(), VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT));
  auto timeline = Ref<SharedTimeline>::adopt(new (std::nothrow) SharedTimeline(device, true));
  if (!timeline) return error(StatusCode::kResourceExhausted, "vulkan: no memory for a timeline");
  HALYARD_RETURN_IF_ERROR(
      create_timeline(*device, timeline->semaphore_, initial, kTimelineDescriptor));
  return Ref<hal::SharedTimelineImpl>(std::move(timeline));
}

Result<Ref<hal::SharedTimelineImpl>> SharedTimeline::import(Ref<NativeDevice> device,
                                                            int descriptor) {
  HALYARD_RETURN_IF_ERROR(
      check_timelines(device->physical(), VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT));
  auto timeline = Ref<SharedTimeline>::adopt(new (std::nothrow) SharedTimeline(device, false));
  if (!timeline) return error(StatusCode::kResourceExhausted, "vulkan: no memory for a timeline");
  HALYARD_RETURN_IF_ERROR(create_timeline(*device, timeline->semaphore_));
  HALYARD_ASSIGN_OR_RETURN(DescriptorCopy copy, DescriptorCopy::of(descriptor));
  VkImportSemaphoreFdInfoKHR info = {};
  info.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR;
  info.semaphore = timeline->semaphore_;
  info.handleType = kTimelineDescriptor;
  info.fd = copy.get();
  HALYARD_RETURN_IF_ERROR(device->check(
      device->vk().vkImportSemaphoreFdKHR(device->handle(), &info), "vkImportSemaphoreFdKHR"));
  copy.take();
  return Ref<hal::SharedTimelineImpl>(std::move(timeline));
}

Result<std::uint64_t> SharedTimeline::query() {
  std::uint64_t value = 0;
  HALYARD_RETURN_IF_ERROR(device_->loss());
  HALYARD_RETURN_IF_ERROR(device_->check(
      device_->vk().vkGetSemaphoreCounterValue(device_->handle(), semaphore_, &value),
      "vkGetSemaphoreCounterValue"));
  return value;
}

Status SharedTimeline::signal(std::uint64_t value) {
  HALYARD_ASSIGN_OR_RETURN(const std::uint64_t now, query());
  if (value <= now) {
    return error(StatusCode::kInvalidArgument, "vulkan: value {}; the timeline has reached {}",
                 value, now);
  }
  VkSemaphoreSignalInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
  info.semaphore = semaphore_;
  info.value = value;
  return device_->check(device_->vk().vkSignalSemaphore(device_->handle(), &info),
                        "vkSignalSemaphore");
}

Status SharedTimeline::wait(std::uint64_t value, Nanoseconds deadline) {
  // If another call finds a loss, the wait ends after at most this time.
  constexpr Nanoseconds kSlice = 250'000'000;
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_;
  info.pValues = &value;
  for (;;) {
    HALYARD_RETURN_IF_ERROR(device_->loss());
    const Nanoseconds now = Clock::steady().now();
    const Nanoseconds left = deadline > now ? deadline - now : 0;
    const VkResult result = device_->vk().vkWaitSemaphores(
        device_->handle(), &info, static_cast<std::uint64_t>(std::min(left, kSlice)));
    if (result == VK_SUCCESS) return {};
    if (result != VK_TIMEOUT) return device_->check(result, "vkWaitSemaphores");
    if (left > kSlice) continue;
    return error(StatusCode::kDeadlineExceeded, "vulkan: value {} of a timeline is not reached",
                 value);
  }
}

Result<int> SharedTimeline::export_descriptor() {
  if (!is_exportable_) {
    return Status(StatusCode::kFailedPrecondition, "vulkan: the timeline was imported");
  }
  VkSemaphoreGetFdInfoKHR info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR;
  info.semaphore = semaphore_;
  info.handleType = kTimelineDescriptor;
  int descriptor = -1;
  HALYARD_RETURN_IF_ERROR(
      device_->check(device_->vk().vkGetSemaphoreFdKHR(device_->handle(), &info, &descriptor),
                     "vkGetSemaphoreFdKHR"));
  return descriptor;
}

}  // namespace halyard::inline v0::vulkan
