// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/buffer.h"

#include <new>

#include "hal/object.h"
#include "hal/pool.h"

namespace halyard::inline v0::hal {

Result<Buffer> BufferObject::create(DeviceObject& device, Ref<Memory> memory, std::uint64_t offset,
                                    std::uint64_t size) {
  auto* object = new (std::nothrow) BufferObject(device, std::move(memory), offset, size);
  if (object == nullptr) {
    return error(StatusCode::kResourceExhausted, "device {}: no memory for a buffer object",
                 device.name());
  }
  Buffer buffer(object);
  object->release();  // the handles' reference stays
  return buffer;
}

Buffer::Buffer(BufferObject* object) noexcept : object_(handle_base(object)) {}

std::uint64_t Buffer::size() const noexcept { return object_ ? object()->size() : 0; }

MemoryType Buffer::memory_type() const noexcept {
  return object_ ? object()->memory().type() : MemoryType::kDeviceLocal;
}

Result<Buffer> Buffer::subspan(std::uint64_t offset, std::uint64_t length) const {
  if (!object_) return empty_handle("buffer", "subspan");
  const BufferObject& self = *object();
  if (Status status = resolve_length(offset, length, self.size()); !status.ok()) {
    return at(status, "buffer: subspan");
  }
  return BufferObject::create(self.device(), Ref<Memory>(&self.memory()), self.offset() + offset,
                              length);
}

Result<Mapping> Buffer::map(std::uint64_t offset, std::uint64_t length) const {
  if (!object_) return empty_handle("buffer", "map");
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
  return Mapping(*this, host + self.offset() + offset, static_cast<std::size_t>(length));
}

}  // namespace halyard::inline v0::hal
