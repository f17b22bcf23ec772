// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeDevice: a context, and lanes in it.
#pragma once

#include <cstdint>
#include <memory>

#include "drivers/stream/command_buffer.h"
#include "drivers/stream/context.h"
#include "drivers/stream/lane_set.h"
#include "hal/device/driver.h"
#include "simulation/stream/fake_api.h"

namespace halyard::inline v0::stream {

inline constexpr std::uint32_t kMaxInFlight = 64;  // native commands in a lane

using StreamLane = Lane<FakeApi, StreamCommands<FakeApi>>;

class FakeDevice final : public hal::DeviceImpl {
 public:
  // Returns kResourceExhausted if out of memory.
  static Result<std::unique_ptr<FakeDevice>> create(hal::DeviceInfo info, unsigned ordinal,
                                                    const FakeApi& api, CommandBufferMode mode);
  ~FakeDevice() override;

  const hal::DeviceInfo& info() const noexcept override { return info_; }
  timeline::EntryGuard* entry_guard() const noexcept override { return guard_.get(); }
  bool frees_may_block() const noexcept override { return true; }
  const void* wait_domain() const noexcept override;
  const void* memory_domain() const noexcept override;
  Result<Ref<hal::Memory>> allocate(std::uint64_t size, std::uint64_t alignment,
                                    hal::MemoryType type) override;
  Result<Ref<hal::Memory>> import_memory(std::byte* data, std::uint64_t size) override;
  Result<Ref<hal::ExecutableImpl>> load(kernel::Hyx file) override;
  Result<std::unique_ptr<hal::NativeCommands>> prepare(
      const hal::RecordedCommands& recording) override;
  // Every lane runs every operation; priorities are ignored.
  Result<timeline::NativeQueue*> open_lane(hal::QueueKind kind,
                                           hal::QueuePriority priority) override;
  void close() override;

 private:
  FakeDevice(hal::DeviceInfo info, const FakeApi& api, CommandBufferMode mode,
             Ref<timeline::EntryGuard> guard);

  const hal::DeviceInfo info_;
  const FakeApi api_;
  const CommandBufferMode mode_;
  const Ref<timeline::EntryGuard> guard_;
  LaneSet<FakeApi> lanes_;
};

}  // namespace halyard::inline v0::stream
