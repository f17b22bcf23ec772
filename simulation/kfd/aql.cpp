// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets of AQL queues: "HSA Runtime Programmer's Reference Manual" 1.2, section 2.8, and
// hsa_ext_amd.h. The queue's memory is amd_queue_t, whose write index is at byte 56:
// amd_hsa_queue.h. Signals are amd_signal_t: amd_hsa_signal.h.
#include <cstring>
#include <utility>

#include "simulation/kfd/abi.h"
#include "simulation/kfd/compute_queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint32_t kWords = aql::kPacketBytes / 4;
// Fields of amd_queue_t, from its write index at 56.
constexpr std::uint64_t kWriteIndex = 56, kTmpring = 140, kScratchResource = 144,
                        kScratchBase = 160, kScratchSize = 168;
constexpr std::uint64_t kQueueBytes = 256;
// Fields of amd_signal_t.
constexpr std::uint64_t kValue = 8, kMailbox = 16, kEventId = 24, kSignalBytes = 64;
// Properties of kernel descriptors: LLVM, "User Guide for AMDGPU Backend", Kernel Descriptor.
constexpr std::uint64_t kDescriptorBytes = 64;

}  // namespace

struct AqlQueue::Packet {
  std::uint64_t index = 0;
  std::array<std::uint32_t, kWords> words{};

  std::uint32_t type() const { return words[0] & 0xff; }
  bool has_barrier() const { return (words[0] >> 8 & 1) != 0; }
  std::uint32_t half(unsigned byte) const { return words[byte / 4] >> (byte % 4 * 8) & 0xffff; }
  std::uint64_t address(unsigned byte) const {
    return words[byte / 4] | std::uint64_t{words[byte / 4 + 1]} << 32;
  }
  std::uint64_t completion() const { return address(56); }
};

AqlQueue::AqlQueue(System& system, Device& device, QueueSettings settings)
    : ComputeQueue(system, device, std::move(settings), aql::kPacketBytes) {}

std::byte* AqlQueue::slot(std::uint64_t index) const {
  return settings_.ring_words + index * aql::kPacketBytes % settings_.ring_bytes;
}

Progress AqlQueue::advance_ring() {
  if (next_ == end_) return Progress::kWaits;
  Packet packet{.index = next_};
  for (std::uint32_t i = 0; i != kWords; ++i) packet.words[i] = load32(slot(next_) + 4 * i);
  if (packet.has_barrier() && !pipeline_.empty()) return wait("waits at a barrier bit");
  const Progress progress = execute(packet);
  if (progress != Progress::kDone) return progress;
  ++next_;
  is_retired_.push_back(false);
  if (packet.type() != aql::kDispatch) retire(packet.index);
  return Progress::kDone;
}

Progress AqlQueue::execute(const Packet& packet) {
  switch (packet.type()) {
    case aql::kVendor:
      return vendor(packet);
    case aql::kInvalid:
      return fail("doorbell-before-packet",
                  join("its doorbell announces packet ", packet.index,
                       ", whose header is still that of an invalid packet"));
    case aql::kDispatch:
      return kernel_dispatch(packet);
    case aql::kBarrierAnd:
    case aql::kBarrierOr:
      return barrier(packet, packet.type() == aql::kBarrierOr);
    default:
      return fail("unknown-packet", join("packet ", packet.index, " has type ", packet.type()));
  }
}

Progress AqlQueue::kernel_dispatch(const Packet& packet) {
  const std::uint32_t dimensions = packet.half(2), privates = packet.words[6];
  const std::uint64_t descriptor = packet.address(32), kernarg = packet.address(40);
  if (dimensions < 1 || dimensions > 3 || packet.half(10) != 0 || packet.address(48) != 0) {
    return fail("aql-dispatch", join("packet ", packet.index, " has ", dimensions,
                                     " dimensions, or reserved fields that are not 0"));
  }
  if (descriptor % 64 != 0 || kernarg % 16 != 0) {
    return fail("unaligned", join("packet ", packet.index, " has its kernel object at ",
                                  hex(descriptor), " and its arguments at ", hex(kernarg)));
  }
  const std::byte* const at =
      reach(descriptor, kDescriptorBytes, Access::kRead, "a kernel descriptor");
  if (at == nullptr) return Progress::kStopped;
  const std::uint32_t rsrc2 = load32(at + 52), properties = load32(at + 56) & 0xffff;
  Dispatch dispatch{.kernel = {.code = descriptor + load64(at + 16),
                               .rsrc1 = load32(at + 48),
                               .rsrc2 = rsrc2,
                               .rsrc3 = load32(at + 44),
                               .scratch_bytes = privates,
                               .lds_bytes = packet.words[7],
                               .is_wave32 = (properties >> 10 & 1) != 0},
                    .packet = packet.index,
                    .signal = packet.completion(),
                    .is_aql = true};
  if (packet.words[7] < load32(at) || privates < load32(at + 4)) {
    return fail("aql-dispatch",
                join("packet ", packet.index, " has ", packet.words[7], " bytes of LDS and ",
                     privates, " of scratch, less than its kernel needs"));
  }
  for (unsigned i = 0; i != 3; ++i) {
    dispatch.block[i] = packet.half(4 + 2 * i);
    const std::uint32_t items = packet.words[3 + i];
    if (dispatch.block[i] == 0 || items % dispatch.block[i] != 0 ||
        (i >= dimensions && (items != 1 || dispatch.block[i] != 1))) {
      return fail("aql-dispatch",
                  join("packet ", packet.index, " has ", items, " work-items in dimension ", i,
                       " for workgroups of ", dispatch.block[i]));
    }
    dispatch.groups[i] = items / dispatch.block[i];
  }
  const std::uint64_t queue = settings_.write_pointer_address - kWriteIndex;
  const std::byte* const own = reach(queue, kQueueBytes, Access::kRead, "the queue's amd_queue_t");
  if (own == nullptr) return Progress::kStopped;
  if (privates != 0) {
    const std::uint64_t base = load64(own + kScratchBase), size = load64(own + kScratchSize);
    if (load32(own + kTmpring) == 0 || size == 0) {
      return fail("scratch",
                  join("packet ", packet.index, " needs scratch, of which amd_queue_t has none"));
    }
    if (reach(base, size, Access::kWrite, "the scratch of a queue") == nullptr) {
      return Progress::kStopped;
    }
  }
  // The scalar registers that a kernel may ask for, in the order of their properties.
  const auto give = [&](unsigned property, std::uint64_t value, unsigned count = 2) {
    if ((properties >> property & 1) == 0) return;
    for (unsigned i = 0; i != count; ++i) {
      dispatch.user_data.push_back(static_cast<std::uint32_t>(value >> (32 * i)));
    }
  };
  if ((properties & 1) != 0) {
    for (unsigned i = 0; i != 4; ++i) {
      dispatch.user_data.push_back(load32(own + kScratchResource + 4 * i));
    }
  }
  give(1, settings_.ring + packet.index * aql::kPacketBytes % settings_.ring_bytes);
  give(2, queue);
  give(3, kernarg);
  give(4, packet.index);
  give(5, 0);
  give(6, privates, 1);
  return begin_dispatch(std::move(dispatch));
}

void AqlQueue::end_dispatch(const Dispatch& dispatch) {
  if (!dispatch.is_aql) return;  // of an indirect buffer
  retire(dispatch.packet);
  complete(dispatch.signal);
}

Progress AqlQueue::barrier(const Packet& packet, bool any) {
  bool has_signal = false, has_zero = false, all_zero = true;
  for (unsigned byte = 8; byte != 48; byte += 8) {
    const std::uint64_t signal = packet.address(byte);
    if (signal == 0) continue;
    const std::byte* const at = reach(signal, kSignalBytes, Access::kRead, "a signal of a barrier");
    if (at == nullptr) return Progress::kStopped;
    const bool is_zero = load64(at + kValue) == 0;
    has_signal = true;
    has_zero = has_zero || is_zero;
    all_zero = all_zero && is_zero;
  }
  if (has_signal && !(any ? has_zero : all_zero)) {
    return wait(join("waits at the barrier packet ", packet.index));
  }
  complete(packet.completion());
  return Progress::kDone;
}

Progress AqlQueue::barrier_value(const Packet& packet) {
  // hsa_amd_barrier_value_packet_t; conditions EQ, NE, LT, GTE, of signed values.
  const std::uint64_t signal = packet.address(8);
  const std::byte* const at = reach(signal, kSignalBytes, Access::kRead, "a signal of a barrier");
  if (at == nullptr) return Progress::kStopped;
  const auto value = static_cast<std::int64_t>(load64(at + kValue) & packet.address(24));
  const auto reference = static_cast<std::int64_t>(packet.address(16));
  const std::uint32_t condition = packet.words[8];
  if (condition > 3) return fail("barrier-value", join("condition ", condition, " is not known"));
  const bool holds = condition == 0   ? value == reference
                     : condition == 1 ? value != reference
                     : condition == 2 ? value < reference
                                      : value >= reference;
  if (!holds) return wait(join("waits at the barrier packet ", packet.index));
  complete(packet.completion());
  return Progress::kDone;
}

Progress AqlQueue::vendor(const Packet& packet) {
  const std::uint32_t format = packet.words[0] >> 16 & 0xff;
  if (format == aql::kBarrierValue && device_.node.is_gfx9()) return barrier_value(packet);
  if (format != aql::kPm4Ib) {
    return fail("unknown-packet",
                join("packet ", packet.index, " has the vendor's format ", format));
  }
  // A PM4 packet of 4 words, then the 10 words that are left of the AQL packet.
  bool is_right = packet.words[1] == (3u << 30 | 2u << 16 | pm4::kIndirectBuffer << 8) &&
                  packet.words[3] <= 0xffff && packet.words[5] == 10;
  for (unsigned i = 6; i != 14; ++i) is_right = is_right && packet.words[i] == 0;
  if (!is_right) {
    return fail("pm4-envelope", join("packet ", packet.index,
                                     " does not hold one INDIRECT_BUFFER packet and the count 10"));
  }
  const Progress progress = begin_indirect(packet.address(8), packet.words[4]);
  if (progress == Progress::kDone && packet.completion() != 0) {
    return fail("pm4-envelope", "a completion signal of a PM4 envelope is not built");
  }
  return progress;
}

void AqlQueue::complete(std::uint64_t signal) {
  if (signal == 0) return;
  std::byte* const at = reach(signal, kSignalBytes, Access::kWrite, "a completion signal");
  if (at == nullptr) return;
  write64(at + kValue, signal + kValue, load64(at + kValue) - 1);
  const std::uint64_t mailbox = load64(at + kMailbox);
  if (mailbox == 0) return;
  const std::uint32_t event = load32(at + kEventId);
  std::byte* const slot_bytes = reach(mailbox, 8, Access::kWrite, "a signal's mailbox");
  if (slot_bytes == nullptr) return;
  write64(slot_bytes, mailbox, event);
  system_.events.interrupt(event);
}

void AqlQueue::retire(std::uint64_t index) {
  is_retired_[index - retired_] = true;
  std::byte* const at = slot(index);
  store32(at, (load32(at) & ~0xffu) | aql::kInvalid);
  while (!is_retired_.empty() && is_retired_.front()) {
    is_retired_.pop_front();
    ++retired_;
  }
  set_read_pointer(retired_);
}

}  // namespace halyard::inline v0::sim::kfd
