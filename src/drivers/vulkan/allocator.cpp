// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/allocator.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kHostPointer =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

constexpr VkExternalMemoryHandleTypeFlagBits kDescriptor =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

constexpr VkMemoryAllocateFlagsInfo kWithAddress = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
    .pNext = nullptr,
    .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    .deviceMask = 0};

// The alignment of an allocation that requests none (BufferInfo::alignment).
constexpr std::uint64_t kDefaultAlignment = 64;

bool is_aligned(const void* host, VkDeviceAddress address, std::uint64_t alignment) noexcept {
  return ((reinterpret_cast<std::uintptr_t>(host) | address) & (alignment - 1)) == 0;
}

// Ok if the device shares buffers that way.
Status check_sharing(const PhysicalDevice& physical, Sharing sharing) {
  const bool exports = sharing == Sharing::kExport;
  const VkExternalMemoryFeatureFlags needed = exports ? VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT
                                                      : VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
  if (sharing == Sharing::kNone || (physical.by_descriptor & needed) != 0) return {};
  if (physical.by_descriptor == 0) {
    return Status(StatusCode::kUnimplemented,
                  "vulkan: the device shares no memory: it lacks VK_KHR_external_memory_fd");
  }
  return error(StatusCode::kUnimplemented, "vulkan: the device {} no buffers by file descriptors",
               exports ? "exports" : "imports");
}

// Adds the size to the status of a failed allocation of `size` bytes.
Status for_bytes(const Status& status, std::uint64_t size) {
  return Status(status.code(), base::format("{} for {} bytes", status.message(), size),
                status.native_error());
}

}  // namespace

DeviceMemory::DeviceMemory(Ref<NativeDevice> device, const Native& native, std::uint64_t size,
                           hal::MemoryType type, const void* domain) noexcept
    : Memory(size, type, native.host, native.address, domain),
      device_(std::move(device)),
      native_(native) {}

DeviceMemory::~DeviceMemory() { free_native(*device_, native_); }

void DeviceMemory::free_native(NativeDevice& device, const Native& native) noexcept {
  device.vk().vkDestroyBuffer(device.handle(), native.buffer, nullptr);
  device.vk().vkFreeMemory(device.handle(), native.memory, nullptr);  // unmaps it, too
}

Status DeviceMemory::create_buffer(NativeDevice& device, std::uint64_t size,
                                   VkExternalMemoryHandleTypeFlags types, Native& out) {
  const std::uint32_t families[] = {device.physical().compute.index, device.physical().copy.index};
  VkExternalMemoryBufferCreateInfo external = {};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = types;
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = types != 0 ? &external : nullptr;
  info.size = size;
  info.usage = kBufferUsage;
  if (device.family_count() > 1) {
    info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    info.queueFamilyIndexCount = device.family_count();
    info.pQueueFamilyIndices = families;
  }
  return device.check(device.vk().vkCreateBuffer(device.handle(), &info, nullptr, &out.buffer),
                      "vkCreateBuffer");
}

Status DeviceMemory::bind(NativeDevice& device, Native& native) {
  HALYARD_RETURN_IF_ERROR(
      device.check(device.vk().vkBindBufferMemory(device.handle(), native.buffer, native.memory, 0),
                   "vkBindBufferMemory"));
  VkBufferDeviceAddressInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  info.buffer = native.buffer;
  native.address = device.vk().vkGetBufferDeviceAddress(device.handle(), &info) + native.offset;
  return {};
}

Result<Ref<DeviceMemory>> DeviceMemory::adopt(Ref<NativeDevice> device, const Native& native,
                                              std::uint64_t size, hal::MemoryType type,
                                              const void* domain) {
  auto* const memory = new (std::nothrow) DeviceMemory(device, native, size, type, domain);
  if (memory != nullptr) return Ref<DeviceMemory>::adopt(memory);
  free_native(*device, native);
  return error(StatusCode::kResourceExhausted, "vulkan: no memory for a buffer's description");
}

Result<Ref<DeviceMemory>> DeviceMemory::allocate(Ref<NativeDevice> device, const Request& request,
                                                 const void* domain) {
  HALYARD_RETURN_IF_ERROR(check_sharing(device->physical(), request.sharing));
  const std::uint64_t alignment = std::max(request.alignment, kDefaultAlignment);
  Native native;
  Status status = make(*device, request, request.size, native);
  // Vulkan guarantees only VkMemoryRequirements::alignment for a buffer, and minMemoryMapAlignment
  // for mapped memory. Drivers return whole pages, so this is rare.
  if (status.ok() && !is_aligned(native.host, native.address, alignment) &&
      request.sharing == Sharing::kNone) {
    free_native(*device, native);
    native = {};
    status = make(*device, request, request.size + alignment, native);
    if (status.ok()) align(native, alignment);
    if (status.ok() && !is_aligned(native.host, native.address, alignment)) {
      status =
          error(StatusCode::kUnavailable,
                "vulkan: the device maps no memory at multiples of {}, as it sees it", alignment);
    }
  }
  if (!status.ok()) {
    free_native(*device, native);
    return for_bytes(status, request.size);
  }
  return adopt(std::move(device), native, request.size, request.type, domain);
}

void DeviceMemory::align(Native& native, std::uint64_t alignment) noexcept {
  const std::uint64_t begin =
      native.host != nullptr ? reinterpret_cast<std::uintptr_t>(native.host) : native.address;
  const std::uint64_t skipped = -begin & (alignment - 1);
  native.offset += skipped;
  native.address += skipped;
  if (native.host != nullptr) native.host += skipped;
}

Status DeviceMemory::make(NativeDevice& device, const Request& request, std::uint64_t size,
                          Native& native) {
  const Functions& vk = device.vk();
  native.exportable = request.sharing == Sharing::kExport;
  // Never empty, and whole words, so that every fill of a multiple of 4 bytes is in range.
  HALYARD_RETURN_IF_ERROR(
      create_buffer(device, (std::max<std::uint64_t>(size, 4) + 3) & ~std::uint64_t{3},
                    request.sharing != Sharing::kNone ? kDescriptor : 0, native));
  VkMemoryDedicatedAllocateInfo dedicated = {};
  dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
  dedicated.pNext = &kWithAddress;
  dedicated.buffer = native.buffer;
  const bool is_dedicated =
      request.sharing != Sharing::kNone &&
      (device.physical().by_descriptor & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
  const void* const last = is_dedicated ? static_cast<const void*>(&dedicated) : &kWithAddress;
  VkExportMemoryAllocateInfo exported = {};
  exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
  exported.pNext = last;
  exported.handleTypes = kDescriptor;
  VkImportMemoryFdInfoKHR imported = {};
  imported.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
  imported.pNext = last;
  imported.handleType = kDescriptor;
  imported.fd = request.descriptor;
  VkMemoryRequirements needs;
  vk.vkGetBufferMemoryRequirements(device.handle(), native.buffer, &needs);
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = request.sharing == Sharing::kExport   ? &exported
               : request.sharing == Sharing::kImport ? static_cast<const void*>(&imported)
                                                     : last;
  info.allocationSize = needs.size;
  HALYARD_RETURN_IF_ERROR(allocate_any(device, request, info, needs.memoryTypeBits, native));
  return bind(device, native);
}

Status DeviceMemory::allocate_any(NativeDevice& device, const Request& request,
                                  VkMemoryAllocateInfo info, std::uint32_t types, Native& native) {
  const Functions& vk = device.vk();
  VkResult result = VK_SUCCESS;
  for (;;) {
    info.memoryTypeIndex = device.memory_type(request.type, types);
    if (info.memoryTypeIndex == ~0u) {
      // No memory type is left: all heaps were full.
      HALYARD_RETURN_IF_ERROR(device.check(result, "vkAllocateMemory"));
      return error(StatusCode::kUnavailable, "vulkan: no {} memory for buffers",
                   to_string(request.type));
    }
    result = vk.vkAllocateMemory(device.handle(), &info, nullptr, &native.memory);
    // The host may see as little as 256 MB of the device's own memory.
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY || request.type != hal::MemoryType::kHostVisible ||
        request.sharing == Sharing::kImport) {
      break;
    }
    types &= ~(1u << info.memoryTypeIndex);
  }
  HALYARD_RETURN_IF_ERROR(device.check(result, "vkAllocateMemory"));
  const VkMemoryPropertyFlags flags =
      device.physical().memory.memoryTypes[info.memoryTypeIndex].propertyFlags;
  if ((flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) == 0) return {};
  void* mapped = nullptr;
  HALYARD_RETURN_IF_ERROR(device.check(
      vk.vkMapMemory(device.handle(), native.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
  native.host = static_cast<std::byte*>(mapped);
  return {};
}

Result<Ref<DeviceMemory>> DeviceMemory::import(Ref<NativeDevice> device, std::byte* data,
                                               std::uint64_t size, const void* domain) {
  const std::uint64_t page = device->physical().import_alignment;
  if (page == 0) {
    return Status(
        StatusCode::kUnimplemented,
        "vulkan: the device imports no host memory: it lacks VK_EXT_external_memory_host");
  }
  if ((device->physical().of_host & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) == 0) {
    return Status(StatusCode::kUnimplemented,
                  "vulkan: the device imports no host memory as buffers");
  }
  const Functions& vk = device->vk();
  Native native;
  native.host = data;
  native.offset = reinterpret_cast<std::uintptr_t>(data) % page;
  std::byte* const begin = data - native.offset;
  const std::uint64_t bytes =
      (native.offset + std::max<std::uint64_t>(size, 1) + page - 1) / page * page;
  const auto create = [&]() -> Status {
    VkMemoryHostPointerPropertiesEXT usable = {};
    usable.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
    HALYARD_RETURN_IF_ERROR(device->check(
        vk.vkGetMemoryHostPointerPropertiesEXT(device->handle(), kHostPointer, begin, &usable),
        "vkGetMemoryHostPointerPropertiesEXT"));
    HALYARD_RETURN_IF_ERROR(create_buffer(*device, bytes, kHostPointer, native));
    VkMemoryRequirements needs;
    vk.vkGetBufferMemoryRequirements(device->handle(), native.buffer, &needs);
    const std::uint32_t memory_type = device->memory_type(
        hal::MemoryType::kHostLocal, needs.memoryTypeBits & usable.memoryTypeBits);
    if (memory_type == ~0u) {
      return Status(StatusCode::kUnimplemented, "vulkan: no memory type takes this host memory");
    }
    VkImportMemoryHostPointerInfoEXT imported = {};
    imported.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    imported.pNext = &kWithAddress;
    imported.handleType = kHostPointer;
    imported.pHostPointer = begin;
    VkMemoryAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &imported;
    info.allocationSize = bytes;
    info.memoryTypeIndex = memory_type;
    const VkResult taken = vk.vkAllocateMemory(device->handle(), &info, nullptr, &native.memory);
    // An import takes no memory of the device. Driver 580 of an H200 returns this for memory that
    // another VkDevice has mapped.
    if (taken == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
      return Status(StatusCode::kUnimplemented,
                    "vulkan: the driver does not take this host memory, perhaps a device's",
                    "VK_ERROR_OUT_OF_DEVICE_MEMORY");
    }
    HALYARD_RETURN_IF_ERROR(device->check(taken, "vkAllocateMemory"));
    return bind(*device, native);
  };
  if (const Status status = create(); !status.ok()) {
    free_native(*device, native);
    return for_bytes(status, size);
  }
  return adopt(std::move(device), native, size, hal::MemoryType::kHostLocal, domain);
}

Result<int> DeviceMemory::export_descriptor() {
  if (!native_.exportable) return Memory::export_descriptor();
  VkMemoryGetFdInfoKHR info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
  info.memory = native_.memory;
  info.handleType = kDescriptor;
  int descriptor = -1;
  HALYARD_RETURN_IF_ERROR(device_->check(
      device_->vk().vkGetMemoryFdKHR(device_->handle(), &info, &descriptor), "vkGetMemoryFdKHR"));
  return descriptor;
}

NativeRange native_range(const hal::BoundRange& range) noexcept {
  const hal::BoundRange root = hal::at_root(range);
  const auto& memory = static_cast<const DeviceMemory&>(*root.memory);
  return {&memory, memory.buffer(), memory.offset_in_buffer() + root.offset, root.length};
}

}  // namespace halyard::inline v0::vulkan
