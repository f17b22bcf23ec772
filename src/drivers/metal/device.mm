// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "base/leak.h"
#include "drivers/metal/command_buffer.h"
#include "drivers/metal/executable.h"

namespace halyard::inline v0::metal {

Result<std::unique_ptr<Device>> Device::create(hal::DeviceInfo info, Ref<PhysicalDevice> physical,
                                               Ref<timeline::EntryGuard> guard,
                                               const Domains& domains,
                                               const DeviceOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(Ref<NativeDevice> native,
                           NativeDevice::create(std::move(physical), options));
  HALYARD_ASSIGN_OR_RETURN(ArgumentHeap heap, ArgumentHeap::create(std::move(native)));
  std::unique_ptr<Device> device(
      new (std::nothrow) Device(std::move(info), std::move(heap), std::move(guard), domains));
  if (device != nullptr) return device;
  return error(StatusCode::kResourceExhausted, "metal: no memory for a device");
}

Device::Device(hal::DeviceInfo info, ArgumentHeap heap, Ref<timeline::EntryGuard> guard,
               const Domains& domains)
    : info_(std::move(info)), guard_(std::move(guard)), heap_(std::move(heap)), domains_(domains) {}

Device::~Device() {
  const ScopedPool pool;
  close();
}

Result<Ref<hal::Memory>> Device::allocate(std::uint64_t size, std::uint64_t alignment,
                                          hal::MemoryType type) {
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> memory,
      DeviceMemory::allocate(heap_.shared_device(), size, alignment, type, domains_.memory));
  return Ref<hal::Memory>(std::move(memory));
}

Result<Ref<hal::Memory>> Device::import_memory(std::byte* data, std::uint64_t size) {
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> memory,
      DeviceMemory::import(heap_.shared_device(), data, size, domains_.memory));
  return Ref<hal::Memory>(std::move(memory));
}

Result<Ref<hal::ExecutableImpl>> Device::load(kernel::Hyx file) {
  return Executable::load(heap_.shared_device(), std::move(file));
}

Result<std::unique_ptr<hal::NativeCommands>> Device::prepare(
    const hal::RecordedCommands& recording) {
  return CommandBuffer::create(heap_, recording);
}

Result<timeline::NativeQueue*> Device::open_lane(hal::QueueKind, hal::QueuePriority) {
  base::LockGuard lock(mutex_);
  if (lane_count_ == kMaxLanes) {
    return error(StatusCode::kResourceExhausted, "metal: a device has at most {} lanes", kMaxLanes);
  }
  HALYARD_ASSIGN_OR_RETURN(lanes_[lane_count_], Lane::create(heap_, guard_.get()));
  return static_cast<timeline::NativeQueue*>(lanes_[lane_count_++].get());
}

Result<trace::ClockPair> Device::read() noexcept {
  return trace::ClockPair{Clock::steady().now(), static_cast<std::int64_t>(host_time())};
}

void Device::close() {
  base::LockGuard lock(mutex_);
  for (std::unique_ptr<Lane>& lane : lanes_) {
    if (lane == nullptr) continue;
    const Status closed(StatusCode::kCancelled, "metal: the lane is closed");
    // The engine has already waited as long as it should.
    if (lane->abandon(closed, Lane::kPatience) == timeline::Abandoned::kStillRunning) {
      base::leak(std::move(lane));
    }
    lane.reset();
  }
}

}  // namespace halyard::inline v0::metal
