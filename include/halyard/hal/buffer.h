// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer: device memory. BufferRange: a part of a buffer. Mapping: the host's access to a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "halyard/base/export.h"
#include "halyard/base/result.h"
#include "halyard/hal/handle.h"
#include "halyard/hal/types.h"

namespace halyard::inline v0::hal {

class BufferObject;
class Mapping;

// The size, memory type and alignment of an allocation. New memory has undefined contents.
struct BufferInfo {
  std::uint64_t size = 0;  // bytes; 0 is allowed
  MemoryType memory = MemoryType::kDeviceLocal;
  std::uint64_t alignment = 0;  // a power of two up to 4096, or 0 for the device's default (>= 64)
  bool exportable = false;      // for Buffer::export_descriptor; only Device::allocate
};

namespace detail {
// The release callback of imported memory: the library runs call(state) once, then destroy(state).
struct MemoryRelease {
  void* state = nullptr;
  void (*call)(void* state) = nullptr;
  void (*destroy)(void* state) = nullptr;
};
}  // namespace detail

// The host's use of a mapping.
enum class MapMode : std::uint8_t {
  kReadWrite,
  kRead,
  kWrite,    // bytes that are not written keep their value
  kDiscard,  // as kWrite, but the bytes in the range are undefined until written
};

// A handle. Copies share the memory. Safe from any thread; only semaphores order the bytes.
class HALYARD_EXPORT Buffer : public Handle<BufferObject> {
 public:
  using Handle::Handle;

  std::uint64_t size() const noexcept;      // bytes; 0 when empty
  MemoryType memory_type() const noexcept;  // kDeviceLocal when empty

  // Returns the bytes [offset, offset + length) as a buffer of its own that keeps this one's
  // memory. Errors: kOutOfRange beyond the end; kInvalidArgument when empty; kResourceExhausted.
  Result<Buffer> subspan(std::uint64_t offset, std::uint64_t length = kWholeSize) const;

  // Maps [offset, offset + length) for the host. Never blocks: order it after device work with
  // Semaphore::wait, and before device work by submitting afterwards. Errors:
  //   kPermissionDenied    the memory is not host-visible
  //   kOutOfRange          beyond the end
  //   kFailedPrecondition  a pool's buffer, before its allocation or after its deallocation
  //   kInvalidArgument     empty, or no such mode
  Result<Mapping> map(std::uint64_t offset = 0, std::uint64_t length = kWholeSize,
                      MapMode mode = MapMode::kReadWrite) const;

  // The device's address of byte 0, for native code beside Halyard; valid while the memory lives. 0
  // for a pool's buffer before its allocation, and if the device's memory has no address.
  std::uint64_t device_address() const noexcept;

  // Returns a new file descriptor of the memory, for other processes and APIs; the caller closes
  // it. The memory lives until its last buffer, descriptor and import is gone. The two sides order
  // their work themselves. On Vulkan it is a VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT: for the
  // same physical device and driver. Errors:
  //   kFailedPrecondition  not allocated as exportable, or a part of a buffer
  //   kInvalidArgument when empty; kResourceExhausted
  Result<int> export_descriptor() const;
};

// A host mapping. Move-only. It keeps the memory mapped and alive; a pool's memory, until it is
// deallocated. Const functions are safe from any thread. A buffer may have any number of mappings
// at a time, and only semaphores order their bytes. flush() and invalidate() matter only for memory
// that is mapped and not coherent; today no MemoryType is, so they cost nothing, and portable code
// may call them. A default or moved-from mapping has no bytes and returns kInvalidArgument.
class HALYARD_EXPORT Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Buffer buffer, std::byte* data, std::size_t size, MapMode mode) noexcept
      : buffer_(std::move(buffer)), data_(data), size_(size), mode_(mode) {}
  Mapping(Mapping&& other) noexcept
      : buffer_(std::move(other.buffer_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mode_(other.mode_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mode_ = other.mode_;
    return *this;
  }

  MapMode mode() const noexcept { return mode_; }

  // Call it after the host has written [offset, offset + length) and before the device reads it.
  // Errors: kFailedPrecondition for a read-only mapping; kOutOfRange beyond the mapping.
  Status flush(std::uint64_t offset = 0, std::uint64_t length = kWholeSize) const;
  // Call it after the device has written and before the host reads. Errors: kFailedPrecondition for
  // a write-only mapping; kOutOfRange beyond the mapping.
  Status invalidate(std::uint64_t offset = 0, std::uint64_t length = kWholeSize) const;

  // Valid as long as this mapping, or the mapping that it was moved to.
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  // The bytes as elements of a trivially copyable T, without a partial last element. Precondition:
  // the mapped offset is aligned for T (allocations are aligned to 64 bytes or more).
  template <class T>
  std::span<T> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

 private:
  Buffer buffer_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MapMode mode_ = MapMode::kReadWrite;
};

// A part of a buffer: a view, valid for the call it is passed to. kWholeSize means "to the end".
struct BufferRange {
  BufferRange() noexcept = default;
  BufferRange(const Buffer& buffer_, std::uint64_t offset_ = 0,
              std::uint64_t length_ = kWholeSize) noexcept
      : buffer(buffer_.object()), offset(offset_), length(length_) {}

  BufferObject* buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = kWholeSize;
};

// An entry of the binding table that each submission brings (Queue::execute): `{hal::slot(0), y}`.
struct Slot {
  std::uint32_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = kWholeSize;
};
constexpr Slot slot(std::uint32_t index, std::uint64_t offset = 0,
                    std::uint64_t length = kWholeSize) noexcept {
  return {index, offset, length};
}

// A recorded command's memory, known now (direct), or a slot (indirect). A view.
struct BindingRef {
  BindingRef() noexcept = default;
  BindingRef(const Buffer& buffer) noexcept : range(buffer) {}
  BindingRef(const Buffer& buffer, std::uint64_t offset, std::uint64_t length = kWholeSize) noexcept
      : range(buffer, offset, length) {}
  BindingRef(const BufferRange& range_) noexcept : range(range_) {}
  BindingRef(const Slot& slot_) noexcept : slot(slot_), indirect(true) {}

  BufferRange range{};
  Slot slot{};
  bool indirect = false;
};

}  // namespace halyard::inline v0::hal
