// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vulkan driver: GPUs with Vulkan 1.3, and Mesa's lavapipe on a CPU (docs/drivers/vulkan.md).
//
// "vulkan://" names all devices, "vulkan://K" the one of ordinal K, in the order of Vulkan's
// loader. Options:
//
//   devices=N   how many devices there are: 1 to 64, by default as many as Vulkan has. Beyond that
//               ordinals begin again with the first one: two devices on one GPU
//   cache=0     what Vulkan's driver compiles is not kept on disk; 1 by default
//   poll_time=N a thread that waits polls for N microseconds before it sleeps, up to 1000000;
//               0: some 2. Default 2000, and 0 for a device that is a CPU
//
// The loader is the file that HALYARD_VULKAN_LIBRARY names, else libvulkan.so.1.
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
