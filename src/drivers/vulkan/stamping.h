// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stamping: time stamps of one traced submission and its commands. The device writes them into
// queries, which are read when the lane has passed the submission.
//
//     command buffer   stamp 0, command, stamp 1, command, stamp 2 ... stamp n
//     noted            submission 0 .. n; command i from stamp i to stamp i + 1
//
// Stamps are in the device's ticks if its clock can be read together with the host's
// (VK_EXT_calibrated_timestamps). If the queue cannot write stamps, the host takes them in the same
// clock: at the issue, and when it sees the end.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "drivers/vulkan/native_device.h"
#include "trace/tracer.h"

namespace halyard::inline v0::vulkan {

enum class StampedBy : std::uint8_t {
  kDevice,       // the queue, in the device's ticks
  kHostInTicks,  // the host, which reads the device's clock
  kHost,         // the host, in its own time: the device's clock cannot be read
};

// Belongs to one slot of a lane. The issuer calls begin(), command() and end(). The poller calls
// collect() when the lane has passed the submission, before it reports that.
class Stamping {
 public:
  Stamping() noexcept = default;
  Stamping(const Stamping&) = delete;
  Stamping& operator=(const Stamping&) = delete;

  // Begins a submission of up to `commands` commands. On kResourceExhausted nothing is stamped.
  Status begin(NativeDevice& device, VkCommandBuffer buffer, trace::Stamps& stamps,
               std::uint32_t commands, StampedBy by);
  void command(NativeDevice& device, VkCommandBuffer buffer, const trace::Label& label) noexcept;
  void end(NativeDevice& device, VkCommandBuffer buffer) noexcept;

  // Does nothing for a submission that is not traced.
  Status collect(NativeDevice& device) noexcept;
  // Drops the submission: it was not issued, or the slot has another submission.
  void forget() noexcept { stamps_ = nullptr; }

  void close(NativeDevice& device) noexcept;

 private:
  void stamp(NativeDevice& device, VkCommandBuffer buffer) noexcept;
  // Reads the clock on the host.
  Status now(NativeDevice& device, const trace::Stamps& stamps, std::uint64_t& ticks) noexcept;

  trace::Stamps* stamps_ = nullptr;
  StampedBy by_ = StampedBy::kHost;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::uint32_t capacity_ = 0;
  std::uint32_t stamped_ = 0;
  base::Array<trace::Label> labels_;
  base::Array<std::uint64_t> ticks_;
};

}  // namespace halyard::inline v0::vulkan
