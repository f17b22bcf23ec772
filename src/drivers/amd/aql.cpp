// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/amd/aql.h"

#include <atomic>
#include <cstring>

#include "base/format.h"
#include "drivers/amd/pm4.h"

namespace halyard::inline v0::amd {
namespace {

using hcq::FieldRole;

constexpr std::uint32_t kFences = aql::kBarrierBit | aql::kAcquireSystem | aql::kReleaseSystem;
// Offsets in bytes of a dispatch packet.
constexpr std::uint32_t kGroupSizeOffset = 4;  // 16 bits each
constexpr std::uint32_t kItemsOffset = 12;     // 32 bits each
constexpr std::uint32_t kArgumentsOffset = 40;

// The packet without its fields. Sizes of workgroups that are constants are not fields.
AqlPacket dispatch_packet(const Kernel& kernel, const Launch& launch) {
  AqlPacket packet{};
  packet[0] = aql::kKernelDispatch | kFences | aql::kThreeDimensions;
  packet[6] = kernel.descriptor.private_bytes;
  packet[7] = kernel.descriptor.shared_bytes + launch.shared_bytes;
  packet[8] = static_cast<std::uint32_t>(kernel.descriptor_address);
  packet[9] = static_cast<std::uint32_t>(kernel.descriptor_address >> 32);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const hcq::Operand& size = launch.group_size[axis];
    if (size.symbolic()) continue;
    packet[1 + axis / 2] |= static_cast<std::uint32_t>(size.resolve() << (axis % 2 * 16));
  }
  return packet;
}

// Writes the fields of a packet that begins at `begin`.
void write_fields(hcq::WordList& list, const hcq::FieldPlace& begin, const Launch& launch) {
  const auto at = [&](std::uint32_t offset, const hcq::Field& field, std::uint8_t bytes = 4,
                      int shift = 0, std::uint64_t mask = ~std::uint64_t{0}) {
    hcq::FieldPlace place = begin;
    place.field = field;
    place.offset += offset;
    place.bytes = bytes;
    place.shift = static_cast<std::int8_t>(shift);
    place.mask = mask;
    list.field_at(place);
  };
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const hcq::Operand& size = launch.group_size[axis];
    const hcq::Operand& groups = launch.groups[axis];
    const std::uint32_t items = kItemsOffset + 4 * axis;
    // The sizes share words in pairs.
    const std::uint32_t word = kGroupSizeOffset + axis / 2 * 4;
    const int shift = axis % 2 == 0 ? 0 : 16;
    if (size.symbolic()) {
      at(word, {kLocalRoles[axis], size}, 4, shift, std::uint64_t{0xffff} << shift);
      at(items, {kLocalRoles[axis], size, groups.resolve()});
    } else {
      at(items, {kGridRoles[axis], groups, size.resolve()});
    }
  }
  at(kArgumentsOffset, {FieldRole::kArguments, launch.arguments}, 8);
}

void append_packet(hcq::WordList& list, const AqlPacket& packet) {
  list.end_segment();
  list.words(packet);
}

}  // namespace

Status check_dispatch(const Kernel& kernel, const Launch& launch) {
  HALYARD_RETURN_IF_ERROR(check_launch(kernel, launch));
  HALYARD_RETURN_IF_ERROR(
      check_address(kernel.descriptor_address, 64, "exec: the kernel's descriptor"));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const hcq::Operand& size = launch.group_size[axis];
    const hcq::Operand& groups = launch.groups[axis];
    if (size.symbolic() && groups.symbolic()) {
      return error(StatusCode::kUnimplemented,
                   "amd: exec: axis {} has a symbol both as the number of workgroups and as their "
                   "size; a dispatch packet has the product of the two",
                   axis);
    }
    if (!groups.symbolic() && groups.resolve() == 0)
      return Status(StatusCode::kInvalidArgument, "amd: exec: a dispatch packet of no workgroups");
    if (size.symbolic() || groups.symbolic()) continue;
    // Neither factor exceeds 32 bits (check_launch).
    HALYARD_RETURN_IF_ERROR(check_at_most(size.resolve() * groups.resolve(), ~std::uint32_t{0},
                                          "exec: the number of work-items"));
  }
  return Status();
}

void write_dispatch_block(hcq::WordList& list, std::uint32_t block, const Kernel& kernel,
                          const Launch& launch) {
  const AqlPacket packet = dispatch_packet(kernel, launch);
  std::memcpy(list.block_span(block).host, packet.data(), sizeof packet);
  write_fields(list, {.field = {FieldRole::kValue, 0}, .part = block, .in_block = true}, launch);
}

Status append_dispatch(hcq::WordList& list, const Kernel& kernel, const Launch& launch) {
  HALYARD_RETURN_IF_ERROR(check_dispatch(kernel, launch));
  append_packet(list, dispatch_packet(kernel, launch));
  const auto segment = static_cast<std::uint32_t>(list.segment_count() - 1);
  write_fields(list, {.field = {FieldRole::kValue, 0}, .part = segment}, launch);
  list.end_segment();
  return Status();
}

void append_barrier(hcq::WordList& list) {
  append_packet(list, {aql::kBarrierAnd | kFences});
  list.end_segment();
}

bool is_aql_packet(std::span<const std::uint32_t> segment) noexcept {
  return segment.size() == aql::kPacketWords && segment[0] >> 30 == 0;
}

Result<AqlPacket> indirect_packet(std::uint64_t address, std::size_t words) {
  HALYARD_ASSIGN_OR_RETURN(const auto indirect, indirect_buffer(address, words));
  AqlPacket packet{aql::kVendorSpecific | kFences | aql::kFormatPm4Indirect};
  std::memcpy(&packet[1], indirect.data(), sizeof indirect);
  packet[5] = aql::kPm4IndirectRest;
  return packet;
}

void publish_packet(std::byte* slot, std::span<const std::uint32_t, aql::kPacketWords> packet) {
  std::memcpy(slot + 4, packet.data() + 1, packet.size_bytes() - 4);
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot))
      .store(packet[0], std::memory_order_release);
}

void invalidate_packet(std::byte* slot) noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot))
      .store(aql::kInvalid, std::memory_order_relaxed);
}

void set_queue_scratch(std::span<std::byte, 256> queue, const Scratch& scratch) noexcept {
  const auto set = [&](std::size_t offset, const auto& value) {
    std::memcpy(queue.data() + offset, &value, sizeof value);
  };
  set(140, scratch.tmpring_size);  // compute_tmpring_size
  set(160, scratch.address);       // scratch_backing_memory_location
  set(168, scratch.size);          // scratch_backing_memory_byte_size
  set(176, scratch.lane_bytes);    // scratch_wave64_lane_byte_size
}

}  // namespace halyard::inline v0::amd
