// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded code object, in the form that run() executes. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simulation/hip/gfx/gfx.h"
#include "simulation/hip/gfx/instruction.h"

namespace halyard::inline v0::sim::gfx {

// The 64 bytes at "name.kd" (LLVM, "User Guide for AMDGPU Backend", Kernel Descriptor).
struct KernelDescriptor {
  std::uint32_t group_segment_bytes = 0, private_segment_bytes = 0, kernarg_bytes = 0;
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0, kernarg_preload = 0;

  unsigned user_sgprs() const { return rsrc2 >> 1 & 31; }
  bool has_workgroup_id(unsigned axis) const { return rsrc2 >> (7 + axis) & 1; }
  bool has_workgroup_info() const { return rsrc2 >> 10 & 1; }
  unsigned workitem_id_axes() const { return (rsrc2 >> 11 & 3) + 1; }  // v0 packs x, y, z
  bool enables_scratch() const { return rsrc2 & 1; }
  unsigned float_round_mode() const { return rsrc1 >> 12 & 15; }   // bits 1-0 f32, 3-2 f16 and f64
  unsigned float_denorm_mode() const { return rsrc1 >> 16 & 15; }  // the same
  bool dx10_clamp() const { return rsrc1 >> 21 & 1; }
  bool ieee_mode() const { return rsrc1 >> 23 & 1; }
  bool fp16_overflow() const { return rsrc1 >> 26 & 1; }
  // User registers in their order.
  bool has_private_segment_buffer() const { return properties & 1; }     // 4 registers
  bool has_dispatch_packet() const { return properties >> 1 & 1; }       // 2
  bool has_queue() const { return properties >> 2 & 1; }                 // 2
  bool has_kernarg_segment() const { return properties >> 3 & 1; }       // 2
  bool has_dispatch_id() const { return properties >> 4 & 1; }           // 2
  bool has_flat_scratch_init() const { return properties >> 5 & 1; }     // 2
  bool has_private_segment_size() const { return properties >> 6 & 1; }  // 1
  bool is_wave32() const { return properties >> 10 & 1; }
  bool has_dynamic_stack() const { return properties >> 11 & 1; }
};

struct Executable;

struct CodeObject::Program {
  static constexpr std::uint32_t kNoInstruction = std::numeric_limits<std::uint32_t>::max();

  struct KernelCode {
    KernelDescriptor descriptor;
    std::uint32_t entry = 0;         // of `instructions`
    std::uint64_t entry_offset = 0;  // of its first byte, in the image
  };

  std::vector<Kernel> kernels;
  std::vector<KernelCode> code;  // by kernel
  std::vector<Variable> variables;
  std::vector<std::byte> image;
  struct Relocation {
    std::uint64_t offset = 0;  // in the image
    std::int64_t addend = 0;   // added to the address of the image
    std::uint8_t bytes = 8;    // 8, or 4: the low half
    bool high = false;         // with 4 bytes: the high half
  };
  std::vector<Relocation> relocations;

  // All code of the object, in its order. Where the code is damaged or ends, an s_code_end
  // separates instructions that do not follow each other in the code. Instruction::offset_in_code
  // counts from the start of the image.
  std::vector<Instruction> instructions;
  // By (offset in the image - code_begin) / 4: the instruction that starts there, or
  // kNoInstruction. For s_setpc_b64 and s_swappc_b64, whose targets are addresses.
  std::vector<std::uint32_t> instruction_at;
  std::uint64_t code_begin = 0, code_end = 0;  // in the image

  // `instructions` in executable form, created by the first run. (execution half)
  mutable std::once_flag executable_once;
  mutable std::shared_ptr<const Executable> executable;

  // The instruction at an offset in the image, or kNoInstruction.
  std::uint32_t find(std::uint64_t offset) const {
    if (offset < code_begin || offset >= code_end || (offset & 3) != 0) return kNoInstruction;
    return instruction_at[(offset - code_begin) / 4];
  }
};

// Whether run() implements the operation. Code objects with other operations are not loaded.
// (execution half)
bool is_built(const Instruction& instruction);

}  // namespace halyard::inline v0::sim::gfx
