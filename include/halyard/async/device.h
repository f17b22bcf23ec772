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

// A device of a Runtime. A handle, safe from any thread. Tensors and awaited operations keep all
// devices of their runtime open, because work of one device may wait for another.
class HALYARD_EXPORT Device {
 public:
  Device() noexcept = default;

  // The error of operations on it: kOutOfRange if the runtime has no device of this index,
  // kInvalidArgument for an empty handle.
  Status status() const;
  hal::Device hal() const noexcept;  // empty unless status() is ok

  // RuntimeInfo::queues; 0 unless status() is ok. queue() checks nothing; see QueueRef::status().
  std::size_t queue_count() const noexcept;
  QueueRef queue(std::size_t index = 0) const noexcept;
  QueueRef next_queue() const noexcept;  // round-robin over all callers

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
  std::size_t count_ = 0;  // devices of the runtime
};

// A queue of a device. The operations of one tree run on it one after another; trees on different
// queues may run concurrently. A Device converts to its first queue. Safe from any thread.
class HALYARD_EXPORT QueueRef {
 public:
  QueueRef() noexcept = default;
  QueueRef(Device device, std::size_t index = 0) noexcept
      : device_(std::move(device)), index_(index) {}

  const Device& device() const noexcept { return device_; }
  std::size_t index() const noexcept { return index_; }
  // The device's status; kOutOfRange if it has no queue of this index.
  Status status() const;

  // The number of trees on this queue that are being awaited.
  std::size_t load() const noexcept;

  friend bool operator==(const QueueRef& a, const QueueRef& b) noexcept = default;
  detail::QueueState* state() const noexcept;  // precondition: status() is ok

 private:
  Device device_;
  std::size_t index_ = 0;
};

inline QueueRef Device::queue(std::size_t index) const noexcept { return {*this, index}; }

}  // namespace halyard::inline v0::async
