// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Validation that queue operations and recorded commands share. Its results are resolved ranges,
// group counts and packed constants. Messages name the argument; the caller adds object and
// operation (hal::at). Nothing here allocates on success.
//
// HALYARD_VALIDATION=0 removes the checks that only detect misuse. The checks that memory safety
// needs (null handles, ranges, counts) stay.
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

// Checks the `info` of an allocation from a device or a pool, or of an import.
Status check_buffer_info(const DeviceLimits& limits, const BufferInfo& info);

// Resolves `range` to memory, for use on `device`. Returns kInvalidArgument for an empty handle,
// kOutOfRange, kPermissionDenied if the memory belongs to another runtime or to a device whose
// memory `device` cannot use, kFailedPrecondition if it was deallocated.
Status resolve(const DeviceObject& device, const BufferRange& range, BoundRange& out);

// Returns kOutOfRange if the index is too large for a slot, or offset + length overflows 64 bits.
Status check_slot(const Slot& slot);

// Like resolve(), for a copy, which can reach memory of every device of the runtime.
Status resolve_anywhere(const DeviceObject& device, const BufferRange& range, BoundRange& out);

// Checks a fill of [offset, offset + length). kWholeSize: the length is checked later.
Status check_fill(std::uint32_t pattern_size, std::uint64_t offset, std::uint64_t length);

// Checks that known lengths are equal, and that ranges of the same memory or slot do not overlap.
Status check_copy(const CommandRange& source, const CommandRange& target);

// Whether this kernel of `executable` can run on `device`.
Status check_function(const DeviceObject& device, const ExecutableObject* executable,
                      std::uint32_t function);

// Returns kUnavailable, naming the requirement, if `kernel` exceeds `limits`.
Status check_limits(const DeviceLimits& limits, const kernel::KernelInfo& kernel);

// Returns kInvalidArgument unless the grid is given in exactly one way, kOutOfRange beyond
// max_groups.
Status resolve_grid(const DeviceLimits& limits, const kernel::KernelInfo& kernel, const Grid& grid,
                    std::uint32_t (&groups)[3]);

// Checks the range of an indirect dispatch's three uint32 and shortens it to them. Its offset
// counts from the start of the allocation or slot. Returns kInvalidArgument if it is misaligned,
// kOutOfRange if it is shorter than three uint32, kUnimplemented if the device has no indirect
// dispatches.
Status check_counts(const DeviceLimits& limits, CommandRange& counts);

Status check_binding_count(const kernel::KernelInfo& kernel, std::size_t count);
// `offset` counts from the start of the allocation.
Status check_binding_alignment(const kernel::KernelInfo& kernel, std::size_t index,
                               std::uint64_t offset);

// The use of a slot for one of the kernel's constants.
inline ConstantUse use_of(const kernel::KernelInfo& kernel, std::size_t index,
                          ConstantSlot slot) noexcept {
  const kernel::ConstantInfo& info = kernel.constants[index];
  return {slot.index, info.offset, info.type};
}

[[gnu::cold]] Status constant_of_another_type(const kernel::KernelInfo& kernel, std::size_t index,
                                              const Constant& constant);
// Writes a constant to its place in the kernel.constants_bytes bytes at `out`. The constant must
// have the kernel's type; it must not be a slot.
inline Status pack_constant(const kernel::KernelInfo& kernel, std::size_t index,
                            const Constant& constant, std::byte* out) {
  const kernel::ConstantInfo& info = kernel.constants[index];
  if (kValidation && constant.type() != info.type) [[unlikely]]
    return constant_of_another_type(kernel, index, constant);
  if (info.size == 8) {  // otherwise 4; a Constant has 8
    std::memcpy(out + info.offset, constant.data(), 8);
  } else {
    std::memcpy(out + info.offset, constant.data(), 4);
  }
  return {};
}
// Writes all constants. Number and types must be the kernel's. Slots are added to `uses` and their
// bytes set to 0; if `uses` is null, a slot is an error.
Status pack_constants(const kernel::KernelInfo& kernel, View<Constant> constants, std::byte* out,
                      base::Array<ConstantUse>* uses = nullptr);

// For a binding that is a tensor: returns kOutOfRange unless `length` bytes hold every element that
// the packed constants describe, which kernels do not check. A `length` of kWholeSize is set to the
// bytes that the elements take.
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
