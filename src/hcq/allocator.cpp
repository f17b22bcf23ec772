// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/allocator.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "base/format.h"
#include "halyard/hcq/queue.h"
#include "hcq/memory_pool.h"
#include "hcq/staging_ring.h"

namespace halyard::inline v0::hcq {
namespace {

using Slot = detail::StagingRing::Slot;

Status check_size(std::string_view what, std::uint64_t size, const Buffer& buffer) {
  if (size <= buffer.size) return {};
  return error(StatusCode::kOutOfRange, "allocator: {} of {}, the buffer has {}", what,
               base::counted(size, "byte"), buffer.size);
}

Buffer slice(const Buffer& buffer, std::uint64_t offset, std::uint64_t size) noexcept {
  return {buffer.va_addr + offset, size};
}

// Queues a copy in the order of the device's timeline. Returns its point, or queues nothing.
Result<Point> submit_copy(Device& device, const Buffer& target, const Buffer& source) {
  TimelineTurn turn(device);
  CopyQueue queue;
  queue.wait(turn.last()).copy(target, source, source.size).signal(turn.next());
  HALYARD_RETURN_IF_ERROR(queue.submit(device));
  turn.commit();
  return turn.last();
}

// Adds the progress of the copy to the error of a passed deadline.
Status cut_short(const Status& status, std::string_view what, std::uint64_t done,
                 std::uint64_t size) {
  if (status.ok() || status.code() != StatusCode::kDeadlineExceeded) return status;
  return error(StatusCode::kDeadlineExceeded, "allocator: {} of {} bytes ended after {} ({})", what,
               size, done, status.message());
}

}  // namespace

Memory::~Memory() {
  if (block_ != nullptr) static_cast<detail::MemoryPool*>(pool_.get())->give_back(block_);
}

Allocator::Allocator(Ref<detail::MemoryPool> pool,
                     std::unique_ptr<detail::StagingRing> staging) noexcept
    : pool_(std::move(pool)), staging_(std::move(staging)) {}
Allocator::Allocator(Allocator&&) noexcept = default;
Allocator& Allocator::operator=(Allocator&&) noexcept = default;
Allocator::~Allocator() = default;

detail::MemoryPool& Allocator::pool() const noexcept {
  return static_cast<detail::MemoryPool&>(*pool_);
}

Result<Allocator> Allocator::create(Device& device, const AllocatorOptions& options) {
  auto pool = Ref<detail::MemoryPool>::adopt(new (std::nothrow) detail::MemoryPool(device));
  if (!pool) return error(StatusCode::kResourceExhausted, "allocator: no memory");
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<detail::StagingRing> staging,
                           detail::StagingRing::create(pool, options));
  return Allocator(std::move(pool), std::move(staging));
}

Status Allocator::status() const noexcept {
  return pool_ ? Status() : Status(StatusCode::kFailedPrecondition, "allocator: it was moved from");
}

Result<Memory> Allocator::allocate(std::uint64_t size) {
  HALYARD_RETURN_IF_ERROR(status());
  HALYARD_ASSIGN_OR_RETURN(detail::Block* const block, pool().allocate(size));
  return Memory(pool_, block, slice(block->memory, 0, size));
}

std::uint64_t Allocator::trim() noexcept { return pool_ ? pool().trim() : 0; }

AllocatorStatistics Allocator::statistics() const noexcept {
  return pool_ ? pool().statistics() : AllocatorStatistics();
}

Status Allocator::copy_in(const Buffer& target, const void* source, std::uint64_t size,
                          Deadline deadline) {
  HALYARD_RETURN_IF_ERROR(status());
  HALYARD_RETURN_IF_ERROR(check_size("copy_in", size, target));
  const Deadline until = Deadline::at(deadline.resolve(Clock::steady()));
  for (std::uint64_t done = 0; done < size;) {
    Result<Slot*> claimed = staging_->claim(until);
    if (!claimed.ok()) return cut_short(claimed.status(), "copy_in", done, size);
    Slot* const slot = *claimed;
    const std::uint64_t bytes = std::min(size - done, slot->buffer.size);
    std::memcpy(slot->buffer.pointer(), static_cast<const std::byte*>(source) + done, bytes);
    Result<Point> copied =
        submit_copy(pool().device(), slice(target, done, bytes), slice(slot->buffer, 0, bytes));
    staging_->put(slot, copied.ok() ? *copied : Point());
    HALYARD_RETURN_IF_ERROR(Status(copied.status()));
    done += bytes;
  }
  return {};
}

Status Allocator::copy_out(void* target, const Buffer& source, std::uint64_t size,
                           Deadline deadline) {
  HALYARD_RETURN_IF_ERROR(status());
  HALYARD_RETURN_IF_ERROR(check_size("copy_out", size, source));
  const Deadline until = Deadline::at(deadline.resolve(Clock::steady()));
  // Slots whose copies are in flight, oldest first.
  Slot* first = nullptr;
  Slot** end = &first;
  Status status;
  for (std::uint64_t queued = 0, done = 0; done < size;) {
    // Copies ahead as far as there are free slots. It blocks for a slot only while it holds none,
    // so threads never wait for each other's slots.
    while (queued < size) {
      Slot* slot = staging_->try_claim();
      if (slot == nullptr && first == nullptr) {
        Result<Slot*> claimed = staging_->claim(until);
        if (!claimed.ok()) return cut_short(claimed.status(), "copy_out", done, size);
        slot = *claimed;
      }
      if (slot == nullptr) break;
      const std::uint64_t bytes = std::min(size - queued, slot->buffer.size);
      Result<Point> copied =
          submit_copy(pool().device(), slice(slot->buffer, 0, bytes), slice(source, queued, bytes));
      if (!copied.ok()) {
        staging_->put(slot, {});
        // If copies are in flight, there may be room once they are complete.
        if (first == nullptr) return std::move(copied).status();
        break;
      }
      slot->point = *std::move(copied);
      slot->next = nullptr;
      *end = slot;
      end = &slot->next;
      queued += bytes;
    }
    status = cut_short(first->point.wait(until), "copy_out", done, size);
    if (!status.ok()) break;
    Slot* const slot = std::exchange(first, first->next);
    if (first == nullptr) end = &first;
    const std::uint64_t bytes = std::min(size - done, slot->buffer.size);
    std::memcpy(static_cast<std::byte*>(target) + done, slot->buffer.pointer(), bytes);
    staging_->put(slot, {});
    done += bytes;
  }
  // The remaining copies keep their slots until they are complete.
  while (first != nullptr) {
    Slot* const slot = std::exchange(first, first->next);
    staging_->put(slot, slot->point);
  }
  return status;
}

Status Allocator::transfer(const Buffer& target, Device& target_device, const Buffer& source,
                           Device& source_device, std::uint64_t size) {
  HALYARD_RETURN_IF_ERROR(check_size("transfer", size, target));
  HALYARD_RETURN_IF_ERROR(check_size("transfer", size, source));
  if (!source_device.can_access(target_device)) {
    return error(StatusCode::kUnimplemented,
                 "allocator: transfer of {} bytes to a device whose memory the source device does "
                 "not reach",
                 size);
  }
  if (&target_device == &source_device) {
    return submit_copy(source_device, target, slice(source, 0, size)).status();
  }
  const bool target_first = std::less<>()(&target_device, &source_device);
  TimelineTurn lower(target_first ? target_device : source_device);
  TimelineTurn upper(target_first ? source_device : target_device);
  CopyQueue queue;
  queue.wait(lower.last())
      .wait(upper.last())
      .copy(target, source, size)
      .signal(lower.next())
      .signal(upper.next());
  HALYARD_RETURN_IF_ERROR(queue.submit(source_device));
  lower.commit();
  upper.commit();
  return {};
}

}  // namespace halyard::inline v0::hcq
