// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime: the devices that a program computes on, and the policy that says on which.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/async/device.h"
#include "halyard/async/policy.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/device.h"

// Where this header is. Compilers are given relative paths at times, by ccache for one: then the
// package for CMake knows better.
#ifndef HALYARD_RUNTIME_HEADER
#define HALYARD_RUNTIME_HEADER __FILE__
#endif

namespace halyard::inline v0::async {

struct RuntimeInfo {
  // Folders with .hyx files, searched in this order. Behind them come: `kernels` beside the
  // program, where halyard_add_kernels() puts them, and ../share/halyard/kernels, seen from the
  // program and from Halyard's shared library; then what is installed with this header.
  std::vector<std::string> kernels{};
  std::size_t queues = 1;  // of each device, at least 1
  Policy policy = global_policy(0);
  const char* header = HALYARD_RUNTIME_HEADER;  // not looked at where it is relative
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
  Device device(std::size_t index = 0) const noexcept;  // see Device::status()
  std::span<const QueueRef> queues() const noexcept;    // of all devices
  // Where trees run that name no queue.
  const Policy& policy() const noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Runtime&, const Runtime&) noexcept = default;

 private:
  Ref<RefCounted> object_;
};

}  // namespace halyard::inline v0::async
