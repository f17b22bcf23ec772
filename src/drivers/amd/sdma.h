// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SdmaEncoder: appends commands to a list as packets of an SDMA queue (copy engine). As Pm4Encoder
// (pm4.h): fields, segments, errors. And functions that place packets in such a queue's ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/amd/generation.h"
#include "halyard/base/result.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::amd {

class SdmaEncoder {
 public:
  // `list` outlives the encoder.
  SdmaEncoder(hcq::WordList& list, Generation generation) noexcept
      : list_(list), generation_(generation) {}

  // The most bytes that one packet copies: 4 MiB on gfx942, 1 GiB on gfx11.
  std::uint64_t max_copy() const noexcept;

  // Waits until the signal is at least `value`.
  Status wait(const hcq::Operand& address, const hcq::Operand& value);
  // Writes `value` when the packets before it are complete; then raises the mailbox's event, unless
  // the mailbox is null.
  Status signal(const hcq::Operand& address, const hcq::Operand& value,
                const Mailbox* mailbox = nullptr);
  // Writes the clock's 64-bit value, at a multiple of 8. The field's role is kTarget.
  Status timestamp(const hcq::Operand& address);
  // Copies bytes. Longer copies than max_copy() are several packets, of which all but the last copy
  // max_copy(). An update of the size must keep their number; a size that is a symbol has one
  // packet, so its values are from 1 to max_copy(). A constant 0 appends nothing. Target and source
  // must not overlap.
  Status copy(const hcq::Operand& target, const hcq::Operand& source, const hcq::Operand& size);
  // Writes the low `bytes` bytes of `value`, 4 or 8, at a multiple of 4. Errors: kInvalidArgument
  // for another number of bytes.
  Status write(const hcq::Operand& target, const hcq::Operand& value, unsigned bytes);
  // Appends whole packets as they are, without fields. Errors: those of sdma_packet_words().
  Status raw(std::span<const std::uint32_t> words);

 private:
  hcq::WordList& list_;
  const Generation generation_;
};

// The number of words of the packet that `words` begins with. Errors:
//   kUnimplemented      its operation is not one that this file appends
//   kInvalidArgument    `words` is empty or ends within it
Result<std::size_t> sdma_packet_words(std::span<const std::uint32_t> words);

// A position in a ring is the number of bytes that were ever written to it. No packet crosses the
// ring's end: zeros, which do nothing, fill the ring before a packet that would. The functions
// return the position after the packets. The caller checks that the ring has room up to it.
// Errors: those of sdma_packet_words(); kOutOfRange if a packet is longer than the ring.

// Writes nothing, so that the caller sees how much room packets need.
Result<std::uint64_t> sdma_end(std::uint64_t put, std::size_t ring_words,
                               std::span<const std::uint32_t> packets);
// Copies the packets into the ring.
Result<std::uint64_t> write_sdma(std::uint64_t put, std::span<std::uint32_t> ring,
                                 std::span<const std::uint32_t> packets);
// Writes a packet that executes `words` words at `address`, a multiple of 32, and zeros before it,
// in all at most 13 words. The memory has zeros after the words, up to a multiple of 8 words. The
// ring's length is a multiple of 8 words. Errors: those of check_address();
//   kInvalidArgument    there are no words
//   kOutOfRange         there are more than 0xffff8
Result<std::uint64_t> write_sdma_indirect(std::uint64_t put, std::span<std::uint32_t> ring,
                                          std::uint64_t address, std::size_t words);

}  // namespace halyard::inline v0::amd
