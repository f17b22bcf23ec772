// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage: a tensor's memory on a device. StorageRange, KernelArray: views of it.
#pragma once

#include <cstdint>

#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/launch.h"
#include "halyard/kernel/types.h"

namespace halyard::inline v0::async::detail {

// Memory of a device's pool. Dropping the last reference frees it after its last use.
class HALYARD_EXPORT Storage : public RefCounted {
 public:
  const hal::Buffer& buffer() const noexcept { return buffer_; }

 protected:
  Storage() = default;
  ~Storage() override = default;
  hal::Buffer buffer_;
};

// The bytes [offset, offset + length) of a storage.
struct StorageRange {
  StorageRange(Storage* storage_ = nullptr, std::uint64_t offset_ = 0,
               std::uint64_t length_ = hal::kWholeSize) noexcept
      : storage(storage_), offset(offset_), length(length_) {}
  // Precondition: storage is not null.
  hal::BufferRange of_buffer() const noexcept { return {storage->buffer(), offset, length}; }

  Storage* storage;
  std::uint64_t offset, length;
};

// An array argument of a kernel.
struct KernelArray {
  StorageRange memory;
  const hal::Extents* shape = nullptr;  // null: a flat array
  const hal::Extents* tile = nullptr;   // null: no partition
  kernel::ElementType type{};
  bool is_written = false;
};

}  // namespace halyard::inline v0::async::detail
