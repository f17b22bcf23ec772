// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the metal driver: an MTLBuffer and an offset in it. Storage modes:
//
//     kDeviceLocal   Private
//     kHostVisible   Shared; Managed (managed.h) where the device's memory is its own and
//                    DeviceOptions::managed chooses that (docs/drivers/metal.md)
//     kHostLocal     Shared
//
// Buffers are untracked, since the encoder orders commands itself. They are few, since the HAL's
// pools divide them.
#pragma once

#import <Metal/Metal.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "drivers/metal/managed.h"
#include "drivers/metal/native_device.h"
#include "hal/memory/memory.h"
#include "hal/recording/arguments.h"
#include "hal/recording/command.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::metal {

// A storage mode without hazard tracking. The casts are for headers in which options are plain
// numbers.
constexpr MTLResourceOptions untracked(MTLResourceOptions mode) noexcept {
  return static_cast<MTLResourceOptions>(static_cast<NSUInteger>(mode) |
                                         MTLResourceHazardTrackingModeUntracked);
}

class DeviceMemory final : public hal::Memory {
 public:
  // `domain`: the device's memory domain. Returns kResourceExhausted, with the size, if Metal makes
  // no buffer.
  static Result<Ref<DeviceMemory>> allocate(Ref<NativeDevice> device, std::uint64_t size,
                                            std::uint64_t alignment, hal::MemoryType type,
                                            const void* domain);
  // Imports the host's pages that hold [data, data + size), without a copy. Errors as allocate().
  static Result<Ref<DeviceMemory>> import(Ref<NativeDevice> device, std::byte* data,
                                          std::uint64_t size, const void* domain);

  id<MTLBuffer> buffer() const noexcept { return buffer_.get(); }
  // Where the memory begins in buffer(); not 0 if it was imported from the middle of a page.
  std::uint64_t offset_in_buffer() const noexcept { return offset_; }
  // Null unless the memory is Managed.
  ManagedCopies* managed() const noexcept { return managed_.get(); }

 private:
  DeviceMemory(Ref<NativeDevice> device, Retained<id<MTLBuffer>> buffer, std::uint64_t offset,
               std::byte* host, std::uint64_t size, hal::MemoryType type, const void* domain,
               std::unique_ptr<ManagedCopies> managed) noexcept;
  ~DeviceMemory() override;
  static Result<Ref<DeviceMemory>> adopt(Ref<NativeDevice> device, Retained<id<MTLBuffer>> buffer,
                                         std::uint64_t offset, std::byte* host, std::uint64_t size,
                                         hal::MemoryType type, const void* domain,
                                         std::unique_ptr<ManagedCopies> managed = nullptr);

  const Ref<NativeDevice> device_;
  Retained<id<MTLBuffer>> buffer_;
  const std::uint64_t offset_;
  std::unique_ptr<ManagedCopies> managed_;
};

// A range of memory in its MTLBuffer.
struct NativeRange {
  id<MTLBuffer> buffer;
  std::uint64_t offset;  // in `buffer`
  std::uint64_t length;
};
NativeRange native_range(const hal::BoundRange& range) noexcept;

// Argument blocks (hal/recording/arguments.h), aligned to 256 bytes, which suffices for `constant`
// memory on every device.
struct ArgumentTraits {
  using Device = NativeDevice;
  static constexpr const char* kDriver = "metal";
  static Result<Ref<hal::Memory>> allocate(const Ref<NativeDevice>& device, std::uint64_t bytes);
};
using ArgumentHeap = hal::ArgumentHeap<ArgumentTraits>;
using Arguments = hal::Arguments<256>;

}  // namespace halyard::inline v0::metal
