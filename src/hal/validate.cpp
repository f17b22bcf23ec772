// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/validate.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "hal/device/device.h"
#include "hal/executable/executable.h"
#include "hal/memory/buffer.h"
#include "hal/memory/pool.h"
#include "hal/object.h"

namespace halyard::inline v0::hal {
namespace {

constexpr std::uint64_t kMaxAlignment = 4096;  // halyard/hal/buffer.h

[[gnu::cold]] Status constant_mismatch(const kernel::KernelInfo& kernel, View<Constant> constants) {
  std::string wanted;
  for (const kernel::ConstantInfo& info : kernel.constants) {
    wanted += base::format("{}{}: {}", wanted.empty() ? "" : ", ", info.name, to_string(info.type));
  }
  const bool has_tensors = kernel.scalars.size() != kernel.constants.size();
  return error(StatusCode::kInvalidArgument, "{} given, kernel {} has {} ({}){}",
               base::counted(constants.size(), "constant"), kernel.name, kernel.constants.size(),
               wanted, has_tensors ? "; a hal::Launch has those of its tensors" : "");
}

}  // namespace

Status check_buffer_info(const DeviceLimits& limits, const BufferInfo& info) {
  if (static_cast<std::uint8_t>(info.memory) > static_cast<std::uint8_t>(MemoryType::kHostLocal)) {
    return error(StatusCode::kInvalidArgument, "memory type {}", static_cast<int>(info.memory));
  }
  if ((info.alignment & (info.alignment - 1)) != 0 || info.alignment > kMaxAlignment) {
    return error(StatusCode::kInvalidArgument, "alignment {} is no power of two up to {}",
                 info.alignment, kMaxAlignment);
  }
  if (info.size > limits.max_buffer_size) {
    return error(StatusCode::kResourceExhausted, "{}, more than {}",
                 base::counted(info.size, "byte"), limits.max_buffer_size);
  }
  return {};
}

namespace {

Status resolve_range(const BufferObject& buffer, const BufferRange& range, BoundRange& out) {
  Memory& memory = buffer.memory();
  if (memory.of_pool() && static_cast<PoolMemory&>(memory).deallocated()) [[unlikely]] {
    return Status(StatusCode::kFailedPrecondition, "the buffer was deallocated");
  }
  std::uint64_t length = range.length;
  HALYARD_RETURN_IF_ERROR(resolve_length(range.offset, length, buffer.size()));
  out = {&memory, buffer.offset() + range.offset, length};
  return {};
}

[[gnu::cold]] Status empty_buffer() { return Status(StatusCode::kInvalidArgument, "empty buffer"); }

[[gnu::cold]] Status out_of_reach(const DeviceObject& device, const DeviceObject& owner) {
  return error(StatusCode::kPermissionDenied, "memory of {} cannot be used by {}{}", owner.name(),
               device.name(),
               device.same_runtime(owner) ? "; only Queue::copy copies it to or from there"
                                          : ": they are of two runtimes");
}

}  // namespace

Status resolve(const DeviceObject& device, const BufferRange& range, BoundRange& out) {
  const BufferObject* const buffer = range.buffer;
  if (buffer == nullptr) [[unlikely]]
    return empty_buffer();
  if (kValidation && &buffer->device() != &device && !device.can_access(buffer->device()))
      [[unlikely]] {
    return out_of_reach(device, buffer->device());
  }
  return resolve_range(*buffer, range, out);
}

Status resolve_anywhere(const DeviceObject& device, const BufferRange& range, BoundRange& out) {
  const BufferObject* const buffer = range.buffer;
  if (buffer == nullptr) [[unlikely]]
    return empty_buffer();
  if (!device.same_runtime(buffer->device())) [[unlikely]] {
    return out_of_reach(device, buffer->device());
  }
  return resolve_range(*buffer, range, out);
}

Status check_slot(const Slot& slot) {
  if (slot.index >= kMaxSlots) [[unlikely]] {
    return error(StatusCode::kOutOfRange, "slot {}; the highest is {}", slot.index, kMaxSlots - 1);
  }
  if (slot.length != kWholeSize && slot.length > ~slot.offset) [[unlikely]] {
    return error(StatusCode::kOutOfRange, "slot {}: {} at offset {} overflow 64 bits", slot.index,
                 base::counted(slot.length, "byte"), base::number(slot.offset));
  }
  return {};
}

Status check_fill(std::uint32_t pattern_size, std::uint64_t offset, std::uint64_t length) {
  if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "a pattern of {} bytes; it has 1, 2 or 4",
                 pattern_size);
  }
  if (offset % pattern_size != 0) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "offset {} is no multiple of the pattern's {} bytes",
                 base::number(offset), pattern_size);
  }
  if (length != kWholeSize && length % pattern_size != 0) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "length {} is no multiple of the pattern's {} bytes",
                 base::number(length), pattern_size);
  }
  return {};
}

Status check_copy(const CommandRange& source, const CommandRange& target) {
  if (source.length != target.length) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "{} to a target of {}",
                 base::counted(source.length, "byte"), base::counted(target.length, "byte"));
  }
  if (!kValidation || source.memory != target.memory || source.slot != target.slot) return {};
  const std::uint64_t distance =
      source.offset < target.offset ? target.offset - source.offset : source.offset - target.offset;
  if (distance < source.length) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "{} at offset {} overlap their target at offset {}",
                 base::counted(source.length, "byte"), source.offset, target.offset);
  }
  return {};
}

Status check_function(const DeviceObject& device, const ExecutableObject* executable,
                      std::uint32_t function) {
  if (executable == nullptr) [[unlikely]]
    return Status(StatusCode::kInvalidArgument, "empty function");
  if (kValidation && &executable->device() != &device) [[unlikely]] {
    return error(StatusCode::kPermissionDenied, "function {} was loaded for {}",
                 executable->kernels()[function].name, executable->device().name());
  }
  return {};
}

Status check_limits(const DeviceLimits& limits, const kernel::KernelInfo& kernel) {
  const auto& size = kernel.workgroup_size;
  const struct {
    std::string_view what;
    std::uint64_t needs;
    std::uint64_t most;
  } rows[] = {
      {"items in a workgroup", std::uint64_t{size[0]} * size[1] * size[2],
       limits.max_workgroup_items},
      {"bytes of shared memory",
       std::uint64_t{kernel.static_shared_bytes} + kernel.dynamic_shared_bytes,
       limits.max_shared_bytes},
      {"bindings", kernel.bindings.size(), limits.max_bindings},
      {"bytes of constants", kernel.constants_bytes, limits.max_constants_bytes},
  };
  for (const auto& [what, needs, most] : rows) {
    if (needs > most) {
      return error(StatusCode::kUnavailable, "kernel {} needs {} {}; the device has {}",
                   kernel.name, needs, what, most);
    }
  }
  return {};
}

Status resolve_grid(const DeviceLimits& limits, const kernel::KernelInfo& kernel, const Grid& grid,
                    std::uint32_t (&groups)[3]) {
  if (grid.items.given == grid.groups.given) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "grid: {}; give items or groups",
                 grid.items.given ? "both items and groups" : "neither items nor groups");
  }
  const Grid::Extent& extent = grid.items.given ? grid.items : grid.groups;
  const std::uint64_t size[3] = {extent.x, extent.y, extent.z};
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t per_group = grid.items.given ? kernel.workgroup_size[i] : 1;
    const std::uint64_t count = size[i] / per_group + (size[i] % per_group != 0 ? 1 : 0);
    if (count > limits.max_groups[i]) [[unlikely]] {
      return error(StatusCode::kOutOfRange,
                   "grid: {} in dimension {} are {} workgroups, more than {}",
                   base::counted(size[i], grid.items.given ? "item" : "group"), "xyz"[i],
                   base::number(count), limits.max_groups[i]);
    }
    groups[i] = static_cast<std::uint32_t>(count);
  }
  return {};
}

Status check_counts(const DeviceLimits& limits, CommandRange& counts) {
  if (!limits.indirect_dispatch) [[unlikely]] {
    return Status(StatusCode::kUnimplemented,
                  "group counts: the device does not read them from memory");
  }
  constexpr std::uint64_t kBytes = 3 * sizeof(std::uint32_t);
  if (counts.offset % sizeof(std::uint32_t) != 0) [[unlikely]] {
    return error(StatusCode::kInvalidArgument, "group counts: offset {} is no multiple of {}",
                 counts.offset, sizeof(std::uint32_t));
  }
  if (counts.length < kBytes) [[unlikely]] {
    return error(StatusCode::kOutOfRange, "group counts: {} at offset {}, they have {}",
                 base::counted(counts.length, "byte"), counts.offset, kBytes);
  }
  counts.length = kBytes;
  return {};
}

Status check_binding_count(const kernel::KernelInfo& kernel, std::size_t count) {
  if (count == kernel.bindings.size()) [[likely]]
    return {};
  std::string wanted;
  for (const kernel::BindingInfo& info : kernel.bindings) {
    wanted.append(wanted.empty() ? "" : ", ").append(info.name);
  }
  return error(StatusCode::kInvalidArgument, "{} given, kernel {} has {} ({})",
               base::counted(count, "binding"), kernel.name, kernel.bindings.size(), wanted);
}

Status check_binding_alignment(const kernel::KernelInfo& kernel, std::size_t index,
                               std::uint64_t offset) {
  const kernel::BindingInfo& info = kernel.bindings[index];
  if (!kValidation || offset % kernel::size_of(info.type) == 0) [[likely]]
    return {};
  return error(StatusCode::kInvalidArgument, "offset {} is no multiple of its element, {}", offset,
               to_string(info.type));
}

Status constant_of_another_type(const kernel::KernelInfo& kernel, std::size_t index,
                                const Constant& constant) {
  const kernel::ConstantInfo& info = kernel.constants[index];
  if (constant.indirect()) {
    return error(StatusCode::kInvalidArgument, "constant {} ({}) is a slot; recordings have these",
                 index, info.name);
  }
  return error(StatusCode::kInvalidArgument, "constant {} ({}) is {}, given {}", index, info.name,
               to_string(info.type), to_string(constant.type()));
}

Status pack_constants(const kernel::KernelInfo& kernel, View<Constant> constants, std::byte* out,
                      base::Array<ConstantUse>* uses) {
  if (constants.size() != kernel.constants.size()) [[unlikely]] {
    return constant_mismatch(kernel, constants);
  }
  if (kernel.constants_bytes != 0) std::memset(out, 0, kernel.constants_bytes);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (uses != nullptr && constants[i].indirect()) {
      if (!uses->push_back(use_of(kernel, i, constants[i].slot()))) {
        return Status(StatusCode::kResourceExhausted, "no memory for constant slots");
      }
    } else {
      HALYARD_RETURN_IF_ERROR(pack_constant(kernel, i, constants[i], out));
    }
  }
  return {};
}

Status check_elements(const kernel::KernelInfo& kernel, std::size_t binding,
                      const std::byte* constants, std::uint64_t& length) {
  const kernel::BindingInfo& info = kernel.bindings[binding];
  const auto field = [&](std::uint32_t index) -> std::uint64_t {
    std::uint32_t value = 0;
    std::memcpy(&value, constants + kernel.constants[info.first_constant + index].offset,
                sizeof value);
    return value;
  };
  // Each term is a product of two 32-bit numbers. Their sum may overflow 64 bits, as may its
  // product with the element's size.
  std::uint64_t elements = 1, bytes = 0;
  bool empty = false, too_many = false;
  for (std::uint32_t d = 0; d < info.rank; ++d) {
    const std::uint64_t size = field(d), stride = d + 1 < info.rank ? field(info.rank + d) : 1;
    empty |= size == 0;
    too_many |= __builtin_add_overflow(elements, (size - 1) * stride, &elements);
  }
  too_many |= __builtin_mul_overflow(elements, kernel::size_of(info.type), &bytes);
  if (empty) bytes = 0, too_many = false;
  if (!too_many && length == kWholeSize) length = bytes;
  if (!too_many && bytes <= length) [[likely]]
    return {};
  std::string sizes;
  for (std::uint32_t d = 0; d < info.rank; ++d) {
    sizes += base::format("{}{}", d == 0 ? "" : " x ", field(d));
  }
  return error(StatusCode::kOutOfRange, "{}: {} elements take {} bytes of {}", info.name, sizes,
               too_many ? "2^64 or more" : base::format("{}", bytes), base::number(length));
}

bool has_slot_of_tensor(const kernel::KernelInfo& kernel, View<ConstantUse> uses) noexcept {
  for (const kernel::BindingInfo& info : kernel.bindings) {
    if (info.rank == 0) continue;
    for (std::uint32_t i = 0; i < 2 * info.rank - 1; ++i) {  // its sizes and strides
      const std::uint32_t offset = kernel.constants[info.first_constant + i].offset;
      for (const ConstantUse& use : uses) {
        if (use.offset == offset) return true;
      }
    }
  }
  return false;
}

}  // namespace halyard::inline v0::hal
