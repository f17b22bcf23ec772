// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: some lanes, each with its thread.
#pragma once

#include <memory>

#include "base/mutex.h"
#include "drivers/serial/lane.h"
#include "hal/device/driver.h"

namespace halyard::inline v0::serial {

inline constexpr unsigned kMaxLanes = 64;  // of a device; each costs a thread

class Device final : public hal::DeviceImpl {
 public:
  // `domain`: the domain of its lanes and memory.
  Device(hal::DeviceInfo info, const void* domain);
  ~Device() override;

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  const void* wait_domain() const noexcept override { return domain_; }
  const void* memory_domain() const noexcept override { return domain_; }
  bool works_in_host_memory() const noexcept override { return true; }
  // True as for devices that copy by themselves, although this device could use any memory.
  bool needs_host_blocks() const noexcept override { return true; }
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override;
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override;
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override;
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override;
  // Every lane runs every operation; priorities are ignored, as the system schedules the threads.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind kind,
                                           hal::QueuePriority priority) override;
  void close() override;

 private:
  const hal::DeviceInfo info_;
  const void* const domain_;
  base::Mutex mutex_;  // guards the following members
  std::unique_ptr<Lane> lanes_[kMaxLanes];
  unsigned lane_count_ = 0;
};

}  // namespace halyard::inline v0::serial
