// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hcq::Allocator: memory of a device, kept for reuse, and copies between it and the host.
//
//   Allocator allocator = Allocator::create(*device).value();
//   Memory x = allocator.allocate(4000).value();
//   check(allocator.copy_in(x.buffer(), data, 4000));
//
// All it queues is ordered by the timeline of the device: after everything before, and before
// everything that waits for last_timeline() afterwards.
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

// Owns a piece of device memory. Its destructor never blocks and gives the memory back to the
// allocator, which hands it out again once all work that was then queued is done: points taken in a
// turn are committed before. It may outlive the allocator, not the device. One thread at a time.
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

  // Of the size that was asked for. Empty for an empty owner.
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
  // Copies to and from the host go through so many pieces of staging memory of so many bytes, all
  // allocated at once.
  std::uint64_t batch_size = std::uint64_t{2} << 20;
  std::uint32_t batch_count = 32;
};

struct AllocatorStatistics {
  std::uint64_t in_use = 0;  // bytes, as rounded up
  std::uint64_t cached = 0;
};

// Functions are safe from any thread, though not from one in a turn of the device (copies take
// one). The device outlives the allocator and all its memory. Empty once moved from.
class HALYARD_EXPORT Allocator {
 public:
  // kInvalidArgument when the options hold a zero, kResourceExhausted.
  static Result<Allocator> create(Device& device, const AllocatorOptions& options = {});
  Allocator(Allocator&&) noexcept;
  Allocator& operator=(Allocator&&) noexcept;
  // Nobody is inside a function of it. Queued copies still run.
  ~Allocator();

  // Takes the memory of this size that was freed first, if nothing uses it any more, else fresh
  // memory. Sizes are rounded up to a multiple of 64 bytes, above 512 bytes by at most an eighth.
  // When memory is exhausted, all that is kept and unused goes back to the device first.
  // kResourceExhausted, with sizes. The memory's bytes are what they were.
  Result<Memory> allocate(std::uint64_t size);
  // Gives the device back what is kept and used by nothing any more: so many bytes.
  std::uint64_t trim() noexcept;
  AllocatorStatistics statistics() const noexcept;

  // Copies `size` bytes to the device, in batches. On return they have all been read, and the
  // copies are queued; waits only while all staging memory is in use. On an error (kOutOfRange
  // beyond the target; kDeadlineExceeded; what CommandQueue::submit() returns) a first part may
  // have been queued.
  Status copy_in(const Buffer& target, const void* source, std::uint64_t size,
                 Deadline deadline = kForever);
  // Copies `size` bytes from the device and waits for them, while the next are on their way. Errors
  // as above; a first part may have been written.
  Status copy_out(void* target, const Buffer& source, std::uint64_t size,
                  Deadline deadline = kForever);
  // Copies from a device to another, or within one, on the copy queue of `source_device`; never
  // waits. It is ordered by the timelines of both: one submission waits for both and signals both,
  // so that it is refused as a whole. The source device outlives the copy. kOutOfRange;
  // kUnimplemented when it cannot access the target device; what CommandQueue::submit() returns.
  static Status transfer(const Buffer& target, Device& target_device, const Buffer& source,
                         Device& source_device, std::uint64_t size);

 private:
  Allocator(Ref<detail::MemoryPool> pool, std::unique_ptr<detail::StagingRing> staging) noexcept;
  detail::MemoryPool& pool() const noexcept;

  Ref<RefCounted> pool_;
  std::unique_ptr<detail::StagingRing> staging_;
};

}  // namespace halyard::inline v0::hcq
