// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Allocator: reuses the memory of a device, and copies between the device and the host.
//
//   Allocator allocator = Allocator::create(*device).value();
//   Memory x = allocator.allocate(4000).value();
//   check(allocator.copy_in(x.buffer(), data, 4000));
//
// The timeline of the device orders everything that an allocator queues: it runs after all earlier
// points, and before work that waits for a later last_timeline().
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hcq/device.h"
#include "halyard/hcq/program.h"

namespace halyard::inline v0::hcq {

namespace detail {
class StagingRing;
}

// Owns a piece of device memory. Its destructor never blocks. It returns the memory to the
// allocator, which reuses it once all work queued before that is complete. A thread that drops a
// Memory used by its submission commits the submission's TimelineTurn first. A Memory may outlive
// the allocator, not the device. One thread at a time.
class HALYARD_EXPORT Memory {
 public:
  Memory() noexcept = default;
  Memory(Memory&& other) noexcept
      : pool_(std::move(other.pool_)),
        block_(std::exchange(other.block_, nullptr)),
        buffer_(std::exchange(other.buffer_, {})) {}
  Memory& operator=(Memory other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(block_, other.block_);
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~Memory();

  // Has the requested size. Empty for an empty owner.
  const Buffer& buffer() const noexcept { return buffer_; }
  explicit operator bool() const noexcept { return block_ != nullptr; }

 private:
  friend class Allocator;
  Memory(Ref<RefCounted> pool, detail::Block* block, const Buffer& buffer) noexcept
      : pool_(std::move(pool)), block_(block), buffer_(buffer) {}

  Ref<RefCounted> pool_;
  detail::Block* block_ = nullptr;
  Buffer buffer_;
};

struct AllocatorOptions {
  // Copies to and from the host pass through `batch_count` pieces of staging memory of `batch_size`
  // bytes, all allocated by create().
  std::uint64_t batch_size = std::uint64_t{2} << 20;
  std::uint32_t batch_count = 32;
};

struct AllocatorStatistics {
  std::uint64_t in_use = 0;  // bytes, as rounded up
  std::uint64_t cached = 0;
};

// Functions are safe from any thread that holds no TimelineTurn of the device (copies take a turn).
// The device outlives the allocator and all its memory. A moved-from allocator returns
// kFailedPrecondition.
class HALYARD_EXPORT Allocator {
 public:
  // Errors: kInvalidArgument if an option is zero; kResourceExhausted.
  static Result<Allocator> create(Device& device, const AllocatorOptions& options = {});
  Allocator(Allocator&&) noexcept;
  Allocator& operator=(Allocator&&) noexcept;
  // Precondition: no thread is inside a function of it. Queued copies still run.
  ~Allocator();

  // Returns the cached memory of this size that was freed first if its work is complete, else fresh
  // memory, with arbitrary contents. Rounds the size up to a multiple of 64 bytes; above 512 bytes
  // by at most an eighth. Returns unused cached memory to the device before it fails. Errors:
  // kResourceExhausted, with the sizes in the message.
  Result<Memory> allocate(std::uint64_t size);
  // Returns all cached memory whose work is complete to the device. Result: the number of bytes.
  std::uint64_t trim() noexcept;
  AllocatorStatistics statistics() const noexcept;

  // Copies `size` bytes to the device, in batches. On return all bytes of `source` have been read
  // and the copies are queued. Blocks only while all staging memory is in use. On an error a first
  // part may have been queued. Errors: kOutOfRange beyond the target; kDeadlineExceeded; those of
  // CommandQueue::submit().
  Status copy_in(const Buffer& target, const void* source, std::uint64_t size,
                 Deadline deadline = kForever);
  // Copies `size` bytes from the device and waits for them. On an error a first part may have been
  // written. Errors: as copy_in().
  Status copy_out(void* target, const Buffer& source, std::uint64_t size,
                  Deadline deadline = kForever);
  // Copies from one device to another, or within one, on the copy queue of `source_device`; never
  // waits for the copy. It is one submission, which waits for the timelines of both devices and
  // signals both, so it is queued or refused as a whole. The source device outlives the copy.
  // Errors: kOutOfRange; kUnimplemented if the source device cannot access the target device; those
  // of CommandQueue::submit().
  static Status transfer(const Buffer& target, Device& target_device, const Buffer& source,
                         Device& source_device, std::uint64_t size);

 private:
  Allocator(Ref<detail::MemoryPool> pool, std::unique_ptr<detail::StagingRing> staging) noexcept;
  detail::MemoryPool& pool() const noexcept;  // precondition: status().ok()
  Status status() const noexcept;

  Ref<RefCounted> pool_;
  std::unique_ptr<detail::StagingRing> staging_;
};

}  // namespace halyard::inline v0::hcq
