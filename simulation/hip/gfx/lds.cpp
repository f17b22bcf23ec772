// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of LDS with two addresses, and those that only move values between lanes. Operations
// with a single address are in memory.cpp and atomic.cpp (manual, chapter 12 and 16.13).
#include <bit>
#include <cstring>

#include "simulation/hip/gfx/memory.h"
#include "simulation/hip/gfx/vector.h"

namespace halyard::inline v0::sim::gfx {
namespace {

// The unit of offsets is an element, or 64 elements.
template <unsigned kDwords, unsigned kStride>
void run_load_two(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  LdsPlaces places(wave, ins);
  std::uint32_t* const d = wave.row(from.destination.index);
  constexpr unsigned kBytes = 4 * kDwords;
  each_active(wave.exec(), [&](unsigned lane) {
    std::uint32_t values[2 * kDwords];
    for (unsigned i = 0; i < 2; ++i) {
      const auto offset = static_cast<std::uint32_t>(i == 0 ? from.offset : from.offset1);
      const std::byte* const bytes =
          places.find_at(lane, offset * kBytes * kStride, kBytes, LdsAccess::kRead);
      if (bytes == nullptr) return;
      std::memcpy(values + i * kDwords, bytes, kBytes);
    }
    for (unsigned i = 0; i < 2 * kDwords; ++i) d[i * kLanes + lane] = values[i];
  });
}

template <unsigned kDwords, unsigned kStride, bool kExchange = false>
void run_store_two(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  LdsPlaces places(wave, ins);
  constexpr unsigned kBytes = 4 * kDwords;
  each_active(wave.exec(), [&](unsigned lane) {
    std::uint32_t values[2 * kDwords], olds[2 * kDwords];
    for (unsigned i = 0; i < 2 * kDwords; ++i) {
      values[i] = wave.row(from.sources[1 + i / kDwords].index + i % kDwords)[lane];
    }
    for (unsigned i = 0; i < 2; ++i) {
      const auto offset = static_cast<std::uint32_t>(i == 0 ? from.offset : from.offset1);
      std::byte* const bytes = places.find_at(lane, offset * kBytes * kStride, kBytes,
                                              kExchange ? LdsAccess::kAtomic : LdsAccess::kWrite);
      if (bytes == nullptr) return;
      std::memcpy(olds + i * kDwords, bytes, kBytes);
      std::memcpy(bytes, values + i * kDwords, kBytes);
    }
    if (!kExchange || !from.destination) return;
    for (unsigned i = 0; i < 2 * kDwords; ++i) {
      wave.row(from.destination.index + i)[lane] = olds[i];
    }
  });
}

// Two words; each is replaced if the top bit of its data is 1, by the other bits.
void run_conditional_exchange(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  LdsPlaces places(wave, ins);
  each_active(wave.exec(), [&](unsigned lane) {
    std::byte* const bytes = places.find(lane, 8, LdsAccess::kAtomic);
    if (bytes == nullptr) return;
    for (unsigned i = 0; i < 2; ++i) {
      std::uint32_t old = 0;
      std::memcpy(&old, bytes + 4 * i, 4);
      const std::uint32_t data = wave.row(from.sources[1].index + i)[lane];
      const std::uint32_t value = data >> 31 != 0 ? data & 0x7fffffffu : old;
      std::memcpy(bytes + 4 * i, &value, 4);
      if (from.destination) wave.row(from.destination.index + i)[lane] = old;
    }
  });
}

// The highest lane that names a target wins; targets that no lane names get 0.
void run_permute(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  const std::uint32_t* const address = wave.row(from.sources[0].index);
  const std::uint32_t* const data = wave.row(from.sources[1].index);
  RowBuffer result;
  std::memset(result.rows, 0, kLanes * sizeof(std::uint32_t));
  each_active(wave.exec(), [&](unsigned lane) {
    result.rows[(address[lane] + static_cast<std::uint32_t>(from.offset)) / 4 % kLanes] =
        data[lane];
  });
  write_rows(wave, from.destination.index, result.rows, 1, wave.exec());
}
// Inactive lanes read as 0.
void run_backward_permute(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  const std::uint32_t* const address = wave.row(from.sources[0].index);
  const std::uint32_t* const data = wave.row(from.sources[1].index);
  RowBuffer result;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned source = (address[lane] + static_cast<std::uint32_t>(from.offset)) / 4 % kLanes;
    result.rows[lane] = (wave.exec() >> source & 1) != 0 ? data[source] : 0;
  }
  write_rows(wave, from.destination.index, result.rows, 1, wave.exec());
}

// The lane that `lane` reads by the offset of ds_swizzle_b32.
unsigned swizzle_source(std::uint32_t offset, unsigned lane) {
  if (offset >= 0xe000) {  // FFT
    const unsigned mask = offset & 31;
    unsigned reversed = 0;
    for (unsigned i = 0; i < 5; ++i) reversed |= (lane >> i & 1) << (4 - i);
    return reversed >> std::popcount(mask) | (lane & mask);
  }
  if (offset >= 0xc000) {  // rotation within the lanes that the mask leaves
    const unsigned mask = offset & 31, amount = offset >> 5 & 31;
    const bool is_right = (offset >> 10 & 1) != 0;
    const unsigned moved = is_right ? lane - amount : lane + amount;
    return (lane & mask) | (moved & 31 & ~mask);
  }
  if ((offset & 0x8000) != 0) return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
  const unsigned and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
  return ((lane & and_mask) | or_mask) ^ xor_mask;
}
void run_swizzle(Wave& wave, const Ins& ins) {
  const Instruction& from = *ins.from;
  const std::uint32_t* const data = wave.row(from.sources[0].index);
  RowBuffer result;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned source = swizzle_source(static_cast<std::uint32_t>(from.offset), lane);
    result.rows[lane] = (wave.exec() >> source & 1) != 0 ? data[source] : 0;
  }
  write_rows(wave, from.destination.index, result.rows, 1, wave.exec());
}

}  // namespace

Handler lds_handler(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::ds_load_2addr_b32:
      return run_load_two<1, 1>;
    case Opcode::ds_load_2addr_stride64_b32:
      return run_load_two<1, 64>;
    case Opcode::ds_load_2addr_b64:
      return run_load_two<2, 1>;
    case Opcode::ds_load_2addr_stride64_b64:
      return run_load_two<2, 64>;
    case Opcode::ds_store_2addr_b32:
      return run_store_two<1, 1>;
    case Opcode::ds_store_2addr_stride64_b32:
      return run_store_two<1, 64>;
    case Opcode::ds_store_2addr_b64:
      return run_store_two<2, 1>;
    case Opcode::ds_store_2addr_stride64_b64:
      return run_store_two<2, 64>;
    case Opcode::ds_storexchg_2addr_b32:
      return run_store_two<1, 1, true>;
    case Opcode::ds_storexchg_2addr_stride64_b32:
      return run_store_two<1, 64, true>;
    case Opcode::ds_storexchg_2addr_b64:
      return run_store_two<2, 1, true>;
    case Opcode::ds_storexchg_2addr_stride64_b64:
      return run_store_two<2, 64, true>;
    case Opcode::ds_condxchg32_b64:
      return run_conditional_exchange;
    case Opcode::ds_permute_b32:
      return run_permute;
    case Opcode::ds_bpermute_b32:
      return run_backward_permute;
    case Opcode::ds_swizzle_b32:
      return run_swizzle;
    default:
      break;
  }
  if (Handler handler = lds_access_handler(instruction.opcode)) return handler;
  return atomic_handler(instruction);
}

}  // namespace halyard::inline v0::sim::gfx
