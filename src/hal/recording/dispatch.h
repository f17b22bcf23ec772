// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DispatchRequest: a dispatch as the user asks for it. build_dispatch() checks it and makes the
// command, for operations of queues and for recordings.
//
// Messages name the argument; the caller adds object, operation and kernel (hal::at).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hal/device/device.h"
#include "hal/executable/executable.h"
#include "hal/object.h"
#include "hal/recording/command.h"
#include "hal/validate.h"

namespace halyard::inline v0::hal {

// `Binding` is BufferRange in a queue and BindingRef in a recording. Lives for one call. It refers
// to the caller's views because loads of a copy would stall on the stores just made.
template <class Binding>
struct DispatchRequest {
  ExecutableObject* executable;
  std::uint32_t function;
  // The number of workgroups is given by a grid or by three uint32 in memory; the other is null.
  const Grid* grid;
  const Binding* counts;
  const View<Binding>& bindings;
  // The constants are given one by one or as the kernel's struct, with the slots in it; the other
  // is empty.
  const View<Constant>& constants;
  const Bytes& packed;
  View<ConstantUse> uses{};
  bool tensors_fit = false;  // verified by Launch

  std::string_view kernel_name() const noexcept {
    return executable != nullptr ? executable->kernels()[function].name : "an empty launch";
  }
};

// Checks `request` and fills `command`, which is zero. `allocate(bytes)` returns memory for ranges
// and constants, or null; `resolve(binding, range)` returns a Status. Constants that are slots are
// added to `uses`; if it is null, they are an error. The sizes of tensors that depend on slots are
// not checked (has_slot_of_tensor).
template <class Binding, class Allocate, class Resolve>
Status build_dispatch(const DeviceObject& device, const DispatchRequest<Binding>& request,
                      DispatchCommand& command, Allocate&& allocate, Resolve&& resolve,
                      base::Array<ConstantUse>* uses = nullptr) {
  HALYARD_RETURN_IF_ERROR(check_function(device, request.executable, request.function));
  const kernel::KernelInfo& kernel = request.executable->kernels()[request.function];
  const std::size_t count = request.bindings.size();
  HALYARD_RETURN_IF_ERROR(check_binding_count(kernel, count));
  if (request.grid != nullptr) {
    HALYARD_RETURN_IF_ERROR(resolve_grid(device.limits(), kernel, *request.grid, command.groups));
  }

  static_assert(sizeof(CommandRange) % alignof(std::max_align_t) == 0, "constants follow");
  const std::size_t ranges_bytes =
      (count + (request.counts != nullptr ? 1 : 0)) * sizeof(CommandRange);
  std::byte* const memory = allocate(ranges_bytes + kernel.constants_bytes);
  if (memory == nullptr) [[unlikely]]
    return no_memory(ranges_bytes + kernel.constants_bytes);
  auto* const ranges = reinterpret_cast<CommandRange*>(memory);
  std::byte* const packed = memory + ranges_bytes;
  if (request.counts != nullptr) {
    CommandRange& counts = ranges[count];
    HALYARD_RETURN_IF_ERROR(resolve(*request.counts, counts));
    HALYARD_RETURN_IF_ERROR(check_counts(device.limits(), counts));
    command.counts = &counts;
  }
  const auto at_binding = [&](const Status& status, std::size_t i) {
    return at(status, "binding {} ({})", i, kernel.bindings[i].name);
  };
  for (std::size_t i = 0; i < count; ++i) {
    Status status = resolve(request.bindings[i], ranges[i]);
    if (status.ok()) status = check_binding_alignment(kernel, i, ranges[i].offset);
    if (!status.ok()) [[unlikely]]
      return at_binding(status, i);
  }
  if (!request.packed.empty()) {
    std::memcpy(packed, request.packed.data(), kernel.constants_bytes);
  } else {
    HALYARD_RETURN_IF_ERROR(pack_constants(kernel, request.constants, packed, uses));
  }
  if (uses != nullptr) {
    for (const ConstantUse& use : request.uses) {
      if (!uses->push_back(use)) return no_memory(sizeof use);
    }
  }
  const bool later = uses != nullptr && has_slot_of_tensor(kernel, {uses->data(), uses->size()});
  for (std::size_t i = 0; i < count && !later && !request.tensors_fit; ++i) {
    Status status = check_tensor(kernel, i, packed, ranges[i].length);
    if (!status.ok()) [[unlikely]]
      return at_binding(status, i);
  }

  command.executable = &request.executable->impl();
  command.function = request.function;
  command.bindings = ranges;
  command.binding_count = static_cast<std::uint32_t>(count);
  command.constants_size = kernel.constants_bytes;
  command.constants = packed;
  return {};
}

}  // namespace halyard::inline v0::hal
