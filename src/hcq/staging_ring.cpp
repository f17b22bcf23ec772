// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/staging_ring.h"

#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::hcq::detail {

Result<std::unique_ptr<StagingRing>> StagingRing::create(Ref<MemoryPool> pool,
                                                         const AllocatorOptions& options) {
  const std::uint64_t size = options.batch_size, count = options.batch_count;
  if (size == 0 || count == 0) {
    return error(StatusCode::kInvalidArgument, "allocator: {} batches of {} bytes", count, size);
  }
  const auto exhausted = [&] {
    return error(StatusCode::kResourceExhausted,
                 "allocator: no staging memory for {} batches of {} bytes", count, size);
  };
  std::uint64_t total;
  if (__builtin_mul_overflow(size, count, &total)) return exhausted();
  std::unique_ptr<Slot[]> slots(new (std::nothrow) Slot[count]);
  Block* const block = slots == nullptr ? nullptr : pool->create(MemoryType::kStaging, total);
  if (block == nullptr) return exhausted();
  for (std::uint64_t i = 0; i < count; ++i) {
    slots[i].buffer = Buffer(block->memory.va_addr + i * size, size);
  }
  std::unique_ptr<StagingRing> ring(new (std::nothrow) StagingRing(pool, block, std::move(slots)));
  if (ring == nullptr) {
    pool->retire(block);
    return exhausted();
  }
  for (std::uint64_t i = 0; i < count; ++i) ring->put(&ring->slots_[i], {});
  return ring;
}

StagingRing::~StagingRing() { pool_->retire(block_); }

StagingRing::Slot* StagingRing::take(bool only_if_free) noexcept {
  base::LockGuard lock(mutex_);
  if (first_ == nullptr || (only_if_free && !first_->point.reached())) return nullptr;
  return std::exchange(first_, first_->next);
}

StagingRing::Slot* StagingRing::try_claim() noexcept { return take(true); }

Result<StagingRing::Slot*> StagingRing::claim(Deadline deadline) {
  // Resolved once for all waits.
  const Deadline until = Deadline::at(deadline.resolve(Clock::steady()));
  for (;;) {
    const std::uint64_t puts = puts_.value();
    Slot* const slot = take(false);
    // Other threads hold all slots. take() missed no slot that was returned before it; one returned
    // later ends the wait.
    if (slot == nullptr) {
      HALYARD_RETURN_IF_ERROR(puts_.wait(puts + 1, until));
      continue;
    }
    if (Status status = slot->point.wait(until); !status.ok()) {
      link(slot, true);
      return status;
    }
    return slot;
  }
}

void StagingRing::put(Slot* slot, const Point& point) noexcept {
  slot->point = point;
  link(slot, point.reached());
}

void StagingRing::link(Slot* slot, bool first) noexcept {
  std::uint64_t puts;
  {
    base::LockGuard lock(mutex_);
    slot->next = first ? first_ : nullptr;
    (first || first_ == nullptr ? first_ : last_->next) = slot;
    if (slot->next == nullptr) last_ = slot;
    puts = ++put_count_;
  }
  puts_.advance(puts);
}

}  // namespace halyard::inline v0::hcq::detail
