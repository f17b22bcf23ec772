// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeDevice: one VkDevice, with all queues that lanes are opened on. A physical device has at
// most one open at a time, which all Halyard devices on it share: a VkSemaphore or VkBuffer works
// only with its own VkDevice. So they also share its loss.
//
//     handles      Halyard devices: the last handle ends the thread; a later device opens a new
//                  VkDevice
//     references   memory, executables, recordings: the last reference destroys the VkDevice
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "drivers/vulkan/builtin_kernels.h"
#include "drivers/vulkan/functions.h"
#include "drivers/vulkan/library.h"
#include "drivers/vulkan/notifier.h"
#include "drivers/vulkan/pipeline_cache.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::vulkan {

// A VkQueue. Lanes share it; vkQueueSubmit2 needs one caller at a time.
struct SharedQueue {
  VkQueue handle = VK_NULL_HANDLE;
  std::uint32_t family = 0;
  hal::QueuePriority priority = hal::QueuePriority::kNormal;
  std::uint32_t lanes = 0;  // under NativeDevice's mutex
  base::Mutex mutex;        // held in vkQueueSubmit2
};

class OpenDevices;

class NativeDevice final : public RefCounted {
 public:
  const Functions& vk() const noexcept { return vk_; }
  VkDevice handle() const noexcept { return handle_; }
  const PhysicalDevice& physical() const noexcept { return physical_; }
  Notifier& notifier() noexcept { return notifier_; }
  // The layout of kernels by address: 8 bytes of push constants, no descriptors.
  VkPipelineLayout address_layout() const noexcept { return address_layout_; }
  // Whether builtins() may be prepared.
  bool has_builtins() const noexcept {
    return physical_.copies_by_kernel && BuiltinKernels::in_this_build();
  }
  BuiltinKernels& builtins() noexcept { return builtins_; }
  // VK_NULL_HANDLE if there is no cache.
  VkPipelineCache pipeline_cache() { return pipeline_cache_.get(*this); }
  // Serializes the command pools, which recordings of all threads use.
  base::Mutex& recording_mutex() noexcept { return recording_mutex_; }
  VkCommandPool recording_pool() const noexcept { return recording_pool_; }

  // The queue with the fewest lanes, of that priority if there is one.
  SharedQueue& take_queue(hal::QueueKind kind, hal::QueuePriority priority) noexcept;
  void give_back(SharedQueue& queue) noexcept;

  // As to_status(), and notes a loss. Every object of the driver passes its results through this.
  Status check(VkResult result, const char* call) noexcept;
  // Notes a loss, with the result of the call that found it.
  void lose(VkResult result) noexcept;
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != VK_SUCCESS; }
  // Ok, or the loss that a call has reported. Other calls may still succeed then (section 5.2.3).
  Status loss() const;

  // Reads nanoseconds of the host's steady clock and ticks of the device's clock at the same time.
  // Precondition: physical().calibrated_timestamps.
  Status read_clocks(std::uint64_t& host, std::uint64_t& device) noexcept;

  // Destroys a semaphore of a lane. Precondition: no pending batch waits for it or signals it.
  void destroy_timeline(VkSemaphore semaphore) noexcept;

  // The index of a memory type for `type` among the bits of `types`; ~0u if there is none.
  std::uint32_t memory_type(hal::MemoryType type, std::uint32_t types) const noexcept;
  // The number of families that share buffers: 0 if there is only one.
  std::uint32_t family_count() const noexcept {
    return physical_.copy.index == physical_.compute.index ? 1 : 2;
  }

 private:
  friend class OpenDevices;
  NativeDevice(Ref<Library> library, const PhysicalDevice& physical) noexcept
      : library_(std::move(library)), physical_(physical), vk_(library_->functions()) {}
  ~NativeDevice() override;
  void on_last_handle() noexcept override;  // may wait for the thread

  Status create();
  Status open_queues();
  Status create_pools();

  const Ref<Library> library_;
  const PhysicalDevice& physical_;  // the library's
  OpenDevices* open_in_ = nullptr;  // outlives the handles
  Functions vk_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkPipelineLayout address_layout_ = VK_NULL_HANDLE;
  VkCommandPool recording_pool_ = VK_NULL_HANDLE;
  BuiltinKernels builtins_;
  PipelineCache pipeline_cache_;
  base::Mutex recording_mutex_;
  base::Atomic<std::int32_t> lost_{VK_SUCCESS};  // the VkResult that was the loss
  Notifier notifier_{*this};

  base::Mutex mutex_;  // guards the queues' lane counts, and retired_
  std::unique_ptr<SharedQueue[]> queues_;
  std::size_t queue_count_ = 0;
  base::Array<VkSemaphore> retired_;  // timelines that are destroyed with the device
};

// The open VkDevice of each physical device. Belongs to the driver.
class OpenDevices {
 public:
  // Returns the VkDevice of this physical device, and opens it if necessary. Called by one thread
  // at a time. Errors:
  //   kUnavailable        the device lacks something, or was lost and is still open; the message
  //                       tells which
  //   kResourceExhausted
  Result<HandleRef<NativeDevice>> get(const Ref<Library>& library, unsigned ordinal);

 private:
  friend class NativeDevice;
  base::Mutex mutex_;                   // guards the following members
  std::vector<NativeDevice*> devices_;  // by ordinal; null: not open
};

}  // namespace halyard::inline v0::vulkan
