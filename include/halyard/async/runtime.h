// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime: the devices that a program computes on. Device: one of them.
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

class Runtime;

namespace detail {
class DeviceQueue;
class RuntimeObject;
}  // namespace detail

// A device of a Runtime and its queue, on which the operations of one tree run one after another in
// the order in which they are submitted. A handle; safe from any thread. Tensors keep their device.
class HALYARD_EXPORT Device {
 public:
  Device() noexcept = default;

  // Of device(i) without such a device, and of an empty handle: what awaiting an operation on it
  // gives (kOutOfRange, kInvalidArgument).
  Status status() const;
  hal::Device hal() const noexcept;  // empty unless status() is ok

  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.queue_ == b.queue_ && a.index_ == b.index_;
  }
  detail::DeviceQueue* queue() const noexcept;

 private:
  friend class Runtime;
  friend class detail::RuntimeObject;
  Device(Ref<RefCounted> queue, std::size_t index, std::size_t count) noexcept
      : queue_(std::move(queue)), index_(index), count_(count) {}

  Ref<RefCounted> queue_;
  std::size_t index_ = 0;
  std::size_t count_ = 0;  // devices that the runtime has
};

struct RuntimeInfo {
  // Folders with .hyx files, searched in this order. Behind them come: `kernels` beside the
  // program, where halyard_add_kernels() puts them, and ../share/halyard/kernels, seen from the
  // program and from Halyard's shared library: what is installed.
  std::vector<std::string> kernels{};
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
