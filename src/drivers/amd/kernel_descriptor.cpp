// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/amd/kernel_descriptor.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "drivers/amd/packets.h"

namespace halyard::inline v0::amd {
namespace {

constexpr std::size_t kDescriptorBytes = 64;
constexpr std::uint64_t kMaxGroupItems = 1024;
constexpr std::uint64_t kMaxSharedBytes = 64 << 10;
constexpr std::uint32_t kScratchLanes = 64;  // a wave of 32 lanes has the memory of 64

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Result<KernelDescriptor> read_kernel_descriptor(std::span<const std::byte> bytes) {
  if (bytes.size() != kDescriptorBytes) {
    return error(StatusCode::kDataLoss, "amd: a kernel descriptor has 64 bytes, this one has {}",
                 bytes.size());
  }
  const KernelDescriptor descriptor{.shared_bytes = number_at<std::uint32_t>(bytes, 0),
                                    .private_bytes = number_at<std::uint32_t>(bytes, 4),
                                    .argument_bytes = number_at<std::uint32_t>(bytes, 8),
                                    .entry_offset = number_at<std::int64_t>(bytes, 16),
                                    .rsrc1 = number_at<std::uint32_t>(bytes, 48),
                                    .rsrc2 = number_at<std::uint32_t>(bytes, 52),
                                    .rsrc3 = number_at<std::uint32_t>(bytes, 44),
                                    .properties = number_at<std::uint16_t>(bytes, 56),
                                    .preload = number_at<std::uint16_t>(bytes, 58)};
  for (std::size_t at = 12; at < kDescriptorBytes; ++at) {
    const bool reserved = at < 16 || (at >= 24 && at < 44) || at >= 60;
    if (reserved && bytes[at] != std::byte{0})
      return error(StatusCode::kDataLoss, "amd: byte {} of a kernel descriptor is not zero", at);
  }
  unsigned words = descriptor.preloaded_words();
  for (std::size_t i = 0; i < kUserValueCount; ++i) {
    if (descriptor.wants(static_cast<UserValue>(i))) words += kUserValueWords[i];
  }
  if (words > descriptor.user_registers()) {
    return error(StatusCode::kDataLoss,
                 "amd: a kernel descriptor wants {} user registers, and has {}", words,
                 descriptor.user_registers());
  }
  return descriptor;
}

Status check_launch(const Kernel& kernel, const Launch& launch) {
  HALYARD_RETURN_IF_ERROR(check_address(kernel.entry(), 256, "exec: the kernel's code"));
  HALYARD_RETURN_IF_ERROR(check_address(launch.arguments, 16, "exec: the arguments"));
  std::uint64_t items = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    HALYARD_RETURN_IF_ERROR(
        check_at_most(launch.groups[axis], ~std::uint32_t{0}, "exec: the number of workgroups"));
    const hcq::Operand& size = launch.group_size[axis];
    if (size.symbolic()) continue;
    if (size.resolve() == 0)
      return Status(StatusCode::kInvalidArgument, "amd: exec: a workgroup has no work-items");
    items = std::min(size.resolve(), kMaxGroupItems + 1) * items;
  }
  HALYARD_RETURN_IF_ERROR(
      check_at_most(items, kMaxGroupItems, "exec: the number of a workgroup's work-items"));
  const std::uint64_t shared = std::uint64_t{kernel.descriptor.shared_bytes} + launch.shared_bytes;
  return check_at_most(shared, kMaxSharedBytes, "exec: the size of a workgroup's shared memory");
}

Result<Scratch> size_scratch(Generation generation, const ComputeUnits& units,
                             std::uint32_t lane_bytes) {
  // WAVESIZE of COMPUTE_TMPRING_SIZE: 15 bits in units of 256 bytes, or 13 bits in units of 1 KiB
  // (Linux, gc_11_0_0_sh_mask.h and gc_9_4_3_sh_mask.h).
  const bool gfx11 = generation == Generation::kGfx11;
  const std::uint64_t unit = gfx11 ? 256 : 1024;
  const std::uint64_t max_units = gfx11 ? 0x7fff : 0x1fff;
  const std::uint64_t wave_units = (std::uint64_t{lane_bytes} * kScratchLanes + unit - 1) / unit;
  HALYARD_RETURN_IF_ERROR(
      check_at_most(wave_units * unit, max_units * unit, "the size of a wave's private memory"));
  const std::uint64_t slots = std::uint64_t{units.units} * units.scratch_slots;
  // Gfx11 counts the waves of a shader engine.
  const std::uint64_t waves =
      std::min<std::uint64_t>(gfx11 ? slots / units.shader_engines : slots, pm4::kMaxScratchWaves);
  return Scratch{
      .size = wave_units * unit * slots * units.xccs,
      .lane_bytes = static_cast<std::uint32_t>(wave_units * unit / kScratchLanes),
      .tmpring_size = static_cast<std::uint32_t>(waves | wave_units << pm4::kTmpringWaveSizeShift)};
}

}  // namespace halyard::inline v0::amd
