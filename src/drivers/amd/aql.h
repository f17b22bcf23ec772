// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packets of AQL queues: 64 bytes each. A list for such a queue has two kinds of segments. An AQL
// packet is a segment of its own, which the ring gets as it is. The others are PM4 (pm4.h), which
// the ring gets as an indirect_packet() that points to them: waits and signals of values.
//
// The functions append to the list's command that began last. If one fails it appends nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/amd/kernel_descriptor.h"
#include "drivers/amd/packets.h"
#include "halyard/base/result.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::amd {

using AqlPacket = std::array<std::uint32_t, aql::kPacketWords>;

// Dispatches a kernel after all packets before it, with an acquire and a release of system scope.
// Arguments and, per axis, the number of workgroups or their size can change later: the packet
// counts work-items, so if the size of a workgroup is a symbol the number must be a constant, and
// otherwise the size stays the same. Errors, besides those of check_launch():
//   kInvalidArgument    there are no workgroups
//   kOutOfRange         2^32 work-items or more along an axis
//   kUnimplemented      number and size are symbols on the same axis
Status append_dispatch(hcq::WordList& list, const Kernel& kernel, const Launch& launch);

// Waits for all packets before it; then writes of the host before the submission are visible.
void append_barrier(hcq::WordList& list);

// Whether a segment of a list for an AQL queue is an AQL packet. PM4 segments begin with a header
// of type 3 (Pm4Encoder::raw() requires it), and no AQL packet has these bits.
bool is_aql_packet(std::span<const std::uint32_t> segment) noexcept;

// The vendor packet that executes PM4 words in memory, after all packets before it, with fences of
// system scope. Errors, besides those of check_address():
//   kInvalidArgument    there are no words
//   kOutOfRange         there are more than 0xfffff
Result<AqlPacket> indirect_packet(std::uint64_t address, std::size_t words);

// Writes a packet into a free slot of a ring, the header last with a release: the device may read
// the packet as soon as it has a header. `slot` is 64 bytes, aligned to as many.
void publish_packet(std::byte* slot, std::span<const std::uint32_t, aql::kPacketWords> packet);
// Marks a slot as free. The ring is initially free.
void invalidate_packet(std::byte* slot) noexcept;

// Writes scratch memory into a queue's amd_queue_t (ROCR-Runtime, core/inc/amd_hsa_queue.h), from
// which the device gives it to dispatched kernels. The queue must be idle. For GPUs with
// architected flat scratch, as all of generation.h have; others would need a resource descriptor.
void set_queue_scratch(std::span<std::byte, 256> queue, const Scratch& scratch) noexcept;

// Checks what append_dispatch() requires.
Status check_dispatch(const Kernel& kernel, const Launch& launch);
// Writes a dispatch packet, with the fields of append_dispatch(), into a block of 64 bytes: kernels
// on PM4 queues read it there. Precondition: check_dispatch() returned no error.
void write_dispatch_block(hcq::WordList& list, std::uint32_t block, const Kernel& kernel,
                          const Launch& launch);

}  // namespace halyard::inline v0::amd
