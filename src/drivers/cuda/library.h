// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library: one libcuda that is loaded and initialized, with its devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/functions.h"
#include "drivers/cuda/peers.h"
#include "drivers/cuda/physical_device.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::cuda {

class Library {
 public:
  // The library of `file`; if that is empty, of HALYARD_CUDA_LIBRARY; else libcuda.so.1. Loaded by
  // the first call for its name and kept until the process ends, as CUDA itself is. Errors:
  //   kNotFound     the file cannot be opened, or CUDA_ERROR_NO_DEVICE
  //   kUnavailable  a driver that lacks a symbol, which the message names; another failure of
  //   cuInit
  static Result<const Library*> open(std::string_view file);

  const Functions& functions() const noexcept { return functions_; }
  // In CUDA's order, usable or not; at least one and at most kMaxDevices. Constant.
  const std::vector<PhysicalDevice>& devices() const noexcept { return devices_; }

  // Streams of all devices wait for each other's events.
  const void* wait_domain() const noexcept { return this; }
  // Memory belongs to one GPU. Devices that leave its peers alone have domains of their own.
  const void* memory_domain(unsigned physical, bool with_peers) const noexcept {
    return &domains_[with_peers ? 1 : 0][physical];
  }
  PeerAccess& peers() const noexcept { return peers_; }

 private:
  explicit Library(std::string file) noexcept : file_(std::move(file)) {}
  Status load();

  const std::string file_;
  Functions functions_;
  std::vector<PhysicalDevice> devices_;
  const char domains_[2][kMaxDevices] = {};
  mutable PeerAccess peers_;
  std::unique_ptr<Library> next_;  // in the list of all
};

}  // namespace halyard::inline v0::cuda
