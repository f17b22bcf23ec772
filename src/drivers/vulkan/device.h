// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: lanes on a VkDevice, and the clock in which they stamp.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "drivers/vulkan/arguments.h"
#include "drivers/vulkan/lane.h"
#include "drivers/vulkan/native_device.h"
#include "hal/device/driver.h"
#include "trace/clock_map.h"

namespace halyard::inline v0::vulkan {

inline constexpr unsigned kMaxLanes = 64;  // of a device

struct DeviceOptions {
  bool caches_pipelines = true;  // on disk (pipeline_cache.h)
  Nanoseconds poll_time = 0;     // QueueCapabilities::poll_time of its lanes
};

class Device final : public hal::DeviceImpl,
                     private hal::DescriptorSharing,
                     private trace::DeviceClock {
 public:
  // `domain`: the domain of its lanes and memory, which is the physical device's. Returns
  // kResourceExhausted.
  static Result<std::unique_ptr<Device>> create(hal::DeviceInfo info,
                                                HandleRef<NativeDevice> native, const void* domain,
                                                const DeviceOptions& options);
  ~Device() override;

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  const void* wait_domain() const noexcept override { return domain_; }
  const void* memory_domain() const noexcept override { return domain_; }
  bool frees_may_block() const noexcept override { return true; }
  bool needs_host_blocks() const noexcept override { return true; }
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override;
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override;
  hal::DescriptorSharing* descriptor_sharing() noexcept override { return this; }
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override;
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override;
  // Opens a lane on a VkQueue, of that priority if the family has three or more queues.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind kind,
                                           hal::QueuePriority priority) override;
  trace::DeviceClock* clock() noexcept override;
  void close() override;

 private:
  Device(hal::DeviceInfo info, HandleRef<NativeDevice> native, ArgumentHeap heap,
         const void* domain, const DeviceOptions& options);
  Result<trace::ClockPair> read() noexcept override;  // of the clock
  Result<Ref<hal::Memory>> allocate_exportable(std::uint64_t size, hal::MemoryType type) override;
  Result<Ref<hal::Memory>> import_descriptor(int descriptor, std::uint64_t size,
                                             hal::MemoryType type) override;
  Result<Ref<hal::SharedTimelineImpl>> create_shared_timeline(std::uint64_t initial) override;
  Result<Ref<hal::SharedTimelineImpl>> import_timeline(int descriptor) override;

  const hal::DeviceInfo info_;
  const HandleRef<NativeDevice> native_;
  const ArgumentHeap heap_;
  const void* const domain_;
  const DeviceOptions options_;
  base::Mutex mutex_;  // guards the following members
  std::unique_ptr<Lane> lanes_[kMaxLanes];
  unsigned lane_count_ = 0;
};

}  // namespace halyard::inline v0::vulkan
