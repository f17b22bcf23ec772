// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/buffer.h"

#include <new>

#include "hal/memory/pool.h"
#include "hal/object.h"

namespace halyard::inline v0::hal {

Status beyond_the_end(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  if (length == kWholeSize) {
    return error(StatusCode::kOutOfRange, "offset {} is beyond the end of {}", base::number(offset),
                 base::counted(size, "byte"));
  }
  return error(StatusCode::kOutOfRange, "{} at offset {} {} beyond the end of {}",
               base::counted(length, "byte"), base::number(offset), length == 1 ? "is" : "are",
               base::counted(size, "byte"));
}

Result<Buffer> BufferObject::create(DeviceObject& device, Ref<Memory> memory, std::uint64_t offset,
                                    std::uint64_t size) {
  auto* object = new (std::nothrow) BufferObject(device, std::move(memory), offset, size);
  if (object == nullptr) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for a buffer object",
                 device.name());
  }
  return first_handle<Buffer>(object);
}

std::uint64_t Buffer::size() const noexcept { return object() ? object()->size() : 0; }

MemoryType Buffer::memory_type() const noexcept {
  return object() ? object()->memory().type() : MemoryType::kDeviceLocal;
}

Result<Buffer> Buffer::subspan(std::uint64_t offset, std::uint64_t length) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "subspan"));
  const BufferObject& self = *object();
  if (Status status = resolve_length(offset, length, self.size()); !status.ok()) {
    return at(status, "buffer: subspan");
  }
  return BufferObject::create(self.device(), Ref<Memory>(&self.memory()), self.offset() + offset,
                              length);
}

std::uint64_t Buffer::device_address() const noexcept {
  if (!object()) return 0;
  const std::uint64_t start = object()->memory().device_address();
  return start != 0 ? start + object()->offset() : 0;
}

Result<int> Buffer::export_descriptor() const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "export_descriptor"));
  const BufferObject& self = *object();
  Memory& memory = self.memory();
  if (memory.of_pool() || self.size() != memory.size()) {
    return error(StatusCode::kFailedPrecondition, "buffer: export_descriptor: {}",
                 memory.of_pool() ? "memory of a pool" : "a part of a buffer");
  }
  const timeline::Entered entered(memory, self.device().entry_guard());
  Result<int> descriptor = entered->export_descriptor();
  if (!descriptor.ok()) return at(descriptor.status(), "buffer: export_descriptor");
  return descriptor;
}

Result<Mapping> Buffer::map(std::uint64_t offset, std::uint64_t length, MapMode mode) const {
  HALYARD_RETURN_IF_ERROR(check_handle(*this, "map"));
  if (static_cast<std::uint8_t>(mode) > static_cast<std::uint8_t>(MapMode::kDiscard)) {
    return error(StatusCode::kInvalidArgument, "buffer: map: mode {}", static_cast<int>(mode));
  }
  const BufferObject& self = *object();
  if (Status status = resolve_length(offset, length, self.size()); !status.ok()) {
    return at(status, "buffer: map");
  }
  if (self.memory().of_pool()) {
    const auto& pooled = static_cast<const PoolMemory&>(self.memory());
    if (pooled.deallocated()) {
      return Status(StatusCode::kFailedPrecondition, "buffer: map: it was deallocated");
    }
    if (!pooled.committed()) return at(pooled.not_committed(), "buffer: map");
  }
  std::byte* const host = self.memory().host_pointer();
  if (host == nullptr && self.memory().size() != 0) {
    return error(StatusCode::kPermissionDenied,
                 "buffer: map: {} memory of {} is not visible to the host",
                 to_string(self.memory().type()), self.device().name());
  }
  return Mapping(*this, host + self.offset() + offset, static_cast<std::size_t>(length), mode);
}

namespace {

Status synchronize(const Buffer& buffer, const std::byte* data, std::size_t size,
                   std::uint64_t offset, std::uint64_t length, const char* operation,
                   Status (Memory::*run)(std::uint64_t, std::uint64_t) noexcept) {
  if (!buffer) return empty_handle("mapping", operation);
  if (Status status = resolve_length(offset, length, size); !status.ok()) {
    return at(status, "mapping: {}", operation);
  }
  const BufferObject& object = *buffer.object();
  const auto first = static_cast<std::uint64_t>(data - object.memory().host_pointer());
  const timeline::Entered memory(object.memory(), object.device().entry_guard());
  return ((*memory).*run)(first + offset, length);
}

}  // namespace

Status Mapping::flush(std::uint64_t offset, std::uint64_t length) const {
  if (mode_ == MapMode::kRead) {
    return Status(StatusCode::kFailedPrecondition, "mapping: flush: it is mapped for reading");
  }
  return synchronize(buffer_, data_, size_, offset, length, "flush", &Memory::flush);
}

Status Mapping::invalidate(std::uint64_t offset, std::uint64_t length) const {
  if (mode_ == MapMode::kWrite || mode_ == MapMode::kDiscard) {
    return Status(StatusCode::kFailedPrecondition, "mapping: invalidate: it is mapped for writing");
  }
  return synchronize(buffer_, data_, size_, offset, length, "invalidate", &Memory::invalidate);
}

}  // namespace halyard::inline v0::hal
