// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel descriptor of AMD's code objects, a launch of a kernel, and the memory of its lanes.
// LLVM, "User Guide for AMDGPU Backend": Kernel Descriptor, Initial Kernel Execution State.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/amd/generation.h"
#include "halyard/base/result.h"
#include "halyard/hcq/symbol.h"
#include "hcq/word_list.h"

namespace halyard::inline v0::amd {

// What the hardware writes into a wave's first scalar registers if the kernel wants it, in this
// order. The bit of the descriptor's properties is the number.
enum class UserValue : std::uint8_t {
  kPrivateSegmentBuffer,
  kDispatchPacket,  // address of an AQL packet
  kQueue,
  kArguments,  // address of the kernel's arguments
  kDispatchId,
  kFlatScratchInit,
  kPrivateSegmentSize,
};
inline constexpr std::size_t kUserValueCount = 7;
// The number of registers of each.
inline constexpr std::array<std::uint8_t, kUserValueCount> kUserValueWords{4, 2, 2, 2, 2, 2, 1};

// The 64 bytes at "name.kd".
struct KernelDescriptor {
  std::uint32_t shared_bytes = 0;    // of a workgroup, without those of the launch
  std::uint32_t private_bytes = 0;   // of a lane
  std::uint32_t argument_bytes = 0;  // 0 also if the compiler did not record it
  std::int64_t entry_offset = 0;     // of the first instruction, from the descriptor
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0;
  std::uint16_t preload = 0;  // arguments that are copied into registers

  bool wants(UserValue value) const { return properties >> static_cast<unsigned>(value) & 1; }
  unsigned user_registers() const { return rsrc2 >> 1 & 31; }
  unsigned preloaded_words() const { return preload & 0x7f; }
  bool wave32() const { return properties >> 10 & 1; }
};

// Errors: kDataLoss if `bytes` is not a descriptor: it has another size, reserved bytes are not
// zero, or its user values need more registers than it has.
Result<KernelDescriptor> read_kernel_descriptor(std::span<const std::byte> bytes);

// A kernel in the device's memory.
struct Kernel {
  KernelDescriptor descriptor;
  std::uint64_t descriptor_address = 0;

  std::uint64_t entry() const {
    return descriptor_address + static_cast<std::uint64_t>(descriptor.entry_offset);
  }
};

struct Launch {
  std::array<hcq::Operand, 3> groups{1, 1, 1};      // workgroups
  std::array<hcq::Operand, 3> group_size{1, 1, 1};  // work-items of a workgroup
  hcq::Operand arguments = 0;                       // their address, a multiple of 16
  std::uint32_t shared_bytes = 0;                   // besides those of the descriptor
};

// The roles of a launch's fields, by axis.
inline constexpr std::array kGridRoles{hcq::FieldRole::kGridX, hcq::FieldRole::kGridY,
                                       hcq::FieldRole::kGridZ};
inline constexpr std::array kLocalRoles{hcq::FieldRole::kLocalX, hcq::FieldRole::kLocalY,
                                        hcq::FieldRole::kLocalZ};

// Checks what all queues require. Errors, besides those of check_address():
//   kInvalidArgument    a workgroup is empty
//   kOutOfRange         a workgroup has more than 1024 work-items or 64 KiB of shared memory; 2^32
//                       workgroups or more along an axis
Status check_launch(const Kernel& kernel, const Launch& launch);

// Private memory of all waves that can run at once. A lane has `lane_bytes`.
struct Scratch {
  std::uint64_t address = 0;  // a multiple of 256
  std::uint64_t size = 0;     // in bytes, of all XCCs
  std::uint32_t lane_bytes = 0;
  std::uint32_t tmpring_size = 0;  // the register COMPUTE_TMPRING_SIZE
};

// Of KFD's topology (/sys/devices/virtual/kfd/kfd/topology/nodes/*/properties).
struct ComputeUnits {
  std::uint32_t units = 0;           // of one XCC
  std::uint32_t shader_engines = 1;  // of one XCC
  std::uint32_t scratch_slots = 0;   // of a unit: max_slots_scratch_cu
  std::uint32_t xccs = 1;
};

// Returns the size, without an address, that gives each lane at least `lane_bytes`. Errors:
//   kOutOfRange         a wave's memory does not fit the register
Result<Scratch> size_scratch(Generation generation, const ComputeUnits& units,
                             std::uint32_t lane_bytes);

}  // namespace halyard::inline v0::amd
