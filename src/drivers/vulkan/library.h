// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library: Vulkan's loader, opened at run time, and an instance of it.
#pragma once

#include <memory>
#include <vector>

#include "drivers/vulkan/functions.h"
#include "drivers/vulkan/physical_device.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

// Its devices and their memory keep it alive, so it may outlive the driver. The loader is never
// unloaded, since threads of native drivers may still run its code.
class Library final : public RefCounted {
 public:
  // Opens the file that HALYARD_VULKAN_LIBRARY names, by default libvulkan.so.1. Errors:
  //   kNotFound     there is no loader, or no device driver for it
  //   kUnavailable  the loader is older than Vulkan 1.3, or lacks a function; the message names it
  //   kResourceExhausted
  static Result<Ref<Library>> open();

  // Functions of the loader and of the instance. Devices copy it and add their own.
  const Functions& functions() const noexcept { return functions_; }
  // The devices of the instance in the loader's order, usable or not. Constant.
  const std::vector<PhysicalDevice>& devices() const noexcept { return devices_; }

 private:
  Library() noexcept = default;
  ~Library() override;
  Status load();
  Status create_instance();

  Functions functions_;
  VkInstance instance_ = VK_NULL_HANDLE;
  std::vector<PhysicalDevice> devices_;
};

}  // namespace halyard::inline v0::vulkan
