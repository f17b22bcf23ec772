// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stamping: time stamps of one traced submission and its commands, written by the device into
// queries and read when the lane has passed it.
//
//     command buffer   stamp 0, command, stamp 1, command, stamp 2 ... stamp n
//     noted            submission 0 .. n; command i from stamp i to stamp i + 1
//
// In the device's ticks where its clock can be read beside the host's
// (VK_EXT_calibrated_timestamps). Where the queue writes no stamps the host does, in the same
// clock: from the issue until it sees the end.
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

// Of one slot of a lane. begin(), command() and end() by the issuer; collect() by the poller, when
// the lane has passed the submission and before it says so.
class Stamping {
 public:
  Stamping() noexcept = default;
  Stamping(const Stamping&) = delete;
  Stamping& operator=(const Stamping&) = delete;

  // For a submission of up to `commands` commands. kResourceExhausted: then nothing is stamped.
  Status begin(NativeDevice& device, VkCommandBuffer buffer, trace::Stamps& stamps,
               std::uint32_t commands, StampedBy by);
  void command(NativeDevice& device, VkCommandBuffer buffer, const trace::Label& label) noexcept;
  void end(NativeDevice& device, VkCommandBuffer buffer) noexcept;

  // Does nothing for a submission that is not traced.
  Status collect(NativeDevice& device) noexcept;
  // The submission was not issued, or the slot has another one.
  void forget() noexcept { stamps_ = nullptr; }

  void close(NativeDevice& device) noexcept;

 private:
  void stamp(NativeDevice& device, VkCommandBuffer buffer) noexcept;
  // By the host.
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
