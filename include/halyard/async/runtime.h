// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime: the devices of a program, and the policy that places its operations on them.
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

// The path of this header; kernels are installed beside it. __FILE__ may be relative, for instance
// with ccache, so the CMake package defines the absolute path.
#ifndef HALYARD_RUNTIME_HEADER
#define HALYARD_RUNTIME_HEADER __FILE__
#endif

namespace halyard::inline v0::async {

struct RuntimeInfo {
  // Folders with .hyx files, searched in this order. Afterwards these folders are searched:
  //
  //   kernels, ../share/halyard/kernels  beside the program (halyard_add_kernels() uses the first)
  //   the same                           beside Halyard's shared library
  //   share/halyard/kernels              in the installation of this header
  std::vector<std::string> kernels{};
  std::size_t queues = 1;  // of each device, at least 1
  Policy policy = global_policy(0);
  const char* header = HALYARD_RUNTIME_HEADER;  // ignored if relative
};

// A handle, safe from any thread. The devices close when its last copy and last tensor are dropped.
class HALYARD_EXPORT Runtime {
 public:
  Runtime() noexcept = default;

  // Opens all devices of the URI, such as "cpu://?devices=2", or of several that are separated by
  // commas, such as "cpu://,serial://". Errors of hal::open_all; kInvalidArgument for 0 queues.
  static Result<Runtime> open(std::string_view uri, RuntimeInfo info = {});
  // At least one device, all of one hal runtime; otherwise kInvalidArgument.
  static Result<Runtime> create(std::vector<hal::Device> devices, RuntimeInfo info = {});

  std::span<const Device> devices() const noexcept;
  Device device(std::size_t index = 0) const noexcept;  // checks nothing; see Device::status()
  std::span<const QueueRef> queues() const noexcept;    // of all devices
  // Places the trees that name no queue.
  const Policy& policy() const noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(object_); }
  friend bool operator==(const Runtime&, const Runtime&) noexcept = default;

 private:
  Ref<RefCounted> object_;
};

}  // namespace halyard::inline v0::async
