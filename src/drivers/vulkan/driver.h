// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vulkan driver: GPUs with Vulkan 1.3, and Mesa's lavapipe on a CPU (docs/drivers/vulkan.md).
//
// "vulkan://" names all devices, "vulkan://K" the device with ordinal K in the order of Vulkan's
// loader.
//
// The loader is the file that HALYARD_VULKAN_LIBRARY names, by default libvulkan.so.1.
#pragma once

#include "halyard/base/status.h"

namespace halyard::inline v0 {

namespace hal {
class DriverRegistry;
}

namespace vulkan {

inline constexpr unsigned kMaxDevices = 64;

Status register_vulkan_driver(hal::DriverRegistry& registry);

}  // namespace vulkan
}  // namespace halyard::inline v0
