// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SharedTimeline: a timeline VkSemaphore that a file descriptor names
// (VK_KHR_external_semaphore_fd). Lanes have timelines of their own.
#pragma once

#include <cstdint>

#include "drivers/vulkan/native_device.h"
#include "hal/device/driver.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

class SharedTimeline final : public hal::SharedTimelineImpl {
 public:
  // Both return kUnimplemented with the reason, kResourceExhausted, and kInvalidArgument for a
  // descriptor or an initial value that cannot be used. import() takes the descriptor on success.
  static Result<Ref<hal::SharedTimelineImpl>> create(Ref<NativeDevice> device,
                                                     std::uint64_t initial);
  static Result<Ref<hal::SharedTimelineImpl>> import(Ref<NativeDevice> device, int descriptor);

  Result<std::uint64_t> query() override;
  Status signal(std::uint64_t value) override;
  Status wait(std::uint64_t value, Nanoseconds deadline) override;
  Result<int> export_descriptor() override;

 private:
  SharedTimeline(Ref<NativeDevice> device, bool is_exportable) noexcept
      : device_(std::move(device)), is_exportable_(is_exportable) {}
  ~SharedTimeline() override;

  const Ref<NativeDevice> device_;
  const bool is_exportable_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
};

}  // namespace halyard::inline v0::vulkan
