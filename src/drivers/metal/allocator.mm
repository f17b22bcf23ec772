// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/allocator.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/metal/functions.h"

namespace halyard::inline v0::metal {
namespace {

// The alignment if an allocation requests none (BufferInfo::alignment).
constexpr std::uint64_t kDefaultAlignment = 64;

constexpr MTLResourceOptions kPrivate = untracked(MTLResourceStorageModePrivate);
constexpr MTLResourceOptions kShared = untracked(MTLResourceStorageModeShared);
#if defined(__APPLE__) && !TARGET_OS_OSX
constexpr MTLResourceOptions kManaged = kShared;  // all devices have unified memory
#else
constexpr MTLResourceOptions kManaged = untracked(MTLResourceStorageModeManaged);
#endif

Status no_memory(std::uint64_t size) {
  return error(StatusCode::kResourceExhausted, "metal: no memory for {} bytes", size);
}

std::uint64_t bytes_to_alignment(const void* host, std::uint64_t alignment) noexcept {
  return -reinterpret_cast<std::uintptr_t>(host) & (alignment - 1);
}

}  // namespace

DeviceMemory::DeviceMemory(Ref<NativeDevice> device, Retained<id<MTLBuffer>> buffer,
                           std::uint64_t offset, std::byte* host, std::uint64_t size,
                           hal::MemoryType type, const void* domain,
                           std::unique_ptr<ManagedCopies> managed) noexcept
    : Memory(size, type, host, /*device_address=*/0, domain),
      device_(std::move(device)),
      buffer_(std::move(buffer)),
      offset_(offset),
      managed_(std::move(managed)) {}

DeviceMemory::~DeviceMemory() {
  const ScopedPool pool;
  managed_.reset();
  buffer_.reset();
}

Result<Ref<DeviceMemory>> DeviceMemory::adopt(Ref<NativeDevice> device,
                                              Retained<id<MTLBuffer>> buffer, std::uint64_t offset,
                                              std::byte* host, std::uint64_t size,
                                              hal::MemoryType type, const void* domain,
                                              std::unique_ptr<ManagedCopies> managed) {
  auto* const memory = new (std::nothrow) DeviceMemory(
      std::move(device), std::move(buffer), offset, host, size, type, domain, std::move(managed));
  if (memory != nullptr) return Ref<DeviceMemory>::adopt(memory);
  return error(StatusCode::kResourceExhausted, "metal: no memory for a buffer's description");
}

Result<Ref<DeviceMemory>> DeviceMemory::allocate(Ref<NativeDevice> device, std::uint64_t size,
                                                 std::uint64_t alignment, hal::MemoryType type,
                                                 const void* domain) {
  alignment = std::max(alignment, kDefaultAlignment);
  // A buffer is not empty, and blits work on whole words.
  std::uint64_t bytes = (std::max<std::uint64_t>(size, 1) + 3) & ~std::uint64_t{3};
  if (bytes > [device->handle() maxBufferLength]) return no_memory(size);
  if (type == hal::MemoryType::kDeviceLocal) {
    // Only the device sees it, and Metal aligns it for every use of the device.
    Retained<id<MTLBuffer>> buffer = device->options().uses_heaps
                                         ? device->take_from_heap(bytes)
                                         : new_buffer(device->handle(), bytes, kPrivate);
    if (!buffer) return no_memory(size);
    return adopt(std::move(device), std::move(buffer), 0, nullptr, size, type, domain);
  }
  const bool is_managed = type == hal::MemoryType::kHostVisible && device->options().managed &&
                          !device->physical().unified();
  const MTLResourceOptions mode = is_managed ? kManaged : kShared;
  Retained<id<MTLBuffer>> buffer = new_buffer(device->handle(), bytes, mode);
  std::uint64_t offset = buffer ? bytes_to_alignment([buffer.get() contents], alignment) : 0;
  if (offset != 0) {
    // Metal documents no alignment of the host address. In practice it returns whole pages.
    buffer = new_buffer(device->handle(), bytes + alignment, mode);
    offset = buffer ? bytes_to_alignment([buffer.get() contents], alignment) : 0;
  }
  if (!buffer) return no_memory(size);
  auto* const host = static_cast<std::byte*>([buffer.get() contents]);
  if (host == nullptr) return no_memory(size);
  std::unique_ptr<ManagedCopies> managed;
  if (is_managed) {
    managed.reset(new (std::nothrow)
                      ManagedCopies(device->handle(), buffer.get(), {offset, offset + size}));
    if (managed == nullptr) return no_memory(size);
  }
  return adopt(std::move(device), std::move(buffer), offset, host + offset, size, type, domain,
               std::move(managed));
}

Result<Ref<DeviceMemory>> DeviceMemory::import(Ref<NativeDevice> device, std::byte* data,
                                               std::uint64_t size, const void* domain) {
  const std::uint64_t page = device->options().page;
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(data) & (page - 1);
  const std::uint64_t bytes = (offset + std::max<std::uint64_t>(size, 1) + page - 1) & ~(page - 1);
  Retained<id<MTLBuffer>> buffer = new_buffer_over(device->handle(), data - offset, bytes, kShared);
  if (!buffer) {
    return error(StatusCode::kResourceExhausted,
                 "metal: newBufferWithBytesNoCopy failed for {} bytes in {} bytes of pages", size,
                 bytes);
  }
  return adopt(std::move(device), std::move(buffer), offset, data, size,
               hal::MemoryType::kHostLocal, domain);
}

NativeRange native_range(const hal::BoundRange& range) noexcept {
  const hal::BoundRange root = hal::at_root(range);
  const auto& memory = static_cast<const DeviceMemory&>(*root.memory);
  return {memory.buffer(), memory.offset_in_buffer() + root.offset, root.length};
}

Result<Ref<hal::Memory>> ArgumentTraits::allocate(const Ref<NativeDevice>& device,
                                                  std::uint64_t bytes) {
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> chunk,
      DeviceMemory::allocate(device, bytes, Arguments::kAlignment, hal::MemoryType::kHostLocal,
                             /*domain=*/nullptr));
  return Ref<hal::Memory>(std::move(chunk));
}

}  // namespace halyard::inline v0::metal
