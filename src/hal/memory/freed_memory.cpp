// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/freed_memory.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>

#include "hal/memory/pool_space.h"
#include "timeline/lane_tracker.h"

namespace halyard::inline v0::hal {
namespace {

constexpr std::uint64_t kUnchecked = ~std::uint64_t{0};  // PoolSlab::used_to

bool is_checked(const PoolBlock& block) noexcept {
  return base::kPoisonsFreedMemory && block.slab->memory->host_pointer() != nullptr;
}

std::byte* bytes_of(const PoolBlock& block) noexcept {
  return block.slab->memory->host_pointer() + block.offset;
}

void fill(std::byte* bytes, std::uint64_t size) noexcept {
  std::memset(bytes, static_cast<int>(kFreedPattern), size);
}

}  // namespace

void fill_freed(const PoolBlock& block) noexcept {
  if (is_checked(block)) fill(bytes_of(block), block.size);
}

void check_freed(const PoolBlock& block) noexcept {
  if (!is_checked(block)) return;
  std::uint64_t& used_to = block.slab->used_to;
  // The device was lost before it reached the deallocation. Earlier work may still run and write to
  // the slab, which that work's payload keeps.
  if (block.frontier && block.frontier.lane->is_dead(block.frontier.sequence)) {
    used_to = kUnchecked;
  }
  if (used_to == kUnchecked || block.offset >= used_to) return;
  const std::byte* const bytes = bytes_of(block);
  const std::size_t size = std::min(block.size, used_to - block.offset);
  assert(bytes[0] == std::byte{kFreedPattern} && std::memcmp(bytes, bytes + 1, size - 1) == 0 &&
         "memory was written to after it was returned to its pool");
  (void)bytes, (void)size;
}

void begin_use(const PoolBlock& block) noexcept {
  if (!is_checked(block)) return;
  const LanePoint& frontier = block.frontier;
  if (!frontier || frontier.lane->retired() >= frontier.sequence) check_freed(block);
  std::uint64_t& used_to = block.slab->used_to;
  const std::uint64_t end = block.offset + block.size;
  if (end <= used_to) return;
  fill(block.slab->memory->host_pointer() + used_to, end - used_to);
  used_to = end;
}

}  // namespace halyard::inline v0::hal
