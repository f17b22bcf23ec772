// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <new>

#include "base/format.h"
#include "drivers/vulkan/error.h"

namespace halyard::inline v0::vulkan {
namespace {

HALYARD_CALL_SITE(kOpen, "vulkan.dlopen", ENOENT);
HALYARD_CALL_SITE(kFind, "vulkan.dlsym", ENOENT);

}  // namespace

Result<Ref<Library>> Library::open() {
  auto library = Ref<Library>::adopt(new (std::nothrow) Library);
  if (!library) return error(StatusCode::kResourceExhausted, "vulkan: no memory for the loader");
  HALYARD_RETURN_IF_ERROR(library->load());
  HALYARD_RETURN_IF_ERROR(library->create_instance());
  HALYARD_ASSIGN_OR_RETURN(library->devices_,
                           find_physical_devices(library->functions_, library->instance_));
  return library;
}

Library::~Library() {
  if (instance_ != VK_NULL_HANDLE) functions_.vkDestroyInstance(instance_, nullptr);
}

Status Library::load() {
  const char* const chosen = std::getenv("HALYARD_VULKAN_LIBRARY");
  const char* const file = chosen != nullptr && *chosen != '\0' ? chosen : "libvulkan.so.1";
  void* const loader =
      base::native_call(kOpen, [&] { return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); });
  if (loader == nullptr) {
    const char* const why = dlerror();
    return error(StatusCode::kNotFound, "vulkan: {} cannot be opened: {}", file,
                 why != nullptr ? why : "no reason given");
  }
  const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      base::native_call(kFind, [&] { return dlsym(loader, "vkGetInstanceProcAddr"); }));
  const char* const missing =
      get == nullptr ? "vkGetInstanceProcAddr" : functions_.load_loader(get);
  if (missing == nullptr) return {};
  return error(StatusCode::kUnavailable, "vulkan: {} has no {}; Vulkan 1.3 is needed", file,
               missing);
}

Status Library::create_instance() {
  std::uint32_t version = 0;
  HALYARD_RETURN_IF_ERROR(
      to_status(functions_.vkEnumerateInstanceVersion(&version), "vkEnumerateInstanceVersion"));
  if (version < VK_API_VERSION_1_3) {
    return error(StatusCode::kUnavailable, "vulkan: the loader has Vulkan {}.{}; 1.3 is needed",
                 VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  }
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .pNext = nullptr,
                                         .pApplicationName = nullptr,
                                         .applicationVersion = 0,
                                         .pEngineName = "Halyard",
                                         .engineVersion = 0,
                                         .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  const VkResult result = functions_.vkCreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return Status(StatusCode::kNotFound, "vulkan: the loader finds no device driver",
                  "VK_ERROR_INCOMPATIBLE_DRIVER");
  }
  HALYARD_RETURN_IF_ERROR(to_status(result, "vkCreateInstance"));
  const char* const missing = functions_.load_instance(instance_);
  if (missing == nullptr) return {};
  return error(StatusCode::kUnavailable, "vulkan: the instance has no {}", missing);
}

}  // namespace halyard::inline v0::vulkan
