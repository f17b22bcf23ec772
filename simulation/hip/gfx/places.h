// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that the lanes of a memory instruction access, by segment. Each class returns the
// host's bytes for a lane, or null after a fault, which ends the run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulation/hip/gfx/buffer.h"
#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {

using LdsAccess = LdsChecks::Access;

// Checks the access and returns the bytes of LDS.
std::byte* find_lds(Wave& wave, const Instruction& from, unsigned lane, std::uint32_t address,
                    std::uint32_t size, LdsAccess access);
std::byte* find_scratch(Wave& wave, const Instruction& from, unsigned lane, std::uint32_t address,
                        std::uint32_t size, LdsAccess access);
void fail_access(Wave& wave, const Instruction& from, unsigned lane, std::uint64_t address,
                 std::uint32_t size, bool is_write);
void fail_alignment(Wave& wave, const Instruction& from, unsigned lane, std::uint64_t address,
                    std::uint32_t size);

inline std::byte* find_global(Wave& wave, const Instruction& from, unsigned lane,
                              std::uint64_t address, std::uint32_t size, LdsAccess access) {
  const bool is_write = access != LdsAccess::kRead;
  std::byte* const bytes = wave.worker->find(address, size, is_write);
  if (bytes == nullptr) [[unlikely]]
    fail_access(wave, from, lane, address, size, is_write);
  return bytes;
}

// An address of 64 bits: global memory, or one of the apertures.
std::byte* find_flat(Wave& wave, const Instruction& from, unsigned lane, std::uint64_t address,
                     std::uint32_t size, LdsAccess access);

class LdsPlaces {
 public:
  LdsPlaces(Wave& wave, const Ins& ins)
      : wave_(wave), from_(*ins.from), rows_(wave.row(from_.sources[0].index)) {}
  std::byte* find(unsigned lane, std::uint32_t size, LdsAccess access) {
    return find_at(lane, static_cast<std::uint32_t>(from_.offset), size, access);
  }
  std::byte* find_at(unsigned lane, std::uint32_t offset, std::uint32_t size, LdsAccess access) {
    return find_lds(wave_, from_, lane, rows_[lane] + offset, size, access);
  }
  bool is_shared() const { return false; }  // by other host threads

 private:
  Wave& wave_;
  const Instruction& from_;
  const std::uint32_t* rows_;
};

// FLAT and GLOBAL.
template <bool kIsFlat>
class AddressPlaces {
 public:
  AddressPlaces(Wave& wave, const Ins& ins) : wave_(wave), from_(*ins.from) {
    base_ = static_cast<std::uint64_t>(std::int64_t{from_.offset});
    const Operand& scalar = from_.sources[2];
    if (scalar) base_ += wave.read64(scalar);
    if (from_.sources[0]) {
      low_ = wave.row(from_.sources[0].index);
      if (!scalar) high_ = low_ + kLanes;
    }
  }
  std::uint64_t address(unsigned lane) const {
    std::uint64_t result = base_;
    if (low_ != nullptr) result += low_[lane];
    if (high_ != nullptr) result += std::uint64_t{high_[lane]} << 32;
    return result;
  }
  std::byte* find(unsigned lane, std::uint32_t size, LdsAccess access) {
    if constexpr (kIsFlat) return find_flat(wave_, from_, lane, address(lane), size, access);
    return find_global(wave_, from_, lane, address(lane), size, access);
  }
  bool is_shared() const { return true; }

 private:
  Wave& wave_;
  const Instruction& from_;
  std::uint64_t base_ = 0;
  const std::uint32_t* low_ = nullptr;
  const std::uint32_t* high_ = nullptr;
};

class ScratchPlaces {
 public:
  ScratchPlaces(Wave& wave, const Ins& ins) : wave_(wave), from_(*ins.from) {
    base_ = static_cast<std::uint32_t>(from_.offset);
    if (from_.sources[2]) base_ += wave.read32(from_.sources[2]);
    if (from_.sources[0]) rows_ = wave.row(from_.sources[0].index);
  }
  std::byte* find(unsigned lane, std::uint32_t size, LdsAccess access) {
    const std::uint32_t address = base_ + (rows_ != nullptr ? rows_[lane] : 0);
    return find_scratch(wave_, from_, lane, address, size, access);
  }
  bool is_shared() const { return false; }

 private:
  Wave& wave_;
  const Instruction& from_;
  std::uint32_t base_ = 0;
  const std::uint32_t* rows_ = nullptr;
};

// MUBUF. Out of range, loads return 0 and stores are dropped: `find` then returns a scratch buffer,
// which is zero before each access. The range check is per register.
class BufferPlaces {
 public:
  BufferPlaces(Wave& wave, const Ins& ins);
  // The bytes that start `skipped` bytes after the first byte of the lane's access.
  std::byte* find(unsigned lane, std::uint32_t size, LdsAccess access, std::uint32_t skipped = 0);
  bool is_shared() const { return true; }

 private:
  Wave& wave_;
  const Instruction& from_;
  BufferDescriptor buffer_;
  std::uint32_t scalar_offset_ = 0;
  const std::uint32_t* index_ = nullptr;
  const std::uint32_t* offset_ = nullptr;
  std::array<std::byte, 16> outside_{};
};

}  // namespace halyard::inline v0::sim::gfx
