// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/kfd/sdma_queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint32_t kMtype = 3u << 16;        // of FENCE, from SDMA 5 on: uncached
constexpr std::uint32_t kRetryForEver = 0xfff;    // of POLL_REGMEM
constexpr std::uint32_t kGetGlobalTimestamp = 2;  // sub-operation of TIMESTAMP

}  // namespace

SdmaQueue::SdmaQueue(System& system, Device& device, QueueSettings settings)
    : Queue(system, device, std::move(settings), 1),
      ring_(settings_.ring_words, settings_.ring, settings_.ring_bytes / 4) {}

bool SdmaQueue::reads(const Buffer& buffer) const {
  return indirect_ && indirect_->overlaps(buffer.address, buffer.size);
}

void SdmaQueue::announce(std::uint64_t end) {
  if (end % 4 != 0) {
    fail("unaligned", join("its doorbell announces ", hex(end), ", which is not whole words"));
    return;
  }
  ring_.set_end(end / 4);
}

// The count field of COPY_LINEAR has 22 bits before SDMA 5 and 30 since.
std::uint64_t SdmaQueue::most_bytes() const {
  return std::uint64_t{1} << (device_.node.is_gfx9() ? 22 : 30);
}

bool SdmaQueue::advance() {
  if (indirect_ && indirect_->available() == 0) indirect_.reset();
  const bool is_ring = !indirect_;
  Stream& stream = is_ring ? ring_ : *indirect_;
  if (stream.available() == 0) return false;
  const Words front =
      stream.peek(std::min<std::uint64_t>(stream.available(), 4), system_.options.fetch_ahead);
  const std::uint64_t words = length(front, stream.available());
  if (words == 0) return true;
  if (is_ring && stream.position() % stream.capacity() + words > stream.capacity()) {
    fail("packet-crosses-ring-end",
         join("the packet ", hex(front[0]), " of ", words, " words crosses the end of the ring"));
    return true;
  }
  const Progress progress = execute(stream.peek(words, system_.options.fetch_ahead));
  if (progress == Progress::kDone) {
    consume(stream, words);
    if (is_ring) set_read_pointer(4 * ring_.position());
  }
  return progress != Progress::kWaits;
}

std::uint64_t SdmaQueue::length(Words front, std::uint64_t available) {
  std::uint64_t words = 0;
  switch (front[0] & 0xff) {
    case sdma::kNop:
      words = 1 + (front[0] >> 16 & 0x3fff);
      break;
    case sdma::kCopy:
      words = 7;
      break;
    case sdma::kWrite:
      words = front.size() < 4 ? available + 1 : 5 + (front[3] & 0xfffff);
      break;
    case sdma::kIndirect:
    case sdma::kPollRegmem:
      words = 6;
      break;
    case sdma::kFence:
      words = 4;
      break;
    case sdma::kTrap:
      words = 2;
      break;
    case sdma::kConstantFill:
    case sdma::kGcr:
      words = 5;
      break;
    case sdma::kTimestamp:
      words = 3;
      break;
    default:
      fail("unknown-opcode", join("the packet ", hex(front[0]), " has an unknown opcode"));
      return 0;
  }
  if (words <= available) return words;
  fail(indirect_ ? "read-past-indirect-buffer" : "read-past-write-pointer",
       join("the packet ", hex(front[0]), " has ", words, " words, ", available, " are left"));
  return 0;
}

Progress SdmaQueue::execute(Words words) {
  switch (words[0] & 0xff) {
    case sdma::kCopy:
      return copy(words);
    case sdma::kWrite:
      return write(words);
    case sdma::kIndirect:
      return begin_indirect(words);
    case sdma::kFence:
      return fence(words);
    case sdma::kTrap:
      if (words[0] != sdma::kTrap) return fail("sdma-trap", join("TRAP has ", hex(words[0])));
      system_.events.interrupt(words[1] & 0xfffffff);
      return Progress::kDone;
    case sdma::kPollRegmem:
      return poll(words);
    case sdma::kConstantFill:
      return fill(words);
    case sdma::kTimestamp:
      return timestamp(words);
    case sdma::kGcr:  // caches are not simulated
      if (device_.node.is_gfx9()) return fail("unknown-opcode", "GCR_REQ needs SDMA 5");
      return Progress::kDone;
    default:
      return Progress::kDone;  // NOP
  }
}

Progress SdmaQueue::begin_indirect(Words words) {
  const std::uint64_t address = address_of(words, 1), count = words[3] & 0xfffff;
  if (indirect_) return fail("indirect-buffer", "an indirect buffer of SDMA calls another");
  if (address % 32 != 0 || count == 0) {
    return fail("indirect-buffer", join("INDIRECT of ", count, " words at ", hex(address)));
  }
  // amdgpu/sdma_v6_0.c pads, so that these packets end at a multiple of 8 words.
  if ((ring_.position() + words.size()) % 8 != 0) {
    return fail("indirect-buffer", "an INDIRECT packet does not end at a multiple of 8 words");
  }
  if (device_.space.find(address, 4 * count) == nullptr) {
    fail("indirect-buffer-unmapped", join("INDIRECT of ", count, " words at ", hex(address),
                                          " is not in memory that is mapped for the device"));
    system_.page_fault(device_, address, Access::kRead);
    return Progress::kStopped;
  }
  indirect_.emplace(device_.space.bytes(address, 4 * count), address, count);
  indirect_->set_end(count);
  return Progress::kDone;
}

Progress SdmaQueue::copy(Words words) {
  if ((words[0] >> 8 & 0xff) != 0) {
    return fail("sdma-copy", join("the copy ", hex(words[0]), " is not a linear one"));
  }
  if (words[1] >= most_bytes()) {
    return fail("sdma-copy", join("a copy of ", std::uint64_t{words[1]} + 1, " bytes: at most ",
                                  most_bytes(), " are possible"));
  }
  const std::uint64_t bytes = std::uint64_t{words[1]} + 1;
  const std::byte* const from =
      reach(address_of(words, 3), bytes, Access::kRead, "the source of a copy");
  if (from == nullptr) return Progress::kStopped;
  std::byte* const to = reach(address_of(words, 5), bytes, Access::kWrite, "the target of a copy");
  if (to == nullptr) return Progress::kStopped;
  std::memmove(to, from, bytes);
  return Progress::kDone;
}

Progress SdmaQueue::write(Words words) {
  const std::uint64_t address = address_of(words, 1);
  if ((words[0] >> 8 & 0xff) != 0 || address % 4 != 0) {
    return fail("sdma-write", join("WRITE ", hex(words[0]), " to ", hex(address)));
  }
  const Words data = words.subspan(4);
  std::byte* const at = reach(address, 4 * data.size(), Access::kWrite, "the target of WRITE");
  if (at == nullptr) return Progress::kStopped;
  for (std::size_t i = 0; i != data.size(); ++i) write32(at + 4 * i, address + 4 * i, data[i]);
  return Progress::kDone;
}

Progress SdmaQueue::fill(Words words) {
  // Bits 31:30: 0 fills bytes, 1 two bytes, 2 words. The count is that of bytes, less 1.
  const std::uint32_t size = words[0] >> 30;
  const std::uint64_t address = address_of(words, 1), bytes = std::uint64_t{words[4]} + 1;
  const std::uint64_t element = std::uint64_t{1} << size;
  if (size == 3 || address % element != 0 || bytes > most_bytes()) {
    return fail("sdma-fill", join("CONST_FILL of ", bytes, " bytes at ", hex(address)));
  }
  // Elements of words: the two low bits of the count are not read.
  const std::uint64_t filled = size == 2 ? (bytes + 3) / 4 * 4 : bytes;
  std::byte* const at = reach(address, filled, Access::kWrite, "the target of CONST_FILL");
  if (at == nullptr) return Progress::kStopped;
  for (std::uint64_t i = 0; i < filled; i += element) std::memcpy(at + i, &words[3], element);
  return Progress::kDone;
}

Progress SdmaQueue::fence(Words words) {
  const std::uint64_t address = address_of(words, 1);
  const std::uint32_t allowed = device_.node.is_gfx9() ? 0 : kMtype;
  if (address % 4 != 0 || (words[0] & ~(0xffu | allowed)) != 0) {
    return fail("sdma-fence", join("FENCE ", hex(words[0]), " at ", hex(address)));
  }
  std::byte* const at = reach(address, 4, Access::kWrite, "the word of FENCE");
  if (at == nullptr) return Progress::kStopped;
  write32(at, address, words[3]);  // 4 bytes, never 8
  return Progress::kDone;
}

Progress SdmaQueue::poll(Words words) {
  const std::uint64_t address = address_of(words, 1);
  const unsigned function = words[0] >> 28 & 7;
  const bool is_memory = (words[0] >> 31) != 0;
  if (!is_memory || function == 7 || address % 4 != 0) {
    return fail("sdma-poll", join("POLL_REGMEM ", hex(words[0]), " at ", hex(address)));
  }
  if ((words[5] >> 16 & 0xfff) != kRetryForEver) {
    return fail("sdma-poll", join("POLL_REGMEM goes on after ", words[5] >> 16 & 0xfff,
                                  " attempts, even if the value was not reached"));
  }
  const std::byte* const at = reach(address, 4, Access::kRead, "the word of POLL_REGMEM");
  if (at == nullptr) return Progress::kStopped;
  const std::uint32_t value = load32(at) & words[4];
  if (compares(function, value, words[3])) return Progress::kDone;
  return wait(join("polls the word at ", hex(address), ", which is ", value, ": function ",
                   function, ", reference ", words[3]));
}

Progress SdmaQueue::timestamp(Words words) {
  const std::uint64_t address = address_of(words, 1);
  if ((words[0] >> 8 & 0xff) != kGetGlobalTimestamp || address % 8 != 0) {
    return fail("sdma-timestamp", join("TIMESTAMP ", hex(words[0]), " at ", hex(address)));
  }
  std::byte* const at = reach(address, 8, Access::kWrite, "the word of TIMESTAMP");
  if (at == nullptr) return Progress::kStopped;
  write64(at, address, system_.ticks());
  return Progress::kDone;
}

}  // namespace halyard::inline v0::sim::kfd
