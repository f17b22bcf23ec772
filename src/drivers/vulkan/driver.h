// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vulkan driver: GPUs with Vulkan 1.3, and Mesa's lavapipe on a CPU (docs/drivers/vulkan.md).
//
// "vulkan://" names all devices, "vulkan://K" the device with ordinal K in the order of Vulkan's
// loader. Options:
//
//   devices=N   the number of devices, 1 to 64; by default as many as Vulkan has. With more than
//               that, several devices share a GPU: ordinals start over
//   cache=0     pipelines are not cached on disk. Default 1
//   poll_time=N a waiting thread polls for N microseconds before it sleeps, up to 1000000; with 0
//               it polls for about 2. Default 2000, and 0 for a device that is a CPU
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
