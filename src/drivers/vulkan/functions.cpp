// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/functions.h"

namespace halyard::inline v0::vulkan {

#define HALYARD_VULKAN_LIST(function, error) \
  HALYARD_LIST_CALL_SITE(function##_listed, call_site::function);
HALYARD_VULKAN_LOADER(HALYARD_VULKAN_LIST)
HALYARD_VULKAN_INSTANCE(HALYARD_VULKAN_LIST)
HALYARD_VULKAN_DEVICE(HALYARD_VULKAN_LIST)
HALYARD_VULKAN_EXTENSIONS(HALYARD_VULKAN_LIST)
HALYARD_VULKAN_INSTANCE_EXTENSIONS(HALYARD_VULKAN_LIST)
#undef HALYARD_VULKAN_LIST

#define HALYARD_VULKAN_GET(function, pointer) \
  pointer = reinterpret_cast<PFN_##function>(get(#function))
#define HALYARD_VULKAN_NEED(function, error)      \
  HALYARD_VULKAN_GET(function, function.pointer); \
  if (function.pointer == nullptr) return #function;
#define HALYARD_VULKAN_NEED_VOID(function) \
  HALYARD_VULKAN_GET(function, function);  \
  if (function == nullptr) return #function;
#define HALYARD_VULKAN_MAY(function, error) HALYARD_VULKAN_GET(function, function.pointer);
#define HALYARD_VULKAN_MAY_VOID(function) HALYARD_VULKAN_GET(function, function);

const char* Functions::load_loader(PFN_vkGetInstanceProcAddr get_address) noexcept {
  vkGetInstanceProcAddr = get_address;
  const auto get = [&](const char* name) { return get_address(nullptr, name); };
  HALYARD_VULKAN_LOADER(HALYARD_VULKAN_NEED)
  return nullptr;
}

const char* Functions::load_instance(VkInstance instance) noexcept {
  const auto get = [&](const char* name) { return vkGetInstanceProcAddr(instance, name); };
  HALYARD_VULKAN_INSTANCE(HALYARD_VULKAN_NEED)
  HALYARD_VULKAN_INSTANCE_VOID(HALYARD_VULKAN_NEED_VOID)
  HALYARD_VULKAN_INSTANCE_EXTENSIONS(HALYARD_VULKAN_MAY)
  return nullptr;
}

const char* Functions::load_device(VkDevice device) noexcept {
  const auto get = [&](const char* name) { return vkGetDeviceProcAddr(device, name); };
  HALYARD_VULKAN_DEVICE(HALYARD_VULKAN_NEED)
  HALYARD_VULKAN_DEVICE_VOID(HALYARD_VULKAN_NEED_VOID)
  HALYARD_VULKAN_EXTENSIONS(HALYARD_VULKAN_MAY)
  HALYARD_VULKAN_EXTENSIONS_VOID(HALYARD_VULKAN_MAY_VOID)
  return nullptr;
}

}  // namespace halyard::inline v0::vulkan
