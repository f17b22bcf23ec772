// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: the lanes of an MTLDevice, and the clock of their timestamps.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/lane.h"
#include "drivers/metal/native_device.h"
#include "hal/device/driver.h"
#include "trace/clock_map.h"

namespace halyard::inline v0::metal {

inline constexpr unsigned kMaxLanes = 64;  // of a device

// Addresses that identify domains: lanes wait natively for lanes of the same wait domain, and
// devices use memory of the same memory domain.
struct Domains {
  const void* wait = nullptr;
  const void* memory = nullptr;
};

class Device final : public hal::DeviceImpl, private trace::DeviceClock {
 public:
  // Returns kResourceExhausted, or an error of BuiltinKernels::prepare().
  static Result<std::unique_ptr<Device>> create(hal::DeviceInfo info, Ref<PhysicalDevice> physical,
                                                Ref<timeline::EntryGuard> guard,
                                                const Domains& domains,
                                                const DeviceOptions& options);
  ~Device() override;

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  timeline::EntryGuard* entry_guard() const noexcept override { return guard_.get(); }
  // A shared event belongs to no device: lanes of all devices of the process wait for each other.
  const void* wait_domain() const noexcept override { return domains_.wait; }
  const void* memory_domain() const noexcept override { return domains_.memory; }
  bool frees_may_block() const noexcept override { return true; }
  bool needs_host_blocks() const noexcept override { return true; }
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override;
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override;
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override;
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override;
  // Each lane has its own MTLCommandQueue. Metal has no queue priorities.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind kind,
                                           hal::QueuePriority priority) override;
  trace::DeviceClock* clock() noexcept override { return this; }
  void close() override;

 private:
  Device(hal::DeviceInfo info, ArgumentHeap heap, Ref<timeline::EntryGuard> guard,
         const Domains& domains);
  Result<trace::ClockPair> read() noexcept override;  // of the clock

  const hal::DeviceInfo info_;
  const Ref<timeline::EntryGuard> guard_;
  const ArgumentHeap heap_;
  const Domains domains_;
  base::Mutex mutex_;  // guards the rest
  std::unique_ptr<Lane> lanes_[kMaxLanes];
  unsigned lane_count_ = 0;
};

}  // namespace halyard::inline v0::metal
