// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PoolSpace: slabs divided into blocks; chooses the free block that an allocation takes (rule 31).
//
//     slab    | used | free, since (lane 1, 17) | used | free |
//
// A free block has a frontier: the deallocation that returned it, as (lane, sequence), until the
// device has passed it. Neighbours are joined if both frontiers are of the same lane or have
// passed, so a frontier never has more than one entry. Not thread-safe. The only calls to other
// components are queries about a place in a lane.
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.h"
#include "base/intrusive_list.h"
#include "hal/memory/memory.h"
#include "halyard/base/ref.h"
#include "halyard/hal/pool.h"
#include "timeline/gate.h"

namespace halyard::inline v0::hal {

using timeline::LanePoint;

struct PoolSlab {
  Ref<Memory> memory;
  struct PoolBlock* first = nullptr;
  PoolSlab* next = nullptr;   // in PoolSlabs
  std::uint64_t used_to = 0;  // above it nothing was used yet (freed_memory.h)
};

// Slabs that were taken out of a pool. The destructor frees their memory, so it must not run under
// the pool's lock.
class PoolSlabs {
 public:
  PoolSlabs() noexcept = default;
  PoolSlabs(PoolSlabs&& other) noexcept : first_(std::exchange(other.first_, nullptr)) {}
  PoolSlabs& operator=(PoolSlabs&& other) noexcept {
    std::swap(first_, other.first_);
    return *this;
  }
  ~PoolSlabs() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
  }

  bool empty() const noexcept { return first_ == nullptr; }
  void add(PoolSlab& slab) noexcept { slab.next = std::exchange(first_, &slab); }

 private:
  PoolSlab* first_ = nullptr;
};

struct FreeTag {};

struct PoolBlock : base::ListHook<FreeTag> {  // on the free list: it is free
  PoolSlab* slab = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  PoolBlock* below = nullptr;
  PoolBlock* above = nullptr;
  LanePoint frontier;  // empty: passed
  bool was_used = false;
};

class PoolSpace {
 public:
  static constexpr std::uint64_t kGranule = 256;  // of block sizes and offsets
  static constexpr std::uint64_t kSlabAlignment = 4096;

  PoolSpace() = default;
  ~PoolSpace();

  // The block size that holds `size` bytes at a multiple of `alignment`, wherever it begins.
  static std::uint64_t block_size(std::uint64_t size, std::uint64_t alignment) noexcept;

  // The best free block for the place `site`, or null. Adds the hidden wait if it needs one.
  PoolBlock* take(std::uint64_t size, bool hidden_waits, timeline::IssueSite& site) noexcept;
  // Returns a block whose last use ends at `frontier`.
  void give(PoolBlock& block, const LanePoint& frontier) noexcept;
  // Declares that the device has passed `frontier`, even if its lane has not retired it yet.
  void pass(const LanePoint& frontier) noexcept;
  // Returns a block as if it had not been taken.
  void put_back(PoolBlock& block) noexcept;

  // False: no memory for the bookkeeping.
  bool add(Ref<Memory> memory) noexcept;
  // Takes out slabs that are free and passed until at most `keep` bytes are reserved.
  PoolSlabs take_free_slabs(std::uint64_t keep) noexcept;
  // The bytes of the slabs that take_free_slabs() cannot take out.
  std::uint64_t bound_bytes() noexcept;

  // fn(Lane&, sequence) for each free block whose frontier has not passed.
  template <class F>
  void for_each_frontier(F&& fn) {
    free_.for_each([&](PoolBlock& block) {
      if (block.frontier) fn(*block.frontier.lane, block.frontier.sequence);
    });
  }

  const PoolStatistics& statistics() const noexcept { return statistics_; }
  void reset_peak() noexcept { statistics_.peak_used_bytes = statistics_.used_bytes; }

 private:
  void free(PoolBlock& block) noexcept;
  PoolBlock* new_block() noexcept;
  // Whether a single frontier can stand for both blocks. A passed frontier may count as one of
  // `lane`.
  static bool joins(const PoolBlock& low, const PoolBlock* high,
                    const timeline::LaneTracker* lane) noexcept;
  void join(PoolBlock& low, PoolBlock& high) noexcept;
  // Notes which frontiers have passed, and joins neighbours; as joins().
  void settle(const timeline::LaneTracker* lane) noexcept;
  static bool is_free_slab(const PoolSlab& slab) noexcept;

  base::Array<PoolSlab*> slabs_;  // its own, oldest first
  base::IntrusiveList<PoolBlock, FreeTag> free_;
  PoolBlock* spare_ = nullptr;  // unused nodes, by `above`
  PoolStatistics statistics_;
};

}  // namespace halyard::inline v0::hal
