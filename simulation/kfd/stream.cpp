// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/kfd/stream.h"

#include <algorithm>

#include "simulation/kfd/memory.h"

namespace halyard::inline v0::sim::kfd {

std::uint32_t Stream::load(std::uint64_t position) const {
  return load32(words_ + 4 * (position % capacity_));
}

std::span<const std::uint32_t> Stream::peek(std::uint64_t count, std::uint64_t depth) {
  const std::uint64_t wanted = std::min(std::max(count, depth), available());
  while (fetched_.size() < wanted) fetched_.push_back(load(position_ + fetched_.size()));
  return std::span(fetched_).first(count);
}

std::uint64_t Stream::consume(std::uint64_t count) {
  std::uint64_t changed = kUnchanged;
  for (std::uint64_t i = count; i-- != 0;) {
    if (load(position_ + i) != fetched_[i]) changed = position_ + i;
  }
  fetched_.erase(fetched_.begin(), fetched_.begin() + static_cast<std::ptrdiff_t>(count));
  position_ += count;
  return changed;
}

}  // namespace halyard::inline v0::sim::kfd
