// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loader between the driver and libvulkan.so.1, for tests: HALYARD_VULKAN_LIBRARY names its file.
// It forwards all calls, hides features of devices, stops and loses devices, and reports violations
// of the specification:
//
//     a VkSemaphore destroyed while a thread waits for it, or read when it is destroyed
//     a VkCommandBuffer begun or freed while it is pending
//     a VkQueue or a VkCommandPool used by two threads at a time
//     memory of a shared buffer that is not dedicated to it, where that is needed
//     a wait for no semaphore
//     queries reset on a queue that only copies
//     a VkCommandBuffer submitted while it is pending, without SIMULTANEOUS_USE
//
// It also reports, where Mesa emulates timelines, that a VkSemaphore for which a batch has waited
// is destroyed before the device was idle. And it reports violations of the driver's own rules: a
// semaphore orders all commands, and a command buffer ends with a barrier to later commands and to
// the host.
//
// Programs choose by HALYARD_FAKE_VULKAN, a list of:
//
//     discrete    memory of the device's own that the host does not see, three queues for compute,
//                 and a family of queues that only copies
//     gpu         no CPU, but a GPU
//     shares      VK_KHR_external_semaphore_fd, for timelines
//     program     ends the program at the first of these
//     serialized  submits and reads one at a time: layer 1.3.239 waits 10 s for nothing when a
//                 counter is read before vkQueueSubmit2 has returned
//     synchronous a submission has ended when vkQueueSubmit2 returns: for programs that make calls
//                 report a loss of which lavapipe's threads do not know
#pragma once

#include <atomic>
#include <cstdint>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

namespace halyard::vulkan::testing {

// Shared by the library and the tests.
struct FakeVulkan {
  // A feature, property or extension that devices lack; "Vulkan 1.3", "devices", "drivers" or
  // "loader 1.3".
  std::atomic<const char*> lacks{nullptr};
  std::atomic<bool> discrete{false};
  std::atomic<bool> serialized{false};
  std::atomic<bool> synchronous{false};
  // Waits for any of several semaphores sleep. Lavapipe's do not.
  std::atomic<bool> sleeps_for_any{false};
  std::atomic<bool> gpu{false};  // the device is not a CPU
  // The most workgroups of a dispatch in each dimension; 0: those of the device.
  std::atomic<std::uint32_t> max_groups{0};
  // The most items of a workgroup in each dimension; 0: those of the device.
  std::atomic<std::uint32_t> max_items{0};

  // Features of buffers whose memory a file descriptor names. kReal: those of the device.
  static constexpr VkExternalMemoryFeatureFlags kReal = ~0u;
  std::atomic<VkExternalMemoryFeatureFlags> by_descriptor{kReal};
  // The same for timelines: VkExternalSemaphoreFeatureFlagBits. 0: without the extension.
  std::atomic<VkExternalSemaphoreFeatureFlags> timelines_by_descriptor{0};
  // The discrete device has device-local memory that the host sees, type kBar.
  static constexpr std::uint32_t kBar = 3;
  std::atomic<bool> has_bar{false};
  // The priorities of the queues of the first family of the latest device: a digit per queue, twice
  // its priority.
  std::atomic<unsigned> priorities{0};
  std::atomic<bool> bar_is_full{false};
  std::atomic<std::uint32_t> memory_type{0};  // of the latest allocation
  // Buffers and mappings begin this number of bytes after a page boundary. A multiple of 64.
  std::atomic<std::uint64_t> skew{0};
  // Ticks of the device's clock, beyond the host's nanoseconds.
  std::atomic<std::uint64_t> ticks_ahead{0};

  // The driver reports another version, so its caches have another name.
  std::atomic<bool> another_driver{false};
  std::atomic<std::uint64_t> cached{0};  // bytes that the last VkPipelineCache was made from

  // The counters that the device signals appear unchanged. The work itself continues.
  std::atomic<bool> frozen{false};
  // Waits, and calls that may report a loss, return VK_ERROR_DEVICE_LOST.
  std::atomic<bool> lost{false};
  // The driver has received a loss, or is about to: it regards nothing as pending. Destroying an
  // object waits for lavapipe, which does not know of the loss.
  std::atomic<bool> was_lost{false};
  // Reading a counter takes a while.
  std::atomic<bool> slow{false};

  std::atomic<int> violations{0};
  std::atomic<const char*> violation{nullptr};  // the last one

  std::atomic<std::uint64_t> submits{0};     // VkSubmitInfo2
  std::atomic<std::uint64_t> dispatches{0};  // recorded
  std::atomic<std::uint64_t> barriers{0};    // with those at the end
  // The number of semaphores of the latest wait for any of several. 0: it has ended.
  std::atomic<std::uint32_t> watched{0};

  // The timeline that was created last.
  std::atomic<VkDevice> device{VK_NULL_HANDLE};
  std::atomic<VkSemaphore> semaphore{VK_NULL_HANDLE};
  // Signals it from the host, as if the device did.
  VkResult (*signal)(VkDevice device, VkSemaphore semaphore, std::uint64_t value) = nullptr;

  // Counts the calling thread's allocations; foreign_here(): those that Vulkan itself has made.
  std::atomic<std::uint64_t (*)()> count_allocations{nullptr};
  std::uint64_t (*foreign_here)() = nullptr;
};

// The library's only exports.
extern "C" FakeVulkan* halyard_fake_vulkan();
extern "C" PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name);

}  // namespace halyard::vulkan::testing
