// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NativeDevice: the state that lanes, memory, executables and recordings of one open device share,
// with its loss. Two Halyard devices on one MTLDevice use each other's memory and events, but each
// is lost only by its own faults: a failed command buffer does not affect the MTLDevice.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>

#include "base/atomic.h"
#include "base/mutex.h"
#include "drivers/metal/notifier.h"
#include "drivers/metal/physical_device.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::metal {

// Options of a device URI (driver.h).
struct DeviceOptions {
  Nanoseconds poll_time = 0;      // QueueCapabilities::poll_time of lanes
  std::uint64_t page = 0;         // bytes; imports are widened to it
  bool uses_heaps = false;        // small device memory comes from heaps
  bool managed = false;           // kHostVisible is Managed if the memory is not unified
  std::uint32_t split_after = 0;  // commands in one command buffer
};

// Puts an autorelease pool around every call from the engine and the HAL. Shared by all devices.
class PoolGuard final : public timeline::EntryGuard {
 public:
  void enter(Saved& saved, timeline::Calls calls) noexcept override;
  void leave(const Saved& saved) noexcept override;
};

class NativeDevice final : public RefCounted {
 public:
  // Returns kResourceExhausted if Metal makes no listener.
  static Result<Ref<NativeDevice>> create(Ref<PhysicalDevice> physical,
                                          const DeviceOptions& options);

  id<MTLDevice> handle() const noexcept { return physical_->handle(); }
  PhysicalDevice& physical() const noexcept { return *physical_; }
  const DeviceOptions& options() const noexcept { return options_; }
  Notifier& notifier() noexcept { return notifier_; }
  BuiltinKernels& builtins() const noexcept { return physical_->builtins(); }

  // Records the loss and wakes all waiters; only the first call counts. The caller holds no lock.
  void lose(Status cause) noexcept;
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  Status loss() const;

  // Returns a Private buffer from a heap, and makes a heap if needed. Nil if there is no memory.
  Retained<id<MTLBuffer>> take_from_heap(std::uint64_t size);

 private:
  NativeDevice(Ref<PhysicalDevice> physical, const DeviceOptions& options) noexcept
      : physical_(std::move(physical)), options_(options) {}
  ~NativeDevice() override;

  const Ref<PhysicalDevice> physical_;
  const DeviceOptions options_;
  Notifier notifier_;
  mutable base::Mutex mutex_;  // guards cause_ until lost_ is set, and heap_
  Status cause_;
  base::Atomic<bool> lost_{false};
  Retained<id<MTLHeap>> heap_;  // the latest one; its buffers retain it
};

}  // namespace halyard::inline v0::metal
