// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/amd/sdma.h"

#include <algorithm>

#include "base/format.h"
#include "drivers/amd/packets.h"

namespace halyard::inline v0::amd {
namespace {

using hcq::FieldRole;

constexpr std::uint64_t kMaxSdmaSignal = ~std::uint32_t{0};

// Calls place(packet, offset) for each packet, with its offset in the ring in words, and
// fill(offset, count) for zeros. Returns the position after the last.
template <class Place, class Fill>
Result<std::uint64_t> walk_ring(std::uint64_t put, std::size_t ring_words,
                                std::span<const std::uint32_t> packets, Place place, Fill fill) {
  std::uint64_t at = put / sizeof(std::uint32_t);
  while (!packets.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const std::size_t words, sdma_packet_words(packets));
    if (words > ring_words) {
      return error(StatusCode::kOutOfRange, "amd: an SDMA packet of {} words, in a ring of {}",
                   words, ring_words);
    }
    const std::size_t left = ring_words - at % ring_words;
    if (words > left) {
      fill(at % ring_words, left);
      at += left;
    }
    place(packets.first(words), at % ring_words);
    at += words;
    packets = packets.subspan(words);
  }
  return at * sizeof(std::uint32_t);
}

}  // namespace

std::uint64_t SdmaEncoder::max_copy() const noexcept {
  return generation_ == Generation::kGfx11 ? sdma::kMaxCopyV6 : sdma::kMaxCopyV4;
}

Status SdmaEncoder::wait(const hcq::Operand& address, const hcq::Operand& value) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 4, "wait: the signal's address"));
  HALYARD_RETURN_IF_ERROR(check_at_most(value, kMaxSdmaSignal, "wait: the value"));
  list_.word(sdma::kPollRegMem | sdma::kPollGreaterOrEqual | sdma::kPollMemory);
  list_.field64({FieldRole::kSignalAddress, address});
  list_.field32({FieldRole::kSignal, value});
  list_.word(~std::uint32_t{0});  // mask
  list_.word(sdma::kPollForever);
  list_.end_segment();
  return Status();
}

Status SdmaEncoder::signal(const hcq::Operand& address, const hcq::Operand& value,
                           const Mailbox* mailbox) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 4, "signal: the address"));
  HALYARD_RETURN_IF_ERROR(check_at_most(value, kMaxSdmaSignal, "signal: the value"));
  if (mailbox != nullptr)
    HALYARD_RETURN_IF_ERROR(check_address(mailbox->address, 4, "signal: the mailbox's address"));
  const std::uint32_t fence =
      sdma::kFence | (generation_ == Generation::kGfx11 ? sdma::kFenceUncached : 0);
  list_.word(fence);
  list_.field64({FieldRole::kSignalAddress, address});
  list_.field32({FieldRole::kSignal, value});
  if (mailbox == nullptr) return Status();
  list_.word(fence);
  list_.word(static_cast<std::uint32_t>(mailbox->address));
  list_.word(static_cast<std::uint32_t>(mailbox->address >> 32));
  list_.word(mailbox->event);
  list_.word(sdma::kTrap);
  list_.word(mailbox->event);
  return Status();
}

Status SdmaEncoder::timestamp(const hcq::Operand& address) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 8, "timestamp: the address"));
  list_.word(sdma::kTimestampGetGlobal);
  list_.field64({FieldRole::kTarget, address});
  return Status();
}

Status SdmaEncoder::copy(const hcq::Operand& target, const hcq::Operand& source,
                         const hcq::Operand& size) {
  HALYARD_RETURN_IF_ERROR(check_address(target, 1, "copy: the target"));
  HALYARD_RETURN_IF_ERROR(check_address(source, 1, "copy: the source"));
  if (!size.symbolic()) {
    HALYARD_RETURN_IF_ERROR(check_at_most(size, std::uint64_t{1} << 48, "copy: the size"));
    if (size.resolve() == 0) return Status();
  }
  const std::uint64_t whole = size.symbolic() ? 1 : size.resolve();
  const std::uint64_t longest = max_copy();
  for (std::uint64_t done = 0; done < whole; done += longest) {
    list_.word(sdma::kCopyLinear);
    if (whole - done > longest) {
      list_.word(static_cast<std::uint32_t>(longest - 1));
    } else {
      // The rest, and one less.
      list_.field32({FieldRole::kSize, size, 1, 0 - (done + 1)}, 0,
                    static_cast<std::uint32_t>(longest - 1));
    }
    list_.word(0);  // no swap of bytes
    list_.field64({FieldRole::kSource, source, 1, done});
    list_.field64({FieldRole::kTarget, target, 1, done});
  }
  return Status();
}

Status SdmaEncoder::write(const hcq::Operand& target, const hcq::Operand& value, unsigned bytes) {
  HALYARD_RETURN_IF_ERROR(check_address(target, 4, "write: the target"));
  if (bytes != 4 && bytes != 8)
    return error(StatusCode::kInvalidArgument, "amd: write: {} bytes; it can be 4 or 8", bytes);
  HALYARD_RETURN_IF_ERROR(
      check_at_most(value, ~std::uint64_t{0} >> (64 - 8 * bytes), "write: the value"));
  list_.word(sdma::kWriteLinear);
  list_.field64({FieldRole::kTarget, target});
  list_.word(bytes / 4 - 1);
  if (bytes == 4) {
    list_.field32({FieldRole::kValue, value});
  } else {
    list_.field64({FieldRole::kValue, value});
  }
  return Status();
}

Status SdmaEncoder::raw(std::span<const std::uint32_t> words) {
  for (auto rest = words; !rest.empty();) {
    HALYARD_ASSIGN_OR_RETURN(const std::size_t packet, sdma_packet_words(rest));
    rest = rest.subspan(packet);
  }
  list_.words(words);
  return Status();
}

Result<std::size_t> sdma_packet_words(std::span<const std::uint32_t> words) {
  if (words.empty()) return Status(StatusCode::kInvalidArgument, "amd: no SDMA packet");
  const std::uint32_t header = words[0];
  std::size_t size = 0;
  switch (header & 0xffff) {
    case sdma::kNop:
      size = 1 + (header >> 16 & 0x3fff);
      break;
    case sdma::kCopyLinear:
      size = sdma::kCopyLinearWords;
      break;
    case sdma::kWriteLinear:
      size = sdma::kWriteLinearWords;
      if (words.size() >= size) size += (words[3] & sdma::kWriteCountMask) + 1;
      break;
    case sdma::kIndirect:
      size = sdma::kIndirectWords;
      break;
    case sdma::kFence:
      size = sdma::kFenceWords;
      break;
    case sdma::kTrap:
      size = sdma::kTrapWords;
      break;
    case sdma::kPollRegMem:
      size = sdma::kPollRegMemWords;
      break;
    case sdma::kTimestampGetGlobal:
      size = sdma::kTimestampWords;
      break;
    default:
      return error(StatusCode::kUnimplemented, "amd: unknown SDMA packet {:#x}", header);
  }
  if (size > words.size()) {
    return error(StatusCode::kInvalidArgument,
                 "amd: SDMA packet {:#x} has {} words, of which {} are there", header, size,
                 words.size());
  }
  return size;
}

Result<std::uint64_t> sdma_end(std::uint64_t put, std::size_t ring_words,
                               std::span<const std::uint32_t> packets) {
  return walk_ring(
      put, ring_words, packets, [](std::span<const std::uint32_t>, std::size_t) {},
      [](std::size_t, std::size_t) {});
}

Result<std::uint64_t> write_sdma(std::uint64_t put, std::span<std::uint32_t> ring,
                                 std::span<const std::uint32_t> packets) {
  return walk_ring(
      put, ring.size(), packets,
      [&](std::span<const std::uint32_t> packet, std::size_t offset) {
        std::ranges::copy(packet, ring.begin() + static_cast<std::ptrdiff_t>(offset));
      },
      [&](std::size_t offset, std::size_t count) {
        std::ranges::fill(ring.subspan(offset, count), 0);
      });
}

Result<std::uint64_t> write_sdma_indirect(std::uint64_t put, std::span<std::uint32_t> ring,
                                          std::uint64_t address, std::size_t words) {
  HALYARD_RETURN_IF_ERROR(check_address(address, 32, "the address of an indirect buffer"));
  if (words == 0)
    return Status(StatusCode::kInvalidArgument, "amd: an indirect buffer without words");
  HALYARD_RETURN_IF_ERROR(
      check_at_most(words, sdma::kMaxIndirectWords, "the number of an indirect buffer's words"));
  constexpr std::size_t multiple = sdma::kIndirectMultiple;
  const std::array packet{sdma::kIndirect,
                          static_cast<std::uint32_t>(address),
                          static_cast<std::uint32_t>(address >> 32),
                          static_cast<std::uint32_t>((words + multiple - 1) / multiple * multiple),
                          0u,
                          0u};
  std::uint64_t at = put / sizeof(std::uint32_t);
  for (; (at + packet.size()) % multiple != 0; ++at) ring[at % ring.size()] = 0;
  std::ranges::copy(packet, ring.begin() + static_cast<std::ptrdiff_t>(at % ring.size()));
  return (at + packet.size()) * sizeof(std::uint32_t);
}

}  // namespace halyard::inline v0::amd
