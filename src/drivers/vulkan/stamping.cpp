// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/stamping.h"

#include <bit>

#include "base/format.h"

namespace halyard::inline v0::vulkan {

Status Stamping::begin(NativeDevice& device, VkCommandBuffer buffer, trace::Stamps& stamps,
                       std::uint32_t commands, StampedBy by) {
  stamps_ = nullptr;
  const std::uint32_t needed = commands + 2;
  labels_.shrink(0);
  if (!labels_.make_room(commands) || !ticks_.grow(needed)) {
    return error(StatusCode::kResourceExhausted, "vulkan: no memory to trace {} commands",
                 commands);
  }
  if (by == StampedBy::kDevice && capacity_ < needed) {
    close(device);
    VkQueryPoolCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = std::bit_ceil(needed);
    HALYARD_RETURN_IF_ERROR(
        device.check(device.vk().vkCreateQueryPool(device.handle(), &info, nullptr, &queries_),
                     "vkCreateQueryPool"));
    capacity_ = info.queryCount;
  }
  stamps_ = &stamps;
  by_ = by;
  stamped_ = 0;
  if (by == StampedBy::kDevice) {
    // Reset on the host, since a queue that only copies does not support vkCmdResetQueryPool.
    device.vk().vkResetQueryPool(device.handle(), queries_, 0, needed);
  } else if (Status status = now(device, stamps, ticks_[0]); !status.ok()) {
    stamps_ = nullptr;
    return status;
  }
  stamp(device, buffer);
  return {};
}

Status Stamping::now(NativeDevice& device, const trace::Stamps& stamps,
                     std::uint64_t& ticks) noexcept {
  if (by_ == StampedBy::kHost) {
    ticks = static_cast<std::uint64_t>(stamps.tracer->now());
    return {};
  }
  std::uint64_t host = 0;
  return device.read_clocks(host, ticks);
}

void Stamping::stamp(NativeDevice& device, VkCommandBuffer buffer) noexcept {
  if (by_ == StampedBy::kDevice) {
    device.vk().vkCmdWriteTimestamp2(buffer, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries_,
                                     stamped_);
  }
  ++stamped_;
}

void Stamping::command(NativeDevice& device, VkCommandBuffer buffer,
                       const trace::Label& label) noexcept {
  if (stamps_ == nullptr) return;
  (void)labels_.push_back(label);  // there is room
  stamp(device, buffer);
}

void Stamping::end(NativeDevice& device, VkCommandBuffer buffer) noexcept {
  if (stamps_ != nullptr) stamp(device, buffer);
}

Status Stamping::collect(NativeDevice& device) noexcept {
  if (stamps_ == nullptr) return {};
  trace::Stamps& stamps = *stamps_;
  stamps_ = nullptr;
  if (by_ == StampedBy::kDevice) {
    HALYARD_RETURN_IF_ERROR(device.check(
        device.vk().vkGetQueryPoolResults(device.handle(), queries_, 0u, stamped_,
                                          stamped_ * sizeof(std::uint64_t), ticks_.data(),
                                          VkDeviceSize{sizeof(std::uint64_t)},
                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults"));
  } else {
    std::uint64_t end = ticks_[0];  // used if the clock cannot be read now
    (void)now(device, stamps, end);
    HALYARD_RETURN_IF_ERROR(device.loss());
    for (std::uint32_t i = 1; i < stamped_; ++i) ticks_[i] = end;
  }
  for (std::uint32_t i = 0; i < labels_.size(); ++i) {
    trace::Record record;
    record.kind = trace::Record::Kind::kCommand;
    record.track = stamps.track;
    record.name = labels_[i].name;
    record.group = labels_[i].group;
    record.id = stamps.id;
    record.begin = static_cast<std::int64_t>(ticks_[i]);
    record.end = static_cast<std::int64_t>(ticks_[i + 1]);
    record.at = stamps.tracer->now();
    trace::note(*stamps.tracer, record);
  }
  stamps.begin = static_cast<std::int64_t>(ticks_[0]);
  stamps.end = static_cast<std::int64_t>(ticks_[stamped_ - 1]);
  return {};
}

void Stamping::close(NativeDevice& device) noexcept {
  device.vk().vkDestroyQueryPool(device.handle(), queries_, nullptr);
  queries_ = VK_NULL_HANDLE;
  capacity_ = 0;
}

}  // namespace halyard::inline v0::vulkan
