// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/serial/device.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "base/leak.h"
#include "drivers/serial/allocator.h"
#include "drivers/serial/command_buffer.h"
#include "drivers/serial/executable.h"

namespace halyard::inline v0::serial {

Device::Device(hal::DeviceInfo info, const void* domain)
    : info_(std::move(info)), domain_(domain) {}

Device::~Device() { close(); }

Result<Ref<hal::Memory>> Device::allocate(std::uint64_t size, std::uint64_t, hal::MemoryType type) {
  return serial::allocate(size, type, domain_);
}

Result<Ref<hal::Memory>> Device::import_memory(std::byte* data, std::uint64_t size) {
  return serial::import_memory(data, size, domain_);
}

Result<Ref<hal::ExecutableImpl>> Device::load(kernel::Hyx file) {
  return Executable::load(std::move(file));
}

Result<std::unique_ptr<hal::NativeCommands>> Device::prepare(
    const hal::RecordedCommands& recording) {
  std::unique_ptr<hal::NativeCommands> commands(new (std::nothrow) CommandBuffer(recording));
  if (commands == nullptr) {
    return error(StatusCode::kResourceExhausted, "serial: no memory for a recording");
  }
  return commands;
}

Result<timeline::NativeQueue*> Device::open_lane(hal::QueueKind, hal::QueuePriority) {
  base::LockGuard lock(mutex_);
  if (lane_count_ == kMaxLanes) {
    return error(StatusCode::kResourceExhausted, "serial: a device has at most {} lanes",
                 kMaxLanes);
  }
  HALYARD_ASSIGN_OR_RETURN(lanes_[lane_count_], Lane::create());
  return static_cast<timeline::NativeQueue*>(lanes_[lane_count_++].get());
}

void Device::close() {
  base::LockGuard lock(mutex_);
  for (std::unique_ptr<Lane>& lane : lanes_) {
    if (lane != nullptr && lane->still_running()) base::leak(std::move(lane));
    lane.reset();
  }
}

}  // namespace halyard::inline v0::serial
