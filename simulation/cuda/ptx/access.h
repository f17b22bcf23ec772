// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the addresses of an instruction to the host's bytes.
#pragma once

#include <cstring>

#include "simulation/cuda/ptx/block.h"

namespace halyard::inline v0::sim::ptx {

struct Addresses {
  std::array<std::uint64_t, kLanes> at;
  bool is_uniform = false;
};

inline void compute_addresses(Warp& warp, const Ins& ins, Addresses& result) {
  const auto offset = static_cast<std::uint64_t>(ins.imm);
  if (ins.a == kNoSlot || (ins.flags & kAddressVariable) != 0) {
    std::uint64_t address = offset;
    if ((ins.flags & kAddressVariable) != 0) address += warp.block->run->launch->addresses[ins.a];
    if ((ins.flags & kAddressLocal) != 0) address += warp.local;
    result.at.fill(address);
    result.is_uniform = true;
    return;
  }
  result.is_uniform = false;
  if ((ins.flags & kAddress32) != 0) {
    const auto* const a = warp.in<std::uint32_t>(ins.a);
    const auto low = static_cast<std::uint32_t>(offset);
    for (unsigned lane = 0; lane < kLanes; ++lane) result.at[lane] = std::uint32_t{a[lane] + low};
  } else {
    const auto* const a = warp.in<std::uint64_t>(ins.a);
    for (unsigned lane = 0; lane < kLanes; ++lane) result.at[lane] = a[lane] + offset;
  }
}

// Return the bytes of an access, or null if it is out of bounds, without a report. For the spaces
// that lanes share. `address` is relative to its space.
inline std::byte* find_shared(Block& block, std::uint64_t address, std::uint32_t size) {
  const std::uint32_t static_bytes = block.run->entry->static_shared_bytes;
  if (address < static_bytes) {
    return size <= static_bytes - address ? block.shared.data() + address : nullptr;
  }
  const std::uint64_t offset = address - kDynamicShared;
  const std::uint32_t bytes = block.run->launch->dynamic_shared_bytes;
  if (offset >= bytes || size > bytes - offset) return nullptr;
  return block.shared.data() + block.dynamic_offset + offset;
}

inline std::byte* find_in_space(Warp& warp, MemorySpace space, std::uint64_t address,
                                std::uint32_t size, bool is_write, unsigned lane) {
  switch (space) {
    case MemorySpace::kGeneric:
      if (address >= kWindowBytes) {
        const std::uint64_t offset = address & (kWindowBytes - 1);
        const std::uint64_t window = address - offset;
        const MemorySpace inner = window == kSharedWindow      ? MemorySpace::kShared
                                  : window == kLocalWindow     ? MemorySpace::kLocal
                                  : window == kParameterWindow ? MemorySpace::kParameter
                                                               : MemorySpace::kGeneric;
        if (inner == MemorySpace::kGeneric) return nullptr;
        return find_in_space(warp, inner, offset, size, is_write, lane);
      }
      [[fallthrough]];
    case MemorySpace::kGlobal:
      return warp.worker->find(address, size, is_write);
    case MemorySpace::kShared:
      return find_shared(*warp.block, address, size);
    case MemorySpace::kLocal:
      if (address >= warp.local_stride || size > warp.local_stride - address) return nullptr;
      return warp.locals.data() + std::size_t{lane} * warp.local_stride + address;
    case MemorySpace::kParameter: {
      std::vector<std::byte>& parameters = warp.block->run->parameters;
      if (is_write || address >= parameters.size() || size > parameters.size() - address) {
        return nullptr;
      }
      return parameters.data() + address;
    }
  }
  return nullptr;
}

// The alignment that an access needs: the smallest power of two that is at least `size`.
constexpr std::uint32_t alignment_for(std::uint32_t size) { return std::bit_ceil(size); }

}  // namespace halyard::inline v0::sim::ptx
