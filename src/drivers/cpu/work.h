// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a command, so that several threads may share one command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "halyard/hcq/cpu.h"

namespace halyard::inline v0::cpu {

// Copies and fills are cut into chunks of about 12 us (at 20 GB/s); up to two of them run at once.
inline constexpr std::uint64_t kChunkBytes = 256 * 1024;

// Workgroups [first, first + count) of a grid, x fastest.
inline void run_groups(hcq::Kernel kernel, void* const* buffers, const void* constants,
                       const std::uint32_t (&groups)[3], std::uint64_t first,
                       std::uint64_t count) noexcept {
  const std::size_t x = groups[0], y = groups[1], z = groups[2];
  Workgroup group{{first % x, first / x % y, first / x / y}, {x, y, z}};
  for (std::uint64_t i = 0; i < count; ++i) {
    kernel(&group, buffers, constants);
    if (++group.group[0] != x) continue;
    group.group[0] = 0;
    if (++group.group[1] != y) continue;
    group.group[1] = 0;
    ++group.group[2];
  }
}

// `pattern_size` is 1, 2 or 4. The first byte is the pattern's first.
inline void fill_bytes(std::byte* target, std::uint64_t size, std::uint32_t pattern,
                       std::uint32_t pattern_size) noexcept {
  if (pattern_size == 1) {
    std::memset(target, static_cast<int>(pattern & 0xffu), size);
    return;
  }
  if (pattern_size == 2) pattern = (pattern & 0xffffu) * 0x1'0001u;
  for (; size >= sizeof pattern; size -= sizeof pattern, target += sizeof pattern) {
    std::memcpy(target, &pattern, sizeof pattern);
  }
  std::memcpy(target, &pattern, size);
}

}  // namespace halyard::inline v0::cpu
