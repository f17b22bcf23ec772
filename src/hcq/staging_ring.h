// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StagingRing: the staging memory of an hcq::Allocator, in slots. A slot belongs to the thread that
// claims it. put() returns the slot with the point from which the next thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "halyard/base/clock.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "hcq/memory_pool.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq::detail {

class StagingRing {
 public:
  struct Slot {
    Buffer buffer;
    Point point;  // of the last copy that uses it
    Slot* next = nullptr;
  };

  static Result<std::unique_ptr<StagingRing>> create(Ref<MemoryPool> pool,
                                                     const AllocatorOptions& options);
  // Precondition: all slots have been put back. Their copies may still run.
  ~StagingRing();

  std::uint64_t slot_size() const noexcept { return slots_[0].buffer.size; }

  // Takes the slot that is free first; blocks until it is free. Errors: kDeadlineExceeded.
  Result<Slot*> claim(Deadline deadline);
  // Returns null unless a slot is free now.
  Slot* try_claim() noexcept;
  // With an empty point the slot is free now.
  void put(Slot* slot, const Point& point) noexcept;

 private:
  StagingRing(Ref<MemoryPool> pool, Block* block, std::unique_ptr<Slot[]> slots) noexcept
      : pool_(std::move(pool)), block_(block), slots_(std::move(slots)) {}
  Slot* take(bool only_if_free) noexcept;
  void link(Slot* slot, bool first) noexcept;

  const Ref<MemoryPool> pool_;
  Block* const block_;
  const std::unique_ptr<Slot[]> slots_;

  base::Mutex mutex_;
  Slot* first_ = nullptr;  // unclaimed slots, in the order of their points
  Slot* last_ = nullptr;
  std::uint64_t put_count_ = 0;
  SignalObject puts_{0};  // follows put_count_; claim() waits for it while all slots are claimed
};

}  // namespace halyard::inline v0::hcq::detail
