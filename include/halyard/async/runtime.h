// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime: the devices that a program computes on. Device: one of them. QueueRef: a queue of one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/device.h"

namespace halyard::inline v0::async {

class QueueRef;
class Runtime;

namespace detail {
class DeviceState;
class RuntimeObject;
struct QueueState;
}  // namespace detail

// A device of a Runtime. A handle; safe from any thread. Tensors keep their device.
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

  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.state_ == b.state_ && a.index_ == b.index_;
  }
  detail::DeviceState* state() const noexcept;

 private:
  friend class Runtime;
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

  friend bool operator==(const QueueRef& a, const QueueRef& b) noexcept = default;
  detail::QueueState* state() const noexcept;  // precondition: status() is ok

 private:
  Device device_;
  std::size_t index_ = 0;
};

inline QueueRef Device::queue(std::size_t index) const noexcept { return {*this, index}; }

struct RuntimeInfo {
  // Folders with .hyx files, searched in this order. Behind them come: `kernels` beside the
  // program, where halyard_add_kernels() puts them, and ../share/halyard/kernels, seen from the
  // program and from Halyard's shared library: what is installed.
  std::vector<std::string> kernels{};
  std::size_t queues = 1;  // of each device, at least 1
};

// A handle: the last of its copies and of its tensors closes the devices. Safe from any thread.
class HALYARD_EXPORT Runtime {
 public:
  Runtime() noexcept = default;

  // All devices that the URI describes: "cpu://?devices=2". Errors of hal::open_all.
  static Result<Runtime> open(std::string_view uri, RuntimeInfo info = {});
  // At least one device, all of one hal runtime; kInvalidArgument.
  static Result<Runtime> create(std::vector<hal::Device> devices, RuntimeInfo info = {});

  std::span<const Device> devices() const noexcept;
  // The first is where operations run that name no other. See Device::status().
  Device device(std::size_t index = 0) const noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Runtime&, const Runtime&) noexcept = default;

 private:
  Ref<RefCounted> object_;
};

}  // namespace halyard::inline v0::async
