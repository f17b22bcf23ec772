// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lane: a queue of a vulkan device for the timeline engine. Its sequence is a timeline VkSemaphore:
//
//     issue {1}{2}{3}     one vkQueueSubmit2: batch k waits for its edges and signals k
//     edge to (lane, n)   the batch waits for value n of that lane's semaphore
//     poll()              vkGetSemaphoreCounterValue
//     arm()               the device's notifier sleeps in vkWaitSemaphores
//
// If there are more lanes than VkQueues, lanes share a VkQueue. A batch that waits there also
// delays later submissions to the queue. It only waits for work that was submitted before, so it
// always makes progress.
//
// Submissions of a lane run in order: the barrier at the end of a command buffer orders it before
// all later work of the VkQueue.
#pragma once

#include <cstdint>
#include <memory>

#include "base/array.h"
#include "base/atomic.h"
#include "drivers/vulkan/arguments.h"
#include "drivers/vulkan/native_device.h"
#include "drivers/vulkan/notifier.h"
#include "drivers/vulkan/stamping.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"
#include "timeline/lane_end.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::vulkan {

inline constexpr std::uint32_t kMaxInFlight = 256;  // submissions in a lane

class Lane final : public timeline::NativeQueue {
 public:
  // After this time abandon() reports work that cannot be stopped as kStillRunning.
  static constexpr Nanoseconds kPatience = 10'000'000'000;

  // Returns kResourceExhausted without memory.
  static Result<std::unique_ptr<Lane>> create(const ArgumentHeap& heap, hal::QueueKind kind,
                                              hal::QueuePriority priority,
                                              Nanoseconds poll_time = 0);
  // Precondition: abandon() has returned kStopped, or nothing was issued.
  ~Lane() override;

  const timeline::QueueCapabilities& capabilities() const noexcept override {
    return capabilities_;
  }
  timeline::IssueResult issue(std::span<const timeline::Issue> batch,
                              timeline::Doorbell doorbell) noexcept override;
  timeline::Progress poll() noexcept override;
  Status probe() noexcept override;
  Status arm(std::uint64_t sequence, base::Notify& notify) noexcept override;
  timeline::Abandoned abandon(const Status& cause, Nanoseconds waited) noexcept override;

 private:
  // The objects that a submission in flight uses besides its operation.
  struct Slot {
    VkCommandBuffer commands = VK_NULL_HANDLE;  // made at the slot's first use
    Arguments arguments;
    Stamping stamping;
  };

  Lane(const ArgumentHeap& heap, Nanoseconds poll_time) noexcept
      : heap_(heap),
        device_(heap.device()),
        capabilities_{.marks_every_submission = true,
                      .max_in_flight = kMaxInFlight,
                      .poll_time = poll_time} {}
  Status open(hal::QueueKind kind, hal::QueuePriority priority);

  Slot& slot(std::uint64_t sequence) noexcept { return slots_[sequence % kMaxInFlight]; }
  // Reads the value of the semaphore from the device.
  Status read(std::uint64_t& value) noexcept;
  // The command buffer of an operation; null if it has no commands.
  Result<VkCommandBuffer> commands_of(const timeline::Issue& issue);
  Result<VkCommandBuffer> record(const timeline::Issue& issue);
  Status submit(std::size_t count) noexcept;

  const ArgumentHeap heap_;
  NativeDevice& device_;  // the heap's
  const timeline::QueueCapabilities capabilities_;
  SharedQueue* queue_ = nullptr;
  bool computes_ = false;  // the queue is of the compute family
  StampedBy stamped_by_ = StampedBy::kHost;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  Notifier::Lane notified_;  // its point is the semaphore
  Slot slots_[kMaxInFlight];

  // The issuer's, while it builds a batch.
  base::Array<VkSubmitInfo2> submits_;
  base::Array<VkSemaphoreSubmitInfo> waits_;
  base::Array<VkSemaphoreSubmitInfo> signals_;
  base::Array<VkCommandBufferSubmitInfo> buffers_;

  base::Atomic<std::uint64_t> issued_{0};   // written before the submission is made
  base::Atomic<std::uint64_t> reached_{0};  // the latest value of poll()
  std::uint64_t collected_ = 0;             // the poller's: stamps up to here were read

  timeline::LaneEnd end_;
};

}  // namespace halyard::inline v0::vulkan
