// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/device.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/leak.h"
#include "base/pages.h"
#include "drivers/cpu/allocator.h"
#include "drivers/cpu/command_buffer.h"
#include "drivers/cpu/executable.h"

namespace halyard::inline v0::cpu {

Device::Device(hal::DeviceInfo info, std::optional<unsigned> node, bool strict)
    : info_(std::move(info)),
      node_(node),
      strict_(strict),
      running_(new(std::nothrow) Running(info_.workers)) {}

Device::~Device() { close(); }

Result<std::unique_ptr<Device>> Device::create(hal::DeviceInfo info, const Placement& placement,
                                               bool strict) {
  std::unique_ptr<Device> device(new (std::nothrow)
                                     Device(std::move(info), placement.node, strict));
  if (device == nullptr || device->running_ == nullptr)
    return error(StatusCode::kResourceExhausted, "cpu: no memory for a device");
  if (placement.node) {  // whether the system binds memory at all
    HALYARD_RETURN_IF_ERROR(
        device->allocate(base::page_size(), 0, hal::MemoryType::kDeviceLocal).status());
  }
  HALYARD_RETURN_IF_ERROR(
      device->running_->threads.start(device->info_.workers, placement.processors));
  return device;
}

const void* Device::wait_domain() const noexcept { return cpu::domain(); }

const void* Device::memory_domain() const noexcept { return cpu::domain(); }

Result<Ref<hal::Memory>> Device::allocate(std::uint64_t size, std::uint64_t alignment,
                                          hal::MemoryType type) {
  return cpu::allocate(size, alignment, type,
                       type == hal::MemoryType::kHostLocal ? std::nullopt : node_,
                       strict_ && type == hal::MemoryType::kDeviceLocal);
}

Result<Ref<hal::Memory>> Device::import_memory(std::byte* data, std::uint64_t size) {
  return cpu::import_memory(data, size);
}

Result<Ref<hal::ExecutableImpl>> Device::load(kernel::Hyx file) {
  return Executable::load(std::move(file));
}

Result<std::unique_ptr<hal::NativeCommands>> Device::prepare(
    const hal::RecordedCommands& recording) {
  HALYARD_ASSIGN_OR_RETURN(auto commands,
                           CommandBuffer::create(recording, running_->group.threads()));
  return std::unique_ptr<hal::NativeCommands>(std::move(commands));
}

Result<timeline::NativeQueue*> Device::open_lane(hal::QueueKind, hal::QueuePriority priority) {
  const auto ring_priority = static_cast<RingPriority>(priority);
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Lane> lane,
                           Lane::create(running_->group, ring_priority));
  base::LockGuard lock(mutex_);
  running_->lanes.push_back(std::move(lane));
  return static_cast<timeline::NativeQueue*>(running_->lanes.back().get());
}

void Device::close() {
  if (running_ == nullptr) return;
  if (std::ranges::any_of(running_->lanes, [](auto& lane) { return lane->still_running(); })) {
    return base::leak(std::move(running_));  // the other threads sleep
  }
  running_->threads.stop();
  running_.reset();
}

}  // namespace halyard::inline v0::cpu
