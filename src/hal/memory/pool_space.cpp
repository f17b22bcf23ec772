// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/pool_space.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>
#include <utility>

#include "hal/memory/freed_memory.h"
#include "timeline/lane_tracker.h"

namespace halyard::inline v0::hal {

using Order = timeline::IssueSite::Order;

PoolSpace::~PoolSpace() {
  assert(statistics_.blocks == 0 && "the holder of a block keeps the pool");
  for (PoolSlab* slab : slabs_) {
    for (PoolBlock* block = slab->first; block != nullptr;) {
      if (block->linked() && !block->frontier) check_freed(*block);
      if (block->linked()) free_.erase(*block);
      delete std::exchange(block, block->above);
    }
    delete slab;
  }
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->above);
}

std::uint64_t PoolSpace::block_size(std::uint64_t size, std::uint64_t alignment) noexcept {
  // Slabs and blocks begin at multiples of the granule.
  const std::uint64_t slack = alignment > kGranule ? alignment - kGranule : 0;
  return (std::max<std::uint64_t>(size, 1) + slack + kGranule - 1) / kGranule * kGranule;
}

PoolBlock* PoolSpace::new_block() noexcept {
  if (spare_ == nullptr) return new (std::nothrow) PoolBlock;
  PoolBlock* block = std::exchange(spare_, spare_->above);
  *block = {};
  return block;
}

PoolBlock* PoolSpace::take(std::uint64_t size, bool hidden_waits,
                           timeline::IssueSite& site) noexcept {
  PoolBlock* best = nullptr;
  Order best_order = Order::kNone;
  const auto look = [&] {
    free_.for_each([&](PoolBlock& block) {
      if (block.size < size) return;
      const Order order = block.frontier ? site.order_after(block.frontier) : Order::kReached;
      if (order == Order::kNone || (order == Order::kEdge && !hidden_waits)) return;
      if (order < best_order || (order == best_order && block.size < best->size)) {
        best = &block;
        best_order = order;
      }
    });
  };
  look();
  if (best_order > Order::kReached) {
    settle(&site.lane());
    best = nullptr;
    best_order = Order::kNone;
    look();
  }
  if (best == nullptr) return nullptr;
  if (best_order == Order::kEdge) site.wait_for(best->frontier);

  // The rest stays free. If there is no memory for its node, it stays a part of the block.
  if (PoolBlock* rest = best->size > size ? new_block() : nullptr) {
    *rest = {{},   best->slab,  best->offset + size, best->size - size,
             best, best->above, best->frontier,      best->was_used};
    if (rest->above != nullptr) rest->above->below = rest;
    best->above = rest;
    best->size = size;
    free_.push_back(*rest);
  }
  free_.erase(*best);
  begin_use(*best);
  if (best->was_used) ++statistics_.reuses;
  ++statistics_.blocks;
  statistics_.used_bytes += best->size;
  statistics_.peak_used_bytes = std::max(statistics_.peak_used_bytes, statistics_.used_bytes);
  return best;
}

void PoolSpace::give(PoolBlock& block, const LanePoint& frontier) noexcept {
  if (!frontier) fill_freed(block);
  block.frontier = frontier;
  block.was_used = true;
  free(block);
}

void PoolSpace::pass(const LanePoint& frontier) noexcept {
  free_.for_each([&](PoolBlock& block) {
    if (block.frontier.lane != frontier.lane || block.frontier.sequence > frontier.sequence) return;
    check_freed(block);
    block.frontier = {};
  });
}

void PoolSpace::put_back(PoolBlock& block) noexcept {
  if (block.was_used) --statistics_.reuses;
  free(block);
}

void PoolSpace::free(PoolBlock& block) noexcept {
  --statistics_.blocks;
  statistics_.used_bytes -= block.size;
  free_.push_front(block);
  if (joins(block, block.above, nullptr)) join(block, *block.above);
  if (block.below != nullptr && joins(*block.below, &block, nullptr)) join(*block.below, block);
}

bool PoolSpace::joins(const PoolBlock& low, const PoolBlock* high,
                      const timeline::LaneTracker* lane) noexcept {
  if (high == nullptr || !low.linked() || !high->linked()) return false;
  const timeline::LaneTracker* const a = low.frontier.lane;
  const timeline::LaneTracker* const b = high->frontier.lane;
  return a == b || (a == nullptr && b == lane) || (b == nullptr && a == lane);
}

void PoolSpace::join(PoolBlock& low, PoolBlock& high) noexcept {
  low.size += high.size;
  if (!low.frontier) low.frontier.lane = high.frontier.lane;
  low.frontier.sequence = std::max(low.frontier.sequence, high.frontier.sequence);
  low.was_used |= high.was_used;
  low.above = high.above;
  if (high.above != nullptr) high.above->below = &low;
  free_.erase(high);
  high.above = spare_;
  spare_ = &high;
}

void PoolSpace::settle(const timeline::LaneTracker* lane) noexcept {
  free_.for_each([](PoolBlock& block) {
    LanePoint& frontier = block.frontier;
    if (!frontier || frontier.lane->retired() < frontier.sequence) return;
    check_freed(block);
    frontier = {};
  });
  for (const auto& slab : slabs_) {
    for (PoolBlock* block = slab->first; block != nullptr;) {
      if (joins(*block, block->above, lane)) {
        join(*block, *block->above);
      } else {
        block = block->above;
      }
    }
  }
}

bool PoolSpace::add(Ref<Memory> memory) noexcept {
  std::unique_ptr<PoolSlab> slab(new (std::nothrow) PoolSlab);
  PoolBlock* block = slab != nullptr && slabs_.make_room(1) ? new_block() : nullptr;
  if (block == nullptr) return false;
  block->slab = slab.get();
  block->size = memory->size();
  statistics_.reserved_bytes += block->size;
  ++statistics_.slabs;
  slab->first = block;
  slab->memory = std::move(memory);
  (void)slabs_.push_back(slab.release());  // there is room
  free_.push_back(*block);
  return true;
}

bool PoolSpace::is_free_slab(const PoolSlab& slab) noexcept {
  const PoolBlock& block = *slab.first;
  return block.linked() && block.above == nullptr && !block.frontier;
}

PoolSlabs PoolSpace::take_free_slabs(std::uint64_t keep) noexcept {
  settle(nullptr);
  PoolSlabs taken;
  std::size_t left = 0;
  for (PoolSlab* slab : slabs_) {
    if (statistics_.reserved_bytes <= keep || !is_free_slab(*slab)) {
      slabs_[left++] = slab;
      continue;
    }
    PoolBlock& block = *slab->first;
    check_freed(block);
    statistics_.reserved_bytes -= block.size;
    --statistics_.slabs;
    free_.erase(block);
    block.above = std::exchange(spare_, &block);
    taken.add(*slab);
  }
  slabs_.shrink(left);
  return taken;
}

std::uint64_t PoolSpace::bound_bytes() noexcept {
  settle(nullptr);
  std::uint64_t bytes = statistics_.reserved_bytes;
  for (const auto& slab : slabs_) {
    if (is_free_slab(*slab)) bytes -= slab->first->size;
  }
  return bytes;
}

}  // namespace halyard::inline v0::hal
