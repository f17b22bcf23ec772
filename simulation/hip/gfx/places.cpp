// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/places.h"

#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

std::string access_text(std::uint32_t size, std::uint64_t address, bool is_write) {
  return join(is_write ? "writes " : "reads ", size, size == 1 ? " byte at " : " bytes at ",
              hex(address));
}

}  // namespace

void fail_access(Wave& wave, const Instruction& from, unsigned lane, std::uint64_t address,
                 std::uint32_t size, bool is_write) {
  wave.fail(OutcomeKind::kIllegalAddress, from, lane,
            access_text(size, address, is_write) + ", outside of every allocation" +
                (is_write ? " that can be written" : ""),
            address);
}

void fail_alignment(Wave& wave, const Instruction& from, unsigned lane, std::uint64_t address,
                    std::uint32_t size) {
  wave.fail(OutcomeKind::kIllegalAddress, from, lane,
            join("an atomic operation on ", size, " bytes at ", hex(address),
                 ", which is no multiple of them"),
            address);
}

std::byte* find_lds(Wave& wave, const Instruction& from, unsigned lane, std::uint32_t address,
                    std::uint32_t size, LdsAccess access) {
  Workgroup& group = *wave.group;
  const bool is_write = access != LdsAccess::kRead;
  if (address >= group.lds.size() || size > group.lds.size() - address) [[unlikely]] {
    wave.fail(OutcomeKind::kIllegalAddress, from, lane,
              access_text(size, address, is_write) + " of LDS, which has " +
                  join(group.lds.size(), " bytes"),
              address);
    return nullptr;
  }
  if (access == LdsAccess::kAtomic && (address & (size - 1)) != 0) [[unlikely]] {
    fail_alignment(wave, from, lane, address, size);
    return nullptr;
  }
  if (group.lds_checks) [[unlikely]] {
    const auto race = group.lds_checks->access(wave.index, from, address, size, access);
    if (race) {
      group.run->report(
          FindingKind::kLdsRace, wave, from, lane,
          join(is_write ? "writes" : "reads", " LDS at ", hex(address), ", which wave ",
               race->other_wave, race->other_is_write ? " wrote" : " read", " at offset ",
               hex(race->other->offset_in_code - group.run->code->entry_offset),
               " with no barrier between"));
    }
  }
  return group.lds.data() + address;
}

std::byte* find_scratch(Wave& wave, const Instruction& from, unsigned lane, std::uint32_t address,
                        std::uint32_t size, LdsAccess access) {
  if (address >= wave.scratch_bytes || size > wave.scratch_bytes - address) [[unlikely]] {
    wave.fail(OutcomeKind::kIllegalAddress, from, lane,
              access_text(size, address, access != LdsAccess::kRead) + " of scratch, which has " +
                  join(wave.scratch_bytes, " bytes"),
              address);
    return nullptr;
  }
  return wave.scratch.data() + std::size_t{lane} * wave.scratch_bytes + address;
}

std::byte* find_flat(Wave& wave, const Instruction& from, unsigned lane, std::uint64_t address,
                     std::uint32_t size, LdsAccess access) {
  const auto low = static_cast<std::uint32_t>(address);
  switch (address >> 32) {
    case kSharedAperture >> 32:
      return find_lds(wave, from, lane, low, size, access);
    case kPrivateAperture >> 32:
      return find_scratch(wave, from, lane, low, size, access);
    default:
      return find_global(wave, from, lane, address, size, access);
  }
}

BufferPlaces::BufferPlaces(Wave& wave, const Ins& ins)
    : wave_(wave), from_(*ins.from), buffer_(wave, from_.sources[2].index) {
  if (buffer_.is_swizzled) {
    wave.fail(OutcomeKind::kIllegalInstruction, from_, 0, "swizzled buffers are not built");
  }
  scalar_offset_ = from_.sources[3] ? wave.read32(from_.sources[3]) : 0;
  const unsigned first = from_.sources[0].index;
  if (from_.index_enable) index_ = wave.row(first);
  if (from_.offset_enable) offset_ = wave.row(from_.index_enable ? first + 1 : first);
}

std::byte* BufferPlaces::find(unsigned lane, std::uint32_t size, LdsAccess access,
                              std::uint32_t skipped) {
  using Range = BufferDescriptor::Range;
  if (buffer_.is_swizzled) return nullptr;
  const std::uint64_t index =
      (index_ != nullptr ? std::uint64_t{index_[lane]} : 0) + (buffer_.adds_lane ? lane : 0);
  // Wraps at 32 bits, because compilers use negative lane offsets.
  const std::uint32_t offset =
      static_cast<std::uint32_t>(from_.offset) + skipped + (offset_ != nullptr ? offset_[lane] : 0);
  bool is_inside = true;
  switch (buffer_.range) {
    case Range::kStructured:
      is_inside = index < buffer_.records && (buffer_.stride == 0 || offset < buffer_.stride);
      break;
    case Range::kIndex:
      is_inside = index < buffer_.records;
      break;
    case Range::kNothing:
      is_inside = buffer_.records != 0;
      break;
    case Range::kRaw:
      is_inside = std::uint64_t{offset} + size + scalar_offset_ <= buffer_.records;
      break;
  }
  if (!is_inside) {
    outside_ = {};
    return outside_.data();
  }
  return find_global(wave_, from_, lane,
                     buffer_.base + scalar_offset_ + index * buffer_.stride + offset, size, access);
}

}  // namespace halyard::inline v0::sim::gfx
