// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the vulkan driver: a VkBuffer over memory of its own. The device sees it at an address;
// copies and fills name the buffer and an offset.
//
//     kDeviceLocal   DEVICE_LOCAL; mapped if the only such memory is host-visible, as on a CPU
//     kHostVisible   DEVICE_LOCAL, HOST_VISIBLE and HOST_COHERENT; if there is no such memory, or
//                    its heap is full, HOST_VISIBLE and HOST_COHERENT
//     kHostLocal     HOST_VISIBLE and HOST_COHERENT, HOST_CACHED if there is such a type
//
// Each allocation is one vkAllocateMemory. Some devices allow only 4096 of them, so small buffers
// come from the HAL's pools.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/vulkan/native_device.h"
#include "hal/memory/memory.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::vulkan {

// Sharing of memory by file descriptors, VK_KHR_external_memory_fd.
enum class Sharing : std::uint8_t { kNone, kExport, kImport };

class DeviceMemory final : public hal::Memory {
 public:
  struct Request {
    std::uint64_t size = 0;
    hal::MemoryType type = hal::MemoryType::kDeviceLocal;
    // The alignment of the device address, and of the host's if the memory is mapped. Shared memory
    // has the alignment that Vulkan gives it.
    std::uint64_t alignment = 0;
    Sharing sharing = Sharing::kNone;
    int descriptor = -1;  // kImport
  };

  // `domain` is the device's. kImport takes the descriptor on success. Returns kResourceExhausted
  // with the size, kUnimplemented if the device does not share such buffers, kInvalidArgument if
  // the descriptor is not memory of this device, and kUnavailable if there is no memory of that
  // type or alignment.
  static Result<Ref<DeviceMemory>> allocate(Ref<NativeDevice> device, const Request& request,
                                            const void* domain);
  // Imports the host's pages that hold [data, data + size). Returns kUnimplemented without
  // VK_EXT_external_memory_host, and kInvalidArgument for memory that the device cannot use.
  static Result<Ref<DeviceMemory>> import(Ref<NativeDevice> device, std::byte* data,
                                          std::uint64_t size, const void* domain);

  Result<int> export_descriptor() override;

  VkBuffer buffer() const noexcept { return native_.buffer; }
  // Where the memory begins in buffer(): not at 0 if it was imported from the middle of a page.
  std::uint64_t offset_in_buffer() const noexcept { return native_.offset; }

 private:
  struct Native {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::uint64_t offset = 0;
    std::byte* host = nullptr;
    VkDeviceAddress address = 0;
    bool exportable = false;
  };
  DeviceMemory(Ref<NativeDevice> device, const Native& native, std::uint64_t size,
               hal::MemoryType type, const void* domain) noexcept;
  ~DeviceMemory() override;

  // Creates the buffer and `size` bytes of memory. After an error `out` holds the objects created
  // so far.
  static Status make(NativeDevice& device, const Request& request, std::uint64_t size, Native& out);
  // Allocates `info` with one of the memory types in `types`.
  static Status allocate_any(NativeDevice& device, const Request& request,
                             VkMemoryAllocateInfo info, std::uint32_t types, Native& out);
  // Moves the begin up to a multiple of `alignment`.
  static void align(Native& native, std::uint64_t alignment) noexcept;
  // `external`: the handle types of its memory; 0 if it is not external.
  static Status create_buffer(NativeDevice& device, std::uint64_t size,
                              VkExternalMemoryHandleTypeFlags external, Native& out);
  static Status bind(NativeDevice& device, Native& native);
  static void free_native(NativeDevice& device, const Native& native) noexcept;
  // Takes ownership of `native`, even if it fails.
  static Result<Ref<DeviceMemory>> adopt(Ref<NativeDevice> device, const Native& native,
                                         std::uint64_t size, hal::MemoryType type,
                                         const void* domain);

  const Ref<NativeDevice> device_;
  const Native native_;
};

// The buffer and offset of `range`, for commands that are issued.
struct NativeRange {
  const DeviceMemory* memory;
  VkBuffer buffer;
  std::uint64_t offset;  // in `buffer`
  std::uint64_t length;
};
NativeRange native_range(const hal::BoundRange& range) noexcept;

}  // namespace halyard::inline v0::vulkan
