// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device: one of the devices of a Runtime (runtime.h). QueueRef: one of its queues.
#pragma once

#include <cstddef>
#include <utility>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::async {

class GlobalPolicy;
class QueueRef;
class Runtime;

namespace detail {
class DeviceState;
class RuntimeObject;
struct QueueState;
}  // namespace detail

// A device of a Runtime. A handle; safe from any thread. Tensors and what is awaited keep all
// devices of their runtime open, as work of one may wait for another.
class HALYARD_EXPORT Device {
 public:
  Device() noexcept = default;

  // Of device(i) without such a device, and of an empty handle: what awaiting an operation on it
  // gives (kOutOfRange, kInvalidArgument).
  Status status() const;
  hal::Device hal() const noexcept;  // empty unless status() is ok

  // RuntimeInfo::queues; 0 unless status() is ok. queue() as Runtime::device().
  std::size_t queue_count() const noexcept;
  QueueRef queue(std::size_t index = 0) const noexcept;
  QueueRef next_queue() const noexcept;  // one after another, for all who ask

  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.state_ == b.state_ && a.index_ == b.index_;
  }
  detail::DeviceState* state() const noexcept;

 private:
  friend class GlobalPolicy;
  friend class Runtime;
  friend class detail::DeviceState;
  friend class detail::RuntimeObject;
  Device(Ref<RefCounted> state, std::size_t index, std::size_t count) noexcept
      : state_(std::move(state)), index_(index), count_(count) {}

  Ref<RefCounted> state_;
  std::size_t index_ = 0;
  std::size_t count_ = 0;  // devices that the runtime has
};

// A queue of a device: the operations of one tree run there one after another. Trees on several
// queues of one device may run at once. A device is its first queue, where one is wanted.
class HALYARD_EXPORT QueueRef {
 public:
  QueueRef() noexcept = default;
  QueueRef(Device device, std::size_t index = 0) noexcept
      : device_(std::move(device)), index_(index) {}

  const Device& device() const noexcept { return device_; }
  std::size_t index() const noexcept { return index_; }
  // The device's; kOutOfRange without such a queue.
  Status status() const;

  // Trees that somebody awaits there now.
  std::size_t load() const noexcept;

  friend bool operator==(const QueueRef& a, const QueueRef& b) noexcept = default;
  detail::QueueState* state() const noexcept;  // precondition: status() is ok

 private:
  Device device_;
  std::size_t index_ = 0;
};

inline QueueRef Device::queue(std::size_t index) const noexcept { return {*this, index}; }

}  // namespace halyard::inline v0::async
