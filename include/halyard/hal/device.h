// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: queues, memory, executables, semaphores. open(), open_all(): devices by URI.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/pool.h"
#include "halyard/hal/queue.h"
#include "halyard/hal/semaphore.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class DeviceObject;

// What a device says of itself; constant for its life.
struct DeviceInfo {
  std::string uri;                   // opens the same device: "cpu://0"
  std::string driver;                // "cpu"
  std::string name;                  // "AMD EPYC 7B13"
  std::vector<std::string> targets;  // executable images it runs, best first: "x86-64-v3"
  std::uint64_t memory_size = 0;     // bytes
  std::uint32_t workers = 0;         // threads (cpu) or multiprocessors
};

// A handle; safe from any thread. Queues, buffers, executables, command buffers and the semaphores
// a device created keep it alive. When the last handle of all these is gone, work in flight ends,
// what is still parked then fails with kCancelled, and the device closes; nothing blocks for that.
class HALYARD_EXPORT Device {
 public:
  Device() noexcept = default;
  explicit Device(DeviceObject* object) noexcept;

  const DeviceInfo& info() const noexcept;  // precondition: not empty
  // Ok, or the kDeviceLost failure with its native origin.
  Status status() const;

  // The device's queue of that kind; the same one every time.
  Queue queue(QueueKind kind = QueueKind::kCompute) const noexcept;

  // `initial` any value up to 2^63-1. `name` shows in dumps.
  Result<Semaphore> create_semaphore(std::uint64_t initial = 0, std::string_view name = {}) const;

  // kResourceExhausted when there is no memory, with the size; kInvalidArgument.
  Result<Buffer> allocate(const BufferInfo& info) const;

  // For Queue::allocate. The default pools live as long as the device, one for each memory type,
  // with the defaults of PoolInfo. kInvalidArgument: a size of 0, an unknown memory type.
  Pool default_pool(MemoryType memory = MemoryType::kDeviceLocal) const noexcept;
  Result<Pool> create_pool(const PoolInfo& info) const;

  // A .hyx file or its bytes (copied). kNotFound, kDataLoss (damaged), kUnavailable (no image this
  // device runs). `name` stands for the file in messages.
  Result<Executable> load(const std::string& path) const;
  Result<Executable> load(Bytes image, std::string_view name) const;

  // What every parked or issued submission waits for, and who was to signal it; for people.
  std::string dump_timelines() const;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Device& a, const Device& b) noexcept = default;
  DeviceObject* object() const noexcept { return reinterpret_cast<DeviceObject*>(object_.get()); }

 private:
  HandleRef<RefCounted> object_;
};

// "cpu://", "cpu://1", "cpu://?devices=4&workers=2". One runtime per process serves all of these;
// its drivers are started on first use and its threads with their first work. Opening a URI twice
// gives two independent devices. kInvalidArgument for a malformed URI or option, kNotFound for an
// unknown driver or device, naming what there is. Where the URI describes several devices, open()
// gives the first.
HALYARD_EXPORT Result<Device> open(std::string_view uri);
// All devices the URI describes, at least one.
HALYARD_EXPORT Result<std::vector<Device>> open_all(std::string_view uri);

// What can be opened on this machine, without opening it.
HALYARD_EXPORT Result<std::vector<DeviceInfo>> enumerate();

}  // namespace halyard::inline v0::hal
