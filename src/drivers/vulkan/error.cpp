// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/error.h"

#include <string>

#include "base/format.h"

namespace halyard::inline v0::vulkan {
namespace {

struct Named {
  VkResult result;
  StatusCode code;
  const char* name;
};

// The results in VkResult that a function of functions.h may return.
constexpr Named kNamed[] = {
#define HALYARD_VULKAN_RESULT(result, code) \
  { result, StatusCode::code, #result }
    HALYARD_VULKAN_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY, kResourceExhausted),
    HALYARD_VULKAN_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY, kResourceExhausted),
    HALYARD_VULKAN_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY, kResourceExhausted),
    HALYARD_VULKAN_RESULT(VK_ERROR_TOO_MANY_OBJECTS, kResourceExhausted),
    HALYARD_VULKAN_RESULT(VK_ERROR_FRAGMENTED_POOL, kResourceExhausted),
    HALYARD_VULKAN_RESULT(VK_ERROR_MEMORY_MAP_FAILED, kResourceExhausted),
    HALYARD_VULKAN_RESULT(VK_ERROR_DEVICE_LOST, kDeviceLost),
    HALYARD_VULKAN_RESULT(VK_ERROR_INITIALIZATION_FAILED, kUnavailable),
    HALYARD_VULKAN_RESULT(VK_ERROR_LAYER_NOT_PRESENT, kUnavailable),
    HALYARD_VULKAN_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT, kUnavailable),
    HALYARD_VULKAN_RESULT(VK_ERROR_FEATURE_NOT_PRESENT, kUnavailable),
    HALYARD_VULKAN_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER, kUnavailable),
    HALYARD_VULKAN_RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE, kInvalidArgument),
    HALYARD_VULKAN_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, kInvalidArgument),
    HALYARD_VULKAN_RESULT(VK_ERROR_UNKNOWN, kInternal),
    HALYARD_VULKAN_RESULT(VK_TIMEOUT, kDeadlineExceeded),
    HALYARD_VULKAN_RESULT(VK_NOT_READY, kInternal),
#undef HALYARD_VULKAN_RESULT
};

}  // namespace

Status to_status(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return {};
  const std::string message = base::format("vulkan: {} failed", call);
  for (const Named& named : kNamed) {
    if (named.result == result) return Status(named.code, message, named.name);
  }
  return Status(StatusCode::kInternal, message,
                base::format("VkResult {}", static_cast<int>(result)));
}

}  // namespace halyard::inline v0::vulkan
