// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/memory_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::hcq::detail {

MemoryPool::~MemoryPool() {
  for (Queue& queue : cached_) {
    while (queue.first != nullptr) device_.abandon(std::exchange(queue.first, queue.first->next));
  }
}

constexpr MemoryPool::Size MemoryPool::round_up(std::uint64_t size) noexcept {
  size = std::max<std::uint64_t>(size, 1);
  constexpr std::uint64_t kFirst = kGranule * kStepsPerDoubling;
  const std::uint64_t base = std::max(kFirst, std::bit_floor(size - 1));
  const std::uint64_t step = base / kStepsPerDoubling;
  const std::uint64_t steps = (size + step - 1) / step;
  const auto doublings = static_cast<std::uint64_t>(std::countr_zero(base / kFirst));
  return {steps * step, static_cast<std::size_t>(steps + kStepsPerDoubling * doublings - 1)};
}

Result<Block*> MemoryPool::allocate(std::uint64_t size) {
  static_assert(round_up(kMaxSize).index + 1 == kSizes, "a queue for each size, and no more");
  if (size <= kMaxSize) {
    const Size rounded = round_up(size);
    Block* block = take_cached(rounded);
    if (block == nullptr) block = create(MemoryType::kDevice, rounded.bytes);
    if (block == nullptr && trim() != 0) block = create(MemoryType::kDevice, rounded.bytes);
    if (block != nullptr) {
      base::LockGuard lock(mutex_);
      statistics_.in_use += rounded.bytes;
      return block;
    }
  }
  const AllocatorStatistics now = statistics();
  return error(StatusCode::kResourceExhausted,
               "allocator: no memory for {} bytes; {} are in use, {} wait for work that is queued",
               size, now.in_use, now.cached);
}

Block* MemoryPool::take_cached(Size size) noexcept {
  base::LockGuard lock(mutex_);
  Queue& queue = cached_[size.index];
  if (queue.first == nullptr || !queue.first->free_from.reached()) return nullptr;
  statistics_.cached -= size.bytes;
  return std::exchange(queue.first, queue.first->next);
}

void MemoryPool::give_back(Block* block) noexcept {
  base::LockGuard lock(mutex_);
  block->free_from = device_.last_timeline();  // under the lock, for the order of the queue
  block->next = nullptr;
  Queue& queue = cached_[round_up(block->memory.size).index];
  (queue.first == nullptr ? queue.first : queue.last->next) = block;
  queue.last = block;
  statistics_.in_use -= block->memory.size;
  statistics_.cached += block->memory.size;
}

std::uint64_t MemoryPool::trim() noexcept {
  std::uint64_t bytes = 0;
  Block* reached = nullptr;
  {
    base::LockGuard lock(mutex_);
    for (Queue& queue : cached_) {
      while (queue.first != nullptr && queue.first->free_from.reached()) {
        Block* const block = std::exchange(queue.first, queue.first->next);
        bytes += block->memory.size;
        block->next = std::exchange(reached, block);
      }
    }
    statistics_.cached -= bytes;
  }
  while (reached != nullptr) device_.free(std::exchange(reached, reached->next));
  return bytes;
}

AllocatorStatistics MemoryPool::statistics() const noexcept {
  base::LockGuard lock(mutex_);
  return statistics_;
}

Block* MemoryPool::create(MemoryType type, std::uint64_t size) noexcept {
  const Buffer memory = device_.allocate_memory(type, size);
  if (memory.va_addr == 0) return nullptr;
  auto* block = new (std::nothrow) Block{.type = type, .memory = memory};
  if (block == nullptr) device_.free_memory(type, memory);
  return block;
}

void MemoryPool::retire(Block* block) noexcept {
  block->free_from = device_.last_timeline();
  device_.abandon(block);
}

}  // namespace halyard::inline v0::hcq::detail
