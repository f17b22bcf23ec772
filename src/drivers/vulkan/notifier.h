// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: the thread of a VkDevice that wakes waiters (timeline/notifier.h). It sleeps in
// vkWaitSemaphores: https://registry.khronos.org/vulkan/specs/1.3/html/chap7.html
//
// If a wait for any of several semaphores would keep a core busy (PhysicalDevice::sleeps_for_any),
// the thread waits for one lane at a time. Each turn ends after a time limit, which grows while
// nothing happens. A call, or the progress of another lane, is then noticed up to kLongestTurn
// late.
#pragma once

#include <cstdint>
#include <span>

#include "drivers/vulkan/functions.h"
#include "halyard/base/status.h"
#include "timeline/notifier.h"

namespace halyard::inline v0::vulkan {

class NativeDevice;

class SemaphoreWaits {
 public:
  using Point = VkSemaphore;
  using Result = VkResult;
  static constexpr const char* kDriver = "vulkan";
  static constexpr const char* kThread = "hy-vulkan";

  explicit SemaphoreWaits(NativeDevice& device) noexcept : device_(device) {}

  Status open();
  void close() noexcept;
  VkSemaphore calling() const noexcept { return calling_; }
  VkResult call(std::uint64_t value) noexcept;
  VkResult read(VkSemaphore semaphore, std::uint64_t& value) noexcept;
  VkResult wait(std::span<const VkSemaphore> semaphores, std::span<const std::uint64_t> values,
                std::uint64_t timeout) noexcept;

  static timeline::WaitFailure failure(VkResult result) noexcept;
  Status check(VkResult result, timeline::WaitCall what) noexcept;
  void lose(VkResult result) noexcept;
  bool lost() const noexcept;
  Status loss() const;

 private:
  // Nanoseconds. A turn costs 5 us of processor time, a small part of the longest turn.
  static constexpr std::uint64_t kShortestTurn = 50'000;
  static constexpr std::uint64_t kLongestTurn = 1'000'000;

  NativeDevice& device_;
  VkSemaphore calling_ = VK_NULL_HANDLE;
  // The thread's.
  std::uint64_t turn_ = kShortestTurn;  // nanoseconds
  std::uint32_t turns_ = 0;
};

using Notifier = timeline::Notifier<SemaphoreWaits>;

}  // namespace halyard::inline v0::vulkan
