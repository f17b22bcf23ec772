// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/notifier.h"

#include <algorithm>

#include "drivers/vulkan/native_device.h"
#include "drivers/vulkan/timeline_semaphore.h"

namespace halyard::inline v0::vulkan {

Status SemaphoreWaits::open() { return create_timeline(device_, calling_); }

void SemaphoreWaits::close() noexcept {
  if (calling_ == VK_NULL_HANDLE) return;
  device_.vk().vkDestroySemaphore(device_.handle(), calling_, nullptr);
  calling_ = VK_NULL_HANDLE;
}

VkResult SemaphoreWaits::call(std::uint64_t value) noexcept {
  VkSemaphoreSignalInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
  info.semaphore = calling_;
  info.value = value;
  return device_.vk().vkSignalSemaphore(device_.handle(), &info);
}

VkResult SemaphoreWaits::read(VkSemaphore semaphore, std::uint64_t& value) noexcept {
  return device_.vk().vkGetSemaphoreCounterValue(device_.handle(), semaphore, &value);
}

VkResult SemaphoreWaits::wait(std::span<const VkSemaphore> semaphores,
                              std::span<const std::uint64_t> values,
                              std::uint64_t timeout) noexcept {
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.flags = VK_SEMAPHORE_WAIT_ANY_BIT;
  info.semaphoreCount = static_cast<std::uint32_t>(semaphores.size());
  info.pSemaphores = semaphores.data();
  info.pValues = values.data();
  if (info.semaphoreCount > 1 && !device_.physical().sleeps_for_any) {
    const std::uint32_t lane = 1 + turns_++ % (info.semaphoreCount - 1);
    info.flags = 0;
    info.semaphoreCount = 1;
    info.pSemaphores += lane;
    info.pValues += lane;
    timeout = turn_;
  }
  const VkResult result = device_.vk().vkWaitSemaphores(device_.handle(), &info, timeout);
  turn_ = result == VK_TIMEOUT ? std::min(turn_ + turn_ / 8, kLongestTurn) : kShortestTurn;
  return result;
}

timeline::WaitFailure SemaphoreWaits::failure(VkResult result) noexcept {
  switch (result) {
    case VK_SUCCESS:
    case VK_TIMEOUT:
      return timeline::WaitFailure::kNone;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return timeline::WaitFailure::kNoMemory;
    default:
      return timeline::WaitFailure::kLoss;
  }
}

Status SemaphoreWaits::check(VkResult result, timeline::WaitCall what) noexcept {
  return device_.check(result, what == timeline::WaitCall::kRead ? "vkGetSemaphoreCounterValue"
                                                                 : "vkSignalSemaphore");
}

void SemaphoreWaits::lose(VkResult result) noexcept { device_.lose(result); }
bool SemaphoreWaits::lost() const noexcept { return device_.lost(); }
Status SemaphoreWaits::loss() const { return device_.loss(); }

}  // namespace halyard::inline v0::vulkan
