// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VkResult as a Status.
#pragma once

#include "drivers/vulkan/functions.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::vulkan {

// Returns ok for every success code. Otherwise the message is "vulkan: <call> failed", with the
// native name, and the code is
//
//   kResourceExhausted  out of host, device or pool memory, too many objects
//   kDeviceLost         VK_ERROR_DEVICE_LOST
//   kUnavailable        a layer, extension, feature or driver is missing
//   kInvalidArgument    an external handle or address that cannot be used
//   kInternal           any other
[[nodiscard]] Status to_status(VkResult result, const char* call);

}  // namespace halyard::inline v0::vulkan
