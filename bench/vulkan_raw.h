// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Raw Vulkan for the rows V1 to V8: a VkDevice of its own on the physical device that Halyard uses.
// Written for speed, like a program without a runtime: timeline semaphores, device functions
// without the loader's trampolines, memory and command buffers created once, and the address of the
// kernel's arguments as the only push constant. The kernels are Halyard's own SPIR-V.
#pragma once

#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/hyx.h"

namespace halyard::bench {

// "name, driver"; with the threads it may use if it is lavapipe. Without a usable driver: the
// reason.
std::string describe_vulkan();

// Used by one thread at a time, but for wait(). Functions throw if a call fails.
class RawVulkan {
 public:
  // Memory that device and host see; it begins as zeros.
  struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceAddress address = 0;
    std::byte* host = nullptr;

    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(host);
    }
  };

  // The first physical device, which Halyard calls vulkan://0, with the kernels of that .hyx file.
  // Throws Unavailable if there is no device.
  static std::shared_ptr<RawVulkan> open(const std::string& kernels);
  ~RawVulkan();
  RawVulkan(const RawVulkan&) = delete;
  RawVulkan& operator=(const RawVulkan&) = delete;

  const std::string& name() const { return name_; }

  // These live as long as the device.
  VkSemaphore timeline();
  VkCommandBuffer command_buffer();
  Memory allocate(std::size_t bytes);
  VkPipeline pipeline(const std::string& kernel);

  // Recording. end() makes the kernels' writes visible to the host and to later submissions.
  void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags) const;
  void bind(VkCommandBuffer commands, VkPipeline pipeline) const;
  void dispatch(VkCommandBuffer commands, VkDeviceAddress arguments) const;
  void end(VkCommandBuffer commands) const;

  // Queues of the compute family, up to four.
  std::size_t queue_count() const { return queues_.size(); }
  void submit(std::span<const VkSubmitInfo2> submits, std::size_t queue = 0) const;
  void wait(std::span<const VkSemaphore> semaphores, std::span<const std::uint64_t> values) const;
  std::uint64_t value(VkSemaphore semaphore) const;

 private:
  explicit RawVulkan(const std::string& kernels);
  void create_device();
  void load_functions();

  struct Functions {
    PFN_vkBeginCommandBuffer begin = nullptr;
    PFN_vkCmdBindPipeline bind = nullptr;
    PFN_vkCmdDispatch dispatch = nullptr;
    PFN_vkCmdPipelineBarrier2 barrier = nullptr;
    PFN_vkCmdPushConstants push = nullptr;
    PFN_vkEndCommandBuffer end = nullptr;
    PFN_vkGetSemaphoreCounterValue value = nullptr;
    PFN_vkQueueSubmit2 submit = nullptr;
    PFN_vkWaitSemaphores wait = nullptr;
  };

  std::string name_;
  kernel::Hyx kernels_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  std::vector<VkQueue> queues_;
  Functions vk_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkShaderModule module_ = VK_NULL_HANDLE;
  std::vector<VkSemaphore> semaphores_;
  std::vector<Memory> memories_;
  std::vector<VkPipeline> pipelines_;
};

// A point in a timeline, as a wait or a signal of a submission.
inline VkSemaphoreSubmitInfo point(VkSemaphore semaphore, std::uint64_t value) {
  return {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
          .pNext = nullptr,
          .semaphore = semaphore,
          .value = value,
          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
          .deviceIndex = 0};
}

inline VkCommandBufferSubmitInfo commands_info(VkCommandBuffer commands) {
  return {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
          .pNext = nullptr,
          .commandBuffer = commands,
          .deviceMask = 0};
}

inline VkSubmitInfo2 submission(std::span<const VkSemaphoreSubmitInfo> waits,
                                std::span<const VkCommandBufferSubmitInfo> commands,
                                std::span<const VkSemaphoreSubmitInfo> signals) {
  return {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
          .pNext = nullptr,
          .flags = 0,
          .waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size()),
          .pWaitSemaphoreInfos = waits.data(),
          .commandBufferInfoCount = static_cast<std::uint32_t>(commands.size()),
          .pCommandBufferInfos = commands.data(),
          .signalSemaphoreInfoCount = static_cast<std::uint32_t>(signals.size()),
          .pSignalSemaphoreInfos = signals.data()};
}

}  // namespace halyard::bench
