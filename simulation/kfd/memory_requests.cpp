// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests for memory: amdkfd/kfd_chardev.c and amdgpu/amdgpu_amdkfd_gpuvm.c.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>
#include <utility>

#include "simulation/kfd/queue.h"
#include "simulation/kfd/text.h"

namespace halyard::inline v0::sim::kfd {
namespace {

constexpr std::uint32_t kKinds =
    abi::kVram | abi::kGtt | abi::kUserptr | abi::kDoorbell | abi::kMmioRemap;
constexpr std::uint32_t kKnownFlags = kKinds | abi::kUncached | abi::kCoherent |
                                      abi::kAqlQueueMemory | abi::kNoSubstitute | abi::kPublic |
                                      abi::kExecutable | abi::kWritable;

}  // namespace

int System::alloc_memory(abi::AllocMemory& args) {
  int error = 0;
  Device* const device = bound_device(args.gpu_id, "ALLOC_MEMORY", error);
  if (device == nullptr) return error;
  const auto refuse_flags = [&](const char* why) {
    return refuse(-EINVAL, "alloc-flags",
                  join("ALLOC_MEMORY with flags ", hex(args.flags), ": ", why));
  };
  if (std::popcount(args.flags & kKinds) != 1) return refuse_flags("they name no single kind");
  if ((args.flags & ~kKnownFlags) != 0) return refuse_flags("some are not known");
  if ((args.flags & abi::kAqlQueueMemory) != 0)
    return refuse_flags("AQL_QUEUE_MEM is of gfx7 and gfx8");
  if (args.size == 0 || args.size % abi::kPage != 0 || args.va_addr % abi::kPage != 0 ||
      args.va_addr == 0 || args.va_addr + args.size > std::uint64_t{1} << 47) {
    return refuse(-EINVAL, "alloc-range",
                  join("ALLOC_MEMORY of ", args.size, " bytes at ", hex(args.va_addr),
                       ": not whole pages of the process"));
  }
  if ((args.flags & abi::kDoorbell) != 0 && args.size != abi::kDoorbellBytes) {
    return refuse_flags("doorbells have 0x2000 bytes");
  }
  if ((args.flags & abi::kMmioRemap) != 0 && args.size != abi::kPage) {
    return refuse_flags("the registers have one page");
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->handle = std::uint64_t{device->node.gpu_id} << 32 | next_buffer;
  buffer->address = args.va_addr;
  buffer->size = args.size;
  buffer->flags = args.flags;
  buffer->device = device->index;
  buffer->mappings.resize(devices.size());
  if ((args.flags & abi::kUserptr) != 0) {
    if (args.mmap_offset == 0 || args.mmap_offset % abi::kPage != 0) {
      return refuse(-EINVAL, "alloc-userptr",
                    join("ALLOC_MEMORY of the program's memory at ", hex(args.mmap_offset)));
    }
    buffer->bytes = reinterpret_cast<std::byte*>(args.mmap_offset);
  } else {
    abi::AvailableMemory left{.gpu_id = args.gpu_id};
    available_memory(left);
    if ((args.flags & abi::kVram) != 0 && args.size > left.available) return -ENOMEM;
    buffer->backing = file.allocate(args.size);
    if (buffer->backing.bytes() == nullptr) return -ENOMEM;
    buffer->bytes = buffer->backing.bytes();
    args.mmap_offset = buffer->backing.offset();
  }
  if ((args.flags & abi::kMmioRemap) != 0) {  // KFD_MMAP_TYPE_MMIO is 0
    args.mmap_offset = std::uint64_t{args.gpu_id} << abi::kMmapGpuIdShift;
  }
  ++next_buffer;
  args.handle = buffer->handle;
  buffers.emplace(args.handle, std::move(buffer));
  return 0;
}

int System::free_memory(abi::FreeMemory& args) {
  Buffer* const buffer = find_buffer(args.handle);
  if (buffer == nullptr) {
    return refuse(-EINVAL, "unknown-buffer", join("FREE_MEMORY of ", hex(args.handle)));
  }
  if (args.handle == event_page_handle) {
    return refuse(-EPERM, "free-event-page", "FREE_MEMORY of the event page");
  }
  if (std::ranges::any_of(buffer->mappings, &Buffer::Mapping::is_mapped)) {
    return refuse(-EBUSY, "free-mapped",
                  join("FREE_MEMORY of the buffer at ", hex(buffer->address),
                       ", which is still mapped for a device"));
  }
  if (buffer->backing.bytes() != nullptr) file.discard(buffer->backing.offset(), buffer->size);
  buffers.erase(args.handle);
  return 0;
}

int System::map_memory(abi::MapMemory& args) {
  Buffer* const buffer = find_buffer(args.handle);
  const auto* const ids = reinterpret_cast<const std::uint32_t*>(args.device_ids_array_ptr);
  if (buffer == nullptr || args.n_devices == 0 || ids == nullptr ||
      args.n_success > args.n_devices) {
    return refuse(-EINVAL, buffer == nullptr ? "unknown-buffer" : "map-devices",
                  join("MAP_MEMORY of ", hex(args.handle), " for ", args.n_devices, " devices, ",
                       args.n_success, " of them done"));
  }
  for (const std::uint32_t id : std::span(ids, args.n_devices).subspan(args.n_success)) {
    int error = 0;
    Device* const device = bound_device(id, "MAP_MEMORY", error);
    if (device == nullptr) return error;
    Buffer::Mapping& mapping = buffer->mappings[device->index];
    if (!mapping.is_mapped && !device->space.add(*buffer)) {
      return refuse(-EINVAL, "map-overlap",
                    join("MAP_MEMORY of the buffer at ", hex(buffer->address),
                         ", which overlaps another that is mapped"));
    }
    mapping.is_mapped = true;
    ++args.n_success;
  }
  return 0;
}

int System::unmap_memory(abi::MapMemory& args) {
  Buffer* const buffer = find_buffer(args.handle);
  const auto* const ids = reinterpret_cast<const std::uint32_t*>(args.device_ids_array_ptr);
  if (buffer == nullptr || args.n_devices == 0 || ids == nullptr ||
      args.n_success > args.n_devices) {
    return refuse(-EINVAL, buffer == nullptr ? "unknown-buffer" : "map-devices",
                  join("UNMAP_MEMORY of ", hex(args.handle), " for ", args.n_devices, " devices, ",
                       args.n_success, " of them done"));
  }
  for (const std::uint32_t id : std::span(ids, args.n_devices).subspan(args.n_success)) {
    int error = 0;
    Device* const device = bound_device(id, "UNMAP_MEMORY", error);
    if (device == nullptr) return error;
    Buffer::Mapping& mapping = buffer->mappings[device->index];
    if (mapping.queues != 0) {
      return refuse(-EBUSY, "unmap-of-queue",
                    join("UNMAP_MEMORY of the buffer at ", hex(buffer->address),
                         ", with which a queue was created that still exists"));
    }
    const auto reads = [&](const auto& queue) { return queue->reads(*buffer); };
    if (mapping.is_mapped && std::ranges::any_of(device->queues, reads)) {
      return refuse(-EBUSY, "unmap-in-flight",
                    join("UNMAP_MEMORY of the buffer at ", hex(buffer->address),
                         ", which a queue still reads: hardware would fault"));
    }
    if (mapping.is_mapped) device->space.remove(*buffer);
    mapping.is_mapped = false;
    ++args.n_success;
  }
  return 0;
}

}  // namespace halyard::inline v0::sim::kfd
