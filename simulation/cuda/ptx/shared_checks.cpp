// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/shared_checks.h"

#include <algorithm>

namespace halyard::inline v0::sim::ptx {

SharedChecks::SharedChecks(std::size_t bytes, std::size_t warps)
    : bytes_(bytes), clocks_(warps, Clock(warps)), words_((bytes + 3) / 4) {
  for (std::size_t i = 0; i < warps; ++i) clocks_[i][i] = 1;
  barriers_.fill(Clock(warps));
}

void SharedChecks::join(Clock& to, const Clock& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

SharedChecks::Race SharedChecks::access(std::uint32_t warp, std::uint32_t line, std::size_t offset,
                                        std::size_t size, Warp::Access access) {
  const bool is_atomic = access == Warp::Access::kAtomic;
  const bool is_write = access != Warp::Access::kRead;
  const Use use{clocks_[warp][warp], line, static_cast<std::uint8_t>(warp), is_atomic};
  Race race;
  const auto check = [&](const Use& other, bool other_is_write) {
    if (race.is_found || is_ordered(warp, other) || (is_atomic && other.is_atomic)) return;
    race = {true, other.warp, other.line, other_is_write};
  };
  for (std::size_t i = offset; i < offset + size && i < bytes_.size(); ++i) {
    Byte& byte = bytes_[i];
    check(byte.write, true);
    if (is_write) {
      for (const Use& read : byte.reads) check(read, false);
      byte.write = use;
      byte.reads = {};
      continue;
    }
    Use* oldest = &byte.reads[0];
    for (Use& read : byte.reads) {
      if (read.clock == 0 || read.warp == warp) {
        oldest = &read;
        break;
      }
      if (is_ordered(warp, read)) oldest = &read;
    }
    *oldest = use;
  }
  return race;
}

void SharedChecks::synchronize(std::uint32_t warp, std::size_t offset) {
  if (offset / 4 >= words_.size()) return;
  Clock& word = words_[offset / 4];
  if (word.empty()) word.resize(clocks_.size());
  join(clocks_[warp], word);
  join(word, clocks_[warp]);
  ++clocks_[warp][warp];
}

void SharedChecks::arrive(std::uint32_t warp, unsigned barrier) {
  join(barriers_[barrier], clocks_[warp]);
  ++clocks_[warp][warp];
}

void SharedChecks::depart(std::uint32_t warp, unsigned barrier) {
  join(clocks_[warp], barriers_[barrier]);
}

void SharedChecks::open(unsigned barrier) { std::ranges::fill(barriers_[barrier], 0u); }

}  // namespace halyard::inline v0::sim::ptx
