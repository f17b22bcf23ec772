// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: some worker threads and the lanes they serve.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "drivers/cpu/lane.h"
#include "drivers/cpu/ring_group.h"
#include "drivers/cpu/topology.h"
#include "drivers/cpu/workers.h"
#include "hal/device/driver.h"

namespace halyard::inline v0::cpu {

class Device final : public hal::DeviceImpl {
 public:
  // Starts `info.workers` threads on the processors of `placement`. With 0 workers the device runs
  // only in help(). Returns kResourceExhausted, and kUnimplemented if memory cannot be bound to a
  // node.
  static Result<std::unique_ptr<Device>> create(hal::DeviceInfo info,
                                                const Placement& placement = {},
                                                bool strict = false);
  ~Device() override;

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  const void* wait_domain() const noexcept override;
  const void* memory_domain() const noexcept override;
  bool works_in_host_memory() const noexcept override { return true; }
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override;
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override;
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override;
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override;
  // Every kind of queue gets a ring that runs every operation.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind kind,
                                           hal::QueuePriority priority) override;
  void close() override;

  RingGroup& group() noexcept { return running_->group; }

 private:
  Device(hal::DeviceInfo info, std::optional<unsigned> node, bool strict);

  const hal::DeviceInfo info_;
  const std::optional<unsigned> node_;
  const bool strict_;
  // The objects that work that cannot be stopped needs, even after the device is closed.
  struct Running {
    explicit Running(unsigned workers) : group(workers), threads(group) {}
    RingGroup group;
    Workers threads;
    std::vector<std::unique_ptr<Lane>> lanes;
  };

  base::Mutex mutex_;                 // guards the lanes
  std::unique_ptr<Running> running_;  // null once the device is closed
};

}  // namespace halyard::inline v0::cpu
