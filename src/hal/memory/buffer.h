// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BufferObject: a range of a Memory; keeps the device open. Only handles own it: submissions and
// recordings retain the Memory.
#pragma once

#include <cstdint>
#include <utility>

#include "base/format.h"
#include "hal/device/device.h"
#include "hal/memory/memory.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/buffer.h"

namespace halyard::inline v0::hal {

class BufferObject final : public RefCounted {
 public:
  static constexpr std::string_view kTypeName = "buffer";

  static Result<Buffer> create(DeviceObject& device, Ref<Memory> memory, std::uint64_t offset,
                               std::uint64_t size);

  DeviceObject& device() const noexcept { return *device_.get(); }
  Memory& memory() const noexcept { return *memory_; }
  std::uint64_t offset() const noexcept { return offset_; }  // of byte 0 in the memory
  std::uint64_t size() const noexcept { return size_; }

 private:
  BufferObject(DeviceObject& device, Ref<Memory> memory, std::uint64_t offset,
               std::uint64_t size) noexcept
      : device_(&device), memory_(std::move(memory)), offset_(offset), size_(size) {}

  HandleRef<DeviceObject> device_;
  Ref<Memory> memory_;
  const std::uint64_t offset_;
  const std::uint64_t size_;
};

[[gnu::cold]] Status beyond_the_end(std::uint64_t offset, std::uint64_t length, std::uint64_t size);

// Resolves kWholeSize in `length`. Returns kOutOfRange unless [offset, offset + length) lies in
// `size`.
inline Status resolve_length(std::uint64_t offset, std::uint64_t& length, std::uint64_t size) {
  if (offset <= size) [[likely]] {
    if (length == kWholeSize) length = size - offset;
    if (length <= size - offset) [[likely]]
      return {};
  }
  return beyond_the_end(offset, length, size);
}

}  // namespace halyard::inline v0::hal
