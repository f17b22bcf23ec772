// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/lane.h"

#include <algorithm>
#include <new>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/vulkan/command_buffer.h"
#include "drivers/vulkan/encoder.h"
#include "drivers/vulkan/timeline_semaphore.h"
#include "hal/recording/walk.h"

namespace halyard::inline v0::vulkan {
namespace {

Status no_memory(std::size_t count) {
  return error(StatusCode::kResourceExhausted, "vulkan: no memory for {} submissions", count);
}

// Whether the submission has neither commands nor a trace, so the host need not see it end.
bool is_empty(const timeline::Issue& issue) noexcept {
  return static_cast<const hal::Operation*>(issue.operation)->kind ==
             hal::OperationKind::kBarrier &&
         issue.stamps == nullptr;
}

std::uint32_t command_count(const hal::Operation& operation) noexcept {
  switch (operation.kind) {
    case hal::OperationKind::kBarrier:
      return 0;
    case hal::OperationKind::kCommand:
      return 1;
    case hal::OperationKind::kExecute:
      break;
  }
  const auto& commands = operation.native->recording().commands;
  return static_cast<std::uint32_t>(commands.size());
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::create(const ArgumentHeap& heap, hal::QueueKind kind,
                                           hal::QueuePriority priority, Nanoseconds poll_time) {
  std::unique_ptr<Lane> lane(new (std::nothrow) Lane(heap, poll_time));
  if (lane == nullptr) return error(StatusCode::kResourceExhausted, "vulkan: no memory for a lane");
  HALYARD_RETURN_IF_ERROR(lane->open(kind, priority));
  return lane;
}

Status Lane::open(hal::QueueKind kind, hal::QueuePriority priority) {
  HALYARD_RETURN_IF_ERROR(create_timeline(device_, notified_.point));
  queue_ = &device_.take_queue(kind, priority);
  const PhysicalDevice& physical = device_.physical();
  computes_ = queue_->family == physical.compute.index;
  if (physical.calibrated_timestamps) {
    const QueueFamily& family = computes_ ? physical.compute : physical.copy;
    stamped_by_ = family.timestamp_bits != 0 ? StampedBy::kDevice : StampedBy::kHostInTicks;
  }
  VkCommandPoolCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = queue_->family;
  HALYARD_RETURN_IF_ERROR(
      device_.check(device_.vk().vkCreateCommandPool(device_.handle(), &info, nullptr, &pool_),
                    "vkCreateCommandPool"));
  return device_.notifier().add(notified_);
}

Lane::~Lane() {
  device_.notifier().remove(notified_);
  for (Slot& slot : slots_) slot.stamping.close(device_);
  device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);  // frees its buffers
  device_.destroy_timeline(notified_.point);
  if (queue_ != nullptr) device_.give_back(*queue_);
}

timeline::IssueResult Lane::issue(std::span<const timeline::Issue> batch,
                                  timeline::Doorbell) noexcept {
  timeline::IssueResult result;
  if (end_.begun()) {
    result.status = end_.cause();
    return result;
  }
  if (result.status = device_.loss(); !result.status.ok()) return result;
  std::size_t edges = 0;
  for (const timeline::Issue& issue : batch) edges += issue.waits.size();
  submits_.shrink(0);
  waits_.shrink(0);
  signals_.shrink(0);
  buffers_.shrink(0);
  // Make room first, since submits_ points into the other arrays.
  if (!submits_.make_room(batch.size()) || !signals_.make_room(batch.size()) ||
      !buffers_.make_room(batch.size()) || !waits_.make_room(edges)) {
    result.status = no_memory(batch.size());
    return result;
  }
  for (const timeline::Issue& issue : batch) {
    if (issue.sequence - reached_.load(std::memory_order_acquire) > kMaxInFlight) {
      result.busy = true;
      break;
    }
    Result<VkCommandBuffer> commands = commands_of(issue);
    if (!commands.ok()) {
      slot(issue.sequence).stamping.forget();
      result.status = commands.status();
      break;
    }
    VkSubmitInfo2 submit = {};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    submit.waitSemaphoreInfoCount = static_cast<std::uint32_t>(issue.waits.size());
    submit.pWaitSemaphoreInfos = waits_.end();
    VkSemaphoreSubmitInfo point = {};
    point.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    point.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    for (const timeline::Edge& edge : issue.waits) {
      point.semaphore = static_cast<const Lane*>(edge.queue)->notified_.point;
      point.value = edge.sequence;
      (void)waits_.push_back(point);
    }
    if (*commands != VK_NULL_HANDLE) {
      submit.commandBufferInfoCount = 1;
      submit.pCommandBufferInfos = buffers_.end();
      VkCommandBufferSubmitInfo buffer = {};
      buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
      buffer.commandBuffer = *commands;
      (void)buffers_.push_back(buffer);
    }
    point.semaphore = notified_.point;
    point.value = issue.sequence;
    submit.signalSemaphoreInfoCount = 1;
    submit.pSignalSemaphoreInfos = signals_.end();
    (void)signals_.push_back(point);
    (void)submits_.push_back(submit);
    ++result.count;
  }
  if (result.count == 0) return result;
  const std::uint64_t before = issued_.load(std::memory_order_relaxed);
  issued_.store(batch[result.count - 1].sequence, std::memory_order_seq_cst);
  if (Status status = submit(result.count); !status.ok()) {
    // A failed call has no effect (section 6.5), unless the device is lost.
    for (const timeline::Issue& issue : batch.first(result.count)) {
      slot(issue.sequence).stamping.forget();
    }
    issued_.store(before, std::memory_order_seq_cst);
    result = {};
    result.status = std::move(status);
  }
  return result;
}

Status Lane::submit(std::size_t count) noexcept {
  base::LockGuard lock(queue_->mutex);
  return device_.check(
      device_.vk().vkQueueSubmit2(queue_->handle, static_cast<std::uint32_t>(count),
                                  submits_.data(), VkFence{VK_NULL_HANDLE}),
      "vkQueueSubmit2");
}

Result<VkCommandBuffer> Lane::commands_of(const timeline::Issue& issue) {
  if (is_empty(issue)) return VkCommandBuffer{VK_NULL_HANDLE};
  const auto& operation = *static_cast<const hal::Operation*>(issue.operation);
  if (operation.kind == hal::OperationKind::kExecute && issue.stamps == nullptr && computes_) {
    const auto& commands = *static_cast<const CommandBuffer*>(operation.native);
    if (commands.is_native()) return commands.native(operation.instance, operation.table);
  }
  return record(issue);
}

Result<VkCommandBuffer> Lane::record(const timeline::Issue& issue) {
  const Functions& vk = device_.vk();
  const auto& operation = *static_cast<const hal::Operation*>(issue.operation);
  Slot& slot = this->slot(issue.sequence);
  if (slot.commands == VK_NULL_HANDLE) {
    VkCommandBufferAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    HALYARD_RETURN_IF_ERROR(
        device_.check(vk.vkAllocateCommandBuffers(device_.handle(), &info, &slot.commands),
                      "vkAllocateCommandBuffers"));
  }
  const auto* const recorded = operation.kind == hal::OperationKind::kExecute
                                   ? static_cast<const CommandBuffer*>(operation.native)
                                   : nullptr;
  const std::uint64_t bytes = recorded != nullptr ? recorded->argument_bytes()
                              : operation.kind == hal::OperationKind::kCommand
                                  ? argument_bytes(operation.command)
                                  : 0;
  HALYARD_RETURN_IF_ERROR(slot.arguments.reset(heap_, bytes));
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  HALYARD_RETURN_IF_ERROR(
      device_.check(vk.vkBeginCommandBuffer(slot.commands, &begin), "vkBeginCommandBuffer"));
  if (issue.stamps != nullptr) {
    HALYARD_RETURN_IF_ERROR(slot.stamping.begin(device_, slot.commands, *issue.stamps,
                                                command_count(operation), stamped_by_));
  }
  Encoder encoder(device_, slot.commands, slot.arguments);
  if (recorded != nullptr) {
    const hal::RecordedCommands& recording = recorded->recording();
    const auto add = [&](std::uint32_t index, const hal::Command& command) {
      Status status = encoder.add(command, operation.table);
      if (status.ok() && issue.stamps != nullptr) {
        slot.stamping.command(device_, slot.commands, recording.labels[index]);
      }
      return status;
    };
    HALYARD_RETURN_IF_ERROR(hal::walk_with_barriers(recording, [&] { encoder.barrier(); }, add));
  } else if (operation.kind == hal::OperationKind::kCommand) {
    HALYARD_RETURN_IF_ERROR(encoder.add(operation.command, nullptr));
    if (issue.stamps != nullptr) {
      slot.stamping.command(device_, slot.commands, {.name = hal::name_of(operation.command)});
    }
  }
  slot.stamping.end(device_, slot.commands);
  encoder.end();
  HALYARD_RETURN_IF_ERROR(
      device_.check(vk.vkEndCommandBuffer(slot.commands), "vkEndCommandBuffer"));
  return slot.commands;
}

Status Lane::read(std::uint64_t& value) noexcept {
  return device_.check(
      device_.vk().vkGetSemaphoreCounterValue(device_.handle(), notified_.point, &value),
      "vkGetSemaphoreCounterValue");
}

timeline::Progress Lane::poll() noexcept {
  if (end_.begun()) {
    return {.sequence = reached_.load(std::memory_order_acquire), .fault = end_.cause()};
  }
  timeline::Progress progress;
  progress.sequence = reached_.load(std::memory_order_relaxed);
  std::uint64_t value = 0;
  progress.fault = read(value);
  if (!progress.fault.ok()) return progress;
  for (; collected_ < value && progress.fault.ok(); ++collected_) {
    progress.fault = slot(collected_ + 1).stamping.collect(device_);
  }
  progress.sequence = value;
  reached_.store(value, std::memory_order_release);
  if (progress.fault.ok()) progress.fault = device_.loss();
  return progress;
}

Status Lane::probe() noexcept {
  if (end_.begun()) return end_.cause();
  std::uint64_t value = 0;
  HALYARD_RETURN_IF_ERROR(read(value));
  return device_.loss();
}

Status Lane::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  return device_.notifier().arm(notified_, sequence, notify);
}

timeline::Abandoned Lane::abandon(const Status& cause, Nanoseconds waited) noexcept {
  using timeline::Abandoned;
  return end_.abandon(cause, [&] {
    const std::uint64_t last = issued_.load(std::memory_order_seq_cst);
    VkSemaphoreWaitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &notified_.point;
    info.pValues = &last;
    const VkResult result = device_.vk().vkWaitSemaphores(device_.handle(), &info, /*timeout=*/0);
    (void)device_.check(result == VK_TIMEOUT ? VK_SUCCESS : result, "vkWaitSemaphores");
    // Work of a lost device has ended (section 5.2.3), so objects may be destroyed.
    if (result == VK_SUCCESS || device_.lost()) return Abandoned::kStopped;
    if (waited < kPatience) return Abandoned::kStopping;
    // The notifier's thread may still serve another runtime after the engine of this one is
    // destroyed.
    notified_.list.close();
    return Abandoned::kStillRunning;
  });
}

}  // namespace halyard::inline v0::vulkan
