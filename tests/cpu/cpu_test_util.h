// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "drivers/cpu/device.h"
#include "hal/recording/command.h"
#include "timeline/native_queue.h"

namespace halyard::cpu {

// A device whose lanes only help() steps.
inline std::unique_ptr<Device> stepped_device() {
  hal::DeviceInfo info;
  info.workers = 0;
  return Device::create(info).value();
}

inline std::unique_ptr<Device> device_with(unsigned workers) {
  hal::DeviceInfo info;
  info.workers = workers;
  return Device::create(info).value();
}

inline timeline::NativeQueue& lane_of(Device& device,
                                      hal::QueueKind kind = hal::QueueKind::kCompute) {
  return *device.open_lane(kind, hal::QueuePriority::kNormal).value();
}

inline void help_all(timeline::NativeQueue& lane) {
  while (lane.help(~std::uint64_t{0})) {
  }
}

// Issues one operation with this sequence number.
inline timeline::IssueResult issue(timeline::NativeQueue& lane, hal::Operation& operation,
                                   std::uint64_t sequence, std::vector<timeline::Edge> waits = {},
                                   timeline::Doorbell doorbell = timeline::Doorbell::kRing) {
  const timeline::Issue issue{
      .waits = waits, .operation = &operation, .sequence = sequence, .want_marker = false};
  return lane.issue({&issue, 1}, doorbell);
}

inline Ref<hal::Memory> allocate(Device& device, std::uint64_t size) {
  return device.allocate(size, 0, hal::MemoryType::kDeviceLocal).value();
}

inline hal::CommandRange whole(const Ref<hal::Memory>& memory) {
  return {{memory.get(), 0, memory->size()}};
}

inline hal::Command fill(const hal::CommandRange& target, std::uint32_t pattern,
                         std::uint32_t pattern_size = 4) {
  hal::Command command;
  command.kind = hal::CommandKind::kFill;
  command.fill = {target, pattern, pattern_size};
  return command;
}

inline hal::Command copy(const hal::CommandRange& source, const hal::CommandRange& target) {
  hal::Command command;
  command.kind = hal::CommandKind::kCopy;
  command.copy = {source, target};
  return command;
}

}  // namespace halyard::cpu
