// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packet: one command in a ring. Published by its own header word (as AQL packets are), so producer
// and consumer share no index on the fast path.
//
// The header holds the kind and the lap of the slot. A packet is published when the lap is the one
// that the consumer expects, so nothing needs to be cleared after use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::cpu {

enum class PacketKind : std::uint8_t {
  kNop,        // does nothing; carries a lane value
  kSignal,     // words: hcq::SignalObject*, value
  kWait,       // words: hcq::SignalObject*, value
  kWaitList,   // words: WaitPoint[] from new[], count; the ring frees it
  kExec,       // words: hcq::Kernel, buffers, constants, x | y << 32, z
  kCopy,       // words: target, source, bytes
  kFill,       // words: target, bytes, pattern, pattern size
  kTimestamp,  // words: base::Atomic<std::uint64_t>*, for nanoseconds of Clock::steady()
  kBarrier,    // makes writes of other agents visible
  kCustom,     // words: CustomFunction, then the function's own
  kCall,       // words: void (*)(const std::uint64_t*), four words for it
  kIndirect,   // words: HostImage*, whose packets are executed where they are
};

inline constexpr int kPacketWords = 6;
inline constexpr std::size_t kCallWords = 4;

struct alignas(64) Packet {
  // Header: lap << 8 | keeps << 7 | kind.
  static constexpr int kLapShift = 8;
  static constexpr std::uint32_t kKeeps = 0x80;  // words[5] is a RefCounted* to release when done
  base::Atomic<std::uint32_t> header{0};
  // The producer's kernel arguments up to here may be reused once this packet is complete, in units
  // of 64 bytes; modular (HostQueue).
  std::uint32_t retires = 0;
  std::uint64_t lane_value = 0;  // the value of the ring's sequence afterwards; 0: unchanged
  std::uint64_t words[kPacketWords] = {};
};
static_assert(sizeof(Packet) == 64 || !base::kAtomicsAreWords);

struct WaitPoint {
  hcq::SignalObject* signal;
  std::uint64_t value;
};

// How a visit of a custom function ended.
enum class Outcome : std::uint8_t {
  kDone,   // the packet is complete
  kYield,  // there is more; call again when the ring is visited next
  kJob,    // a job was started (Ring::start_...); call again when all its chunks are done
  kFault,  // Ring::fault() was called: the ring stops before the end of the packet, permanently
};

class Ring;
class Slice;
// The thread that holds the ring's role calls it until it returns kDone. Ring::cursor() is 0 in the
// first call and belongs to the function. Must not block.
using CustomFunction = Outcome (*)(Ring& ring, const std::uint64_t* words, Slice& slice);

// An address as a word of a packet.
inline std::uint64_t word(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
inline std::uint64_t word(CustomFunction function) noexcept {
  return reinterpret_cast<std::uintptr_t>(function);
}
inline std::uint64_t word(void (*call)(const std::uint64_t*)) noexcept {
  return reinterpret_cast<std::uintptr_t>(call);
}

}  // namespace halyard::inline v0::cpu
