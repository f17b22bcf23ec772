// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "base/leak.h"
#include "drivers/vulkan/allocator.h"
#include "drivers/vulkan/command_buffer.h"
#include "drivers/vulkan/descriptor_copy.h"
#include "drivers/vulkan/executable.h"
#include "drivers/vulkan/shared_timeline.h"

namespace halyard::inline v0::vulkan {

Result<std::unique_ptr<Device>> Device::create(hal::DeviceInfo info, HandleRef<NativeDevice> native,
                                               const void* domain, const DeviceOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(ArgumentHeap heap,
                           ArgumentHeap::create(Ref<NativeDevice>(native.get())));
  std::unique_ptr<Device> device(new (std::nothrow) Device(std::move(info), std::move(native),
                                                           std::move(heap), domain, options));
  if (device != nullptr) return device;
  return error(StatusCode::kResourceExhausted, "vulkan: no memory for a device");
}

Device::Device(hal::DeviceInfo info, HandleRef<NativeDevice> native, ArgumentHeap heap,
               const void* domain, const DeviceOptions& options)
    : info_(std::move(info)),
      native_(std::move(native)),
      heap_(std::move(heap)),
      domain_(domain),
      options_(options) {}

Device::~Device() { close(); }

Result<Ref<hal::Memory>> Device::allocate(std::uint64_t size, std::uint64_t alignment,
                                          hal::MemoryType type) {
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> memory,
      DeviceMemory::allocate(heap_.shared_device(),
                             {.size = size, .type = type, .alignment = alignment}, domain_));
  return Ref<hal::Memory>(std::move(memory));
}

Result<Ref<hal::Memory>> Device::import_memory(std::byte* data, std::uint64_t size) {
  HALYARD_ASSIGN_OR_RETURN(Ref<DeviceMemory> memory,
                           DeviceMemory::import(heap_.shared_device(), data, size, domain_));
  return Ref<hal::Memory>(std::move(memory));
}

Result<Ref<hal::Memory>> Device::allocate_exportable(std::uint64_t size, hal::MemoryType type) {
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> memory,
      DeviceMemory::allocate(heap_.shared_device(),
                             {.size = size, .type = type, .sharing = Sharing::kExport}, domain_));
  return Ref<hal::Memory>(std::move(memory));
}

Result<Ref<hal::Memory>> Device::import_descriptor(int descriptor, std::uint64_t size,
                                                   hal::MemoryType type) {
  HALYARD_ASSIGN_OR_RETURN(DescriptorCopy copy, DescriptorCopy::of(descriptor));
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> memory,
      DeviceMemory::allocate(
          heap_.shared_device(),
          {.size = size, .type = type, .sharing = Sharing::kImport, .descriptor = copy.get()},
          domain_));
  copy.take();
  return Ref<hal::Memory>(std::move(memory));
}

Result<Ref<hal::SharedTimelineImpl>> Device::create_shared_timeline(std::uint64_t initial) {
  return SharedTimeline::create(heap_.shared_device(), initial);
}

Result<Ref<hal::SharedTimelineImpl>> Device::import_timeline(int descriptor) {
  return SharedTimeline::import(heap_.shared_device(), descriptor);
}

Result<Ref<hal::ExecutableImpl>> Device::load(kernel::Hyx file) {
  return Executable::load(heap_.shared_device(), std::move(file), options_.caches_pipelines);
}

Result<std::unique_ptr<hal::NativeCommands>> Device::prepare(
    const hal::RecordedCommands& recording) {
  return CommandBuffer::create(heap_, recording);
}

Result<timeline::NativeQueue*> Device::open_lane(hal::QueueKind kind, hal::QueuePriority priority) {
  base::LockGuard lock(mutex_);
  if (lane_count_ == kMaxLanes) {
    return error(StatusCode::kResourceExhausted, "vulkan: a device has at most {} lanes",
                 kMaxLanes);
  }
  HALYARD_ASSIGN_OR_RETURN(lanes_[lane_count_],
                           Lane::create(heap_, kind, priority, options_.poll_time));
  return static_cast<timeline::NativeQueue*>(lanes_[lane_count_++].get());
}

trace::DeviceClock* Device::clock() noexcept {
  return heap_.device().physical().calibrated_timestamps ? this : nullptr;
}

Result<trace::ClockPair> Device::read() noexcept {
  std::uint64_t host = 0, device = 0;
  HALYARD_RETURN_IF_ERROR(heap_.device().read_clocks(host, device));
  return trace::ClockPair{static_cast<Nanoseconds>(host), static_cast<std::int64_t>(device)};
}

void Device::close() {
  base::LockGuard lock(mutex_);
  for (std::unique_ptr<Lane>& lane : lanes_) {
    if (lane == nullptr) continue;
    const Status closed(StatusCode::kCancelled, "vulkan: the lane is closed");
    // The engine has already waited for the lanes to stop.
    if (lane->abandon(closed, Lane::kPatience) == timeline::Abandoned::kStillRunning) {
      base::leak(std::move(lane));
    }
    lane.reset();
  }
}

}  // namespace halyard::inline v0::vulkan
