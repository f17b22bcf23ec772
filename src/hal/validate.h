// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks that queue operations and recorded commands share, and what they yield: resolved
// ranges, group counts, packed constants. Messages name the argument; the caller puts object and
// operation in front (hal::at). Nothing here allocates on success.
//
// HALYARD_VALIDATION=0 compiles out what finds misuse only. What keeps memory safe (null handles,
// ranges, counts) stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/array.h"
#include "hal/recording/command.h"
#include "halyard/base/status.h"
#include "halyard/hal/buffer.h"
#include "halyard/hal/executable.h"
#include "halyard/hal/limits.h"
#include "halyard/hal/types.h"
#include "kernel/reflection.h"

namespace halyard::inline v0::hal {

class DeviceObject;
class ExecutableObject;

inline constexpr bool kValidation = HALYARD_VALIDATION != 0;

// What both ways to allocate ask of `info`.
Status check_buffer_info(const DeviceLimits& limits, const BufferInfo& info);

// The memory behind `range`, for use on `device`. kInvalidArgument: empty; kOutOfRange;
// kPermissionDenied: of another runtime, or of devices that do not share memory with this one;
// kFailedPrecondition: deallocated.
Status resolve(const DeviceObject& device, const BufferRange& range, BoundRange& out);

// kOutOfRange: no such slot can be, or none with so many bytes behind the offset.
Status check_slot(const Slot& slot);

// The same for a copy, which reaches memory of every device of the runtime.
Status resolve_anywhere(const DeviceObject& device, const BufferRange& range, BoundRange& out);

inline CommandRange as_command_range(const BoundRange& range) noexcept {
  return {range.memory, 0, range.offset, range.length};
}

// A fill of [offset, offset + length); kWholeSize for a length that is checked later.
Status check_fill(std::uint32_t pattern_size, std::uint64_t offset, std::uint64_t length);

// Equal lengths (both known), and no byte in common if they are of one memory or one slot.
Status check_copy(const CommandRange& source, const CommandRange& target);

// Whether this kernel of `executable` can run on `device`.
Status check_function(const DeviceObject& device, const ExecutableObject* executable,
                      std::uint32_t function);

// kUnavailable, with what `kernel` needs beyond `limits`.
Status check_limits(const DeviceLimits& limits, const kernel::KernelInfo& kernel);

// kInvalidArgument unless exactly one way is given; kOutOfRange beyond max_groups.
Status resolve_grid(const DeviceLimits& limits, const kernel::KernelInfo& kernel, const Grid& grid,
                    std::uint32_t (&groups)[3]);

// The three uint32 of an indirect dispatch; offset as the allocation or the slot counts it. Cuts
// the range down to them. kInvalidArgument: misaligned; kOutOfRange: shorter than three.
// kUnimplemented: a device without indirect dispatches.
Status check_counts(const DeviceLimits& limits, CommandRange& counts);

Status check_binding_count(const kernel::KernelInfo& kernel, std::size_t count);
// `offset` counts from the start of the allocation.
Status check_binding_alignment(const kernel::KernelInfo& kernel, std::size_t index,
                               std::uint64_t offset);

// The use of a slot in the place of one of the kernel's constants.
inline ConstantUse use_of(const kernel::KernelInfo& kernel, std::size_t index,
                          ConstantSlot slot) noexcept {
  const kernel::ConstantInfo& info = kernel.constants[index];
  return {slot.index, info.offset, info.type};
}

[[gnu::cold]] Status constant_of_another_type(const kernel::KernelInfo& kernel, std::size_t index,
                                              const Constant& constant);
// Writes one of them to its place in the kernel.constants_bytes bytes at `out`; of its type, and no
// slot.
inline Status pack_constant(const kernel::KernelInfo& kernel, std::size_t index,
                            const Constant& constant, std::byte* out) {
  const kernel::ConstantInfo& info = kernel.constants[index];
  if (kValidation && constant.type() != info.type) [[unlikely]]
    return constant_of_another_type(kernel, index, constant);
  if (info.size == 8) {  // else 4; a Constant has 8
    std::memcpy(out + info.offset, constant.data(), 8);
  } else {
    std::memcpy(out + info.offset, constant.data(), 4);
  }
  return {};
}
// Writes all of these bytes. Count and types must be the kernel's. `uses`, if any, gets the slots,
// whose bytes become 0; without it they are errors.
Status pack_constants(const kernel::KernelInfo& kernel, View<Constant> constants, std::byte* out,
                      base::Array<ConstantUse>* uses = nullptr);

// For a binding that is a tensor: whether `length` bytes hold every element that the packed
// constants describe, which kernels do not check. kWholeSize becomes what they take. kOutOfRange.
Status check_elements(const kernel::KernelInfo& kernel, std::size_t binding,
                      const std::byte* constants, std::uint64_t& length);
inline Status check_tensor(const kernel::KernelInfo& kernel, std::size_t binding,
                           const std::byte* constants, std::uint64_t& length) {
  if (kernel.bindings[binding].rank == 0) [[likely]]
    return {};
  return check_elements(kernel, binding, constants, length);
}
// Whether one of `uses` is a size or stride of a tensor, so that only a submission knows it.
bool has_slot_of_tensor(const kernel::KernelInfo& kernel, View<ConstantUse> uses) noexcept;

}  // namespace halyard::inline v0::hal
