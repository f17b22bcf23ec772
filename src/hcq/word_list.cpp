// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hcq/word_list.h"

#include <cassert>
#include <cstring>

namespace halyard::inline v0::hcq {
namespace {

std::uint64_t load(const std::byte* at, std::uint8_t bytes) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

}  // namespace

std::uint64_t merge_field(const FieldPlace& place, std::uint64_t old,
                          std::uint64_t value) noexcept {
  const std::uint64_t moved = place.shift < 0 ? value >> -place.shift : value << place.shift;
  return (old & ~place.mask) | (moved & place.mask);
}

void WordList::field32(const Field& field, int shift, std::uint32_t mask, std::uint32_t others) {
  assert((others & mask) == 0);
  const std::size_t begin = segment_begins_.back();
  const auto offset = static_cast<std::uint32_t>((words_.size() - begin) * sizeof(std::uint32_t));
  words_.push_back(others);
  field_at({field, 0, static_cast<std::uint32_t>(segment_count() - 1), offset, 4, false,
            static_cast<std::int8_t>(shift), mask});
}

void WordList::field64(const Field& field) {
  const std::size_t begin = segment_begins_.back();
  const auto offset = static_cast<std::uint32_t>((words_.size() - begin) * sizeof(std::uint32_t));
  words_.insert(words_.end(), 2, 0);
  field_at({field, 0, static_cast<std::uint32_t>(segment_count() - 1), offset, 8, false});
}

void WordList::end_segment() {
  if (segment_begins_.back() == words_.size()) return;
  segment_begins_.push_back(static_cast<std::uint32_t>(words_.size()));
}

Result<std::uint32_t> WordList::block(std::size_t size, std::size_t alignment) {
  if (block_memory_ == nullptr)
    return Status(StatusCode::kFailedPrecondition, "this list has no memory for descriptors");
  Result<DeviceSpan> span = block_memory_->allocate(size, alignment);
  if (!span.ok()) return std::move(span).status();
  blocks_.push_back(*span);
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

void WordList::block_bits(std::uint32_t block, std::uint32_t offset, std::uint8_t bytes,
                          std::uint64_t value, std::uint64_t mask) noexcept {
  assert(offset + bytes <= blocks_[block].size);
  std::byte* const at = blocks_[block].host + offset;
  value = (load(at, bytes) & ~mask) | (value & mask);
  std::memcpy(at, &value, bytes);
}

void WordList::block_field(std::uint32_t block, std::uint32_t offset, std::uint8_t bytes,
                           const Field& field, int shift, std::uint64_t mask) {
  field_at({field, 0, block, offset, bytes, true, static_cast<std::int8_t>(shift), mask});
}

std::span<const std::uint32_t> WordList::segment(std::size_t segment) const noexcept {
  const std::size_t end =
      segment + 1 < segment_count() ? segment_begins_[segment + 1] : words_.size();
  return std::span(words_).subspan(segment_begins_[segment], end - segment_begins_[segment]);
}

void WordList::write(const FieldPlace& place, std::uint64_t value) noexcept {
  std::byte* const at =
      place.in_block ? blocks_[place.part].host + place.offset
                     : reinterpret_cast<std::byte*>(words_.data() + segment_begins_[place.part]) +
                           place.offset;
  const std::uint64_t merged = merge_field(place, load(at, place.bytes), value);
  std::memcpy(at, &merged, place.bytes);
}

// A symbol is zero until it is bound.
void WordList::field_at(FieldPlace place) {
  assert(command_count_ != 0);
  place.command = command_count_ - 1;
  places_.push_back(place);
  write(place, place.field.value(place.field.operand.resolve()));
}

}  // namespace halyard::inline v0::hcq
