// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WordList: the words of commands for a hardware queue, and where the fields of each command are.
// The encoders of the drivers append to it. A field that is changed later, or that a symbol fills,
// is written into its places only; nothing is encoded again.
//
//     segments   words that the queue fetches at once. The words after a wait are a segment of
//                their own, since the hardware may fetch ahead of what it executes.
//     blocks     descriptors in the device's memory that words point to: a QMD, an AQL packet.
//
// One thread at a time. Functions that allocate may throw std::bad_alloc, as the recording of a
// command list may; write() does not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hcq/symbol.h"

namespace halyard::inline v0::hcq {

// Memory that the device and, unless `host` is null, the CPU can access.
struct DeviceSpan {
  std::byte* host = nullptr;
  std::uint64_t address = 0;  // the device's virtual address
  std::uint64_t size = 0;     // in bytes
};

// A number of a command, by its role. A field may have several places.
enum class FieldRole : std::uint8_t {
  kSignal,         // the value of a wait or signal
  kSignalAddress,  // where it is
  kGridX,          // in workgroups
  kGridY,
  kGridZ,
  kLocalX,  // in work-items
  kLocalY,
  kLocalZ,
  kArguments,  // the address of the kernel's arguments
  kTarget,     // addresses of a copy, fill or write
  kSource,
  kSize,   // in bytes
  kValue,  // what a write or fill stores
};

// Its value is operand * scale + add, modulo 2^64.
struct Field {
  FieldRole role;
  Operand operand;
  std::uint64_t scale = 1;
  std::uint64_t add = 0;

  // The value if the operand is `operand_value`.
  std::uint64_t value(std::uint64_t operand_value) const noexcept {
    return operand_value * scale + add;
  }
};

// The bits `mask` of the little-endian number of `bytes` bytes at `offset` hold the value of a
// field, shifted left by `shift`, or right where it is negative.
struct FieldPlace {
  Field field;
  std::uint32_t command;  // WordList::begin_command()
  std::uint32_t part;     // number of the segment or block
  std::uint32_t offset;   // in bytes
  std::uint8_t bytes;     // 4 or 8
  bool in_block;
  std::int8_t shift = 0;
  std::uint64_t mask = ~std::uint64_t{0};
};

class WordList {
 public:
  // Where blocks come from.
  class BlockMemory {
   public:
    virtual ~BlockMemory() = default;
    // Memory with a host address, all zero, that lasts as long as the list.
    virtual Result<DeviceSpan> allocate(std::size_t size, std::size_t alignment) = 0;
  };

  // `blocks` outlives the list. Null: block() returns kFailedPrecondition.
  explicit WordList(BlockMemory* blocks = nullptr) noexcept : block_memory_(blocks) {}

  // Fields belong to the command that began last. Returns its number, from 0.
  std::uint32_t begin_command() noexcept { return command_count_++; }

  void word(std::uint32_t word) { words_.push_back(word); }
  void words(std::span<const std::uint32_t> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  // Appends a word with a field in the bits `mask`, and `others` in the rest.
  void field32(const Field& field, int shift = 0, std::uint32_t mask = ~0u,
               std::uint32_t others = 0);
  // Appends two words: the low half, then the high half.
  void field64(const Field& field);
  // Writes a field into words or a block of the list, and records the place. Its command is set.
  void field_at(FieldPlace place);
  // The next word begins a segment. Does nothing if the segment is empty.
  void end_segment();

  // Allocates a block. Returns its number.
  Result<std::uint32_t> block(std::size_t size, std::size_t alignment);
  const DeviceSpan& block_span(std::uint32_t block) const noexcept { return blocks_[block]; }
  // Sets the bits `mask` of `bytes` bytes at `offset`. Precondition: they are in the block.
  void block_bits(std::uint32_t block, std::uint32_t offset, std::uint8_t bytes,
                  std::uint64_t value, std::uint64_t mask = ~std::uint64_t{0}) noexcept;
  void block_field(std::uint32_t block, std::uint32_t offset, std::uint8_t bytes,
                   const Field& field, int shift = 0, std::uint64_t mask = ~std::uint64_t{0});

  // The last segment may be empty.
  std::size_t segment_count() const noexcept { return segment_begins_.size(); }
  std::span<const std::uint32_t> segment(std::size_t segment) const noexcept;
  std::span<const std::uint32_t> words() const noexcept { return words_; }
  std::span<const FieldPlace> places() const noexcept { return places_; }

  // Writes a field's value, as of Field::value(), into one place of the list itself.
  void write(const FieldPlace& place, std::uint64_t value) noexcept;

 private:
  BlockMemory* const block_memory_;
  std::vector<std::uint32_t> words_;  // of all segments
  std::vector<std::uint32_t> segment_begins_{0};
  std::vector<DeviceSpan> blocks_;
  std::vector<FieldPlace> places_;
  std::uint32_t command_count_ = 0;
};

// The bits of `old` with those of `place` replaced by `value`.
std::uint64_t merge_field(const FieldPlace& place, std::uint64_t old, std::uint64_t value) noexcept;

}  // namespace halyard::inline v0::hcq
