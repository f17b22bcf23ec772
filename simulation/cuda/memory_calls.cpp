// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of device, host and managed memory.
#include <sys/mman.h>

#include <cstring>

#include "simulation/cuda/graph.h"
#include "simulation/cuda/managed.h"
#include "simulation/cuda/options.h"
#include "simulation/cuda/per_thread.h"
#include "simulation/cuda/pool.h"
#include "simulation/cuda/stream.h"

namespace halyard::inline v0::sim::cuda {
namespace {

constexpr std::size_t kAlignment = 512;
constexpr int kPoison = 0xcd;

}  // namespace

Result allocate_memory(Allocation allocation, std::size_t alignment, DevicePointer& address) {
  if (allocation.is_counted()) {
    HALYARD_CUDA_REQUIRE(
        allocation.size <= options().memory_bytes - memory().used(allocation.device), kOutOfMemory);
  }
  allocation.id = state().next_id++;
  address = memory().allocate(allocation, alignment);
  HALYARD_CUDA_REQUIRE(address != 0, kOutOfMemory);
  // New memory holds whatever was there before; a program that relies on zeros is wrong.
  if ((options().strict || options().adversarial) && allocation.kind != MemoryKind::kVariable &&
      allocation.size <= std::size_t{64} << 20) {
    std::memset(memory().find(address)->host, kPoison, allocation.size);
  }
  return kSuccess;
}

void return_freed(ContextState& context) {
  if (context.freed.empty() || !is_idle(context)) return;
  for (const DevicePointer address : context.freed) {
    if (const std::optional<Allocation> found = memory().find(address)) release_allocation(*found);
  }
  context.freed.clear();
}

void release_allocation(const Allocation& allocation) {
  if (allocation.kind == MemoryKind::kPool && allocation.pool != nullptr &&
      is_handle(allocation.pool)) {
    allocation.pool->object->used -= allocation.size;
  }
  if (allocation.kind == MemoryKind::kManaged) forget_managed_memory(allocation.begin);
  memory().remove(allocation.begin);
}

namespace {

Result allocate_device(Call& call, DevicePointer* address, std::size_t size) {
  // cuda.h, cuMemAlloc: "If bytesize is 0, cuMemAlloc() returns CUDA_ERROR_INVALID_VALUE."
  HALYARD_CUDA_REQUIRE(address != nullptr && size != 0, kInvalidValue);
  Allocation allocation;
  allocation.size = size;
  allocation.device = call.context().device;
  allocation.context = &call.context();
  return_freed(call.context());
  return allocate_memory(allocation, kAlignment, *address);
}

Result free_device(Call& call, DevicePointer address) {
  if (address == 0) return kSuccess;
  if (ContextState* const current = call.context_or_null()) return_freed(*current);
  if (memory().is_freed(address)) {
    report_misuse("double-free", "cuMemFree was called for memory that had been freed");
    return kInvalidValue;
  }
  const std::optional<Allocation> found = memory().find(address);
  if (!found || found->begin != address || found->kind == MemoryKind::kVariable ||
      !found->is_on_device() || found->kind == MemoryKind::kMapped) {
    report_misuse("free-of-no-allocation",
                  "cuMemFree was called with an address that is not the start of an allocation");
    return kInvalidValue;
  }
  // The address names its context, whichever is current: NVIDIA/cuda-python, pull request 2750.
  ContextState* const context = found->context;
  if (context != nullptr) {
    if (const Result fault = context->sticky.load(); fault != kSuccess) return fault;
  }
  if (const std::shared_ptr<GraphMemory> of_node = graph_memory_at(address)) {
    return free_graph_memory(*of_node);
  }
  // cuda.h, cuMemFree: "will not perform any implict synchronization when the pointer was allocated
  // with cuMemAllocAsync ... Callers must ensure that all accesses to these pointer have completed
  // before invoking cuMemFree. ... For all other pointers, this API may perform implicit
  // synchronization." Work that does not use the memory may be in flight.
  if (found->kind == MemoryKind::kPool && context != nullptr &&
      is_named_in_flight(*context, *found)) {
    report_misuse("free-of-pool-memory-in-use",
                  "cuMemFree of stream-ordered memory does not synchronise, and work in flight "
                  "used the memory");
  }
  const bool waits = found->kind != MemoryKind::kPool && !options().adversarial;
  if (context == nullptr || is_idle(*context)) {
    release_allocation(*found);
  } else if (waits) {
    drain(call.lock(), *context);
    release_allocation(*found);
  } else {
    // What runs may still use the memory, and finds it there.
    memory().mark_freed(address);
    context->freed.push_back(address);
  }
  return kSuccess;
}

Result allocate_host(Call& call, void** host, std::size_t size, unsigned flags) {
  HALYARD_CUDA_REQUIRE(host != nullptr && size != 0, kInvalidValue);
  HALYARD_CUDA_REQUIRE((flags & ~(kHostPortable | kHostDeviceMap | kHostWriteCombined)) == 0,
                       kInvalidValue);
  Allocation allocation;
  allocation.size = size;
  allocation.kind = MemoryKind::kHost;
  allocation.flags = flags | kHostDeviceMap;
  allocation.device = call.context().device;
  allocation.context = &call.context();
  DevicePointer address = 0;
  const Result result = allocate_memory(allocation, kAlignment, address);
  *host = reinterpret_cast<void*>(address);
  return result;
}

Result register_host(Call& call, void* host, std::size_t size, unsigned flags) {
  HALYARD_CUDA_REQUIRE(host != nullptr && size != 0 && (flags & ~15U) == 0, kInvalidValue);
  const auto begin = reinterpret_cast<DevicePointer>(host);
  // cuda.h, cuMemHostRegister: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED. Of memory that the driver
  // itself gave, as cuMemHostAlloc does, it says nothing: an H200 answers INVALID_VALUE.
  if (const std::optional<Allocation> other = memory().overlapping(begin, begin + size)) {
    return other->kind == MemoryKind::kRegistered ? kHostMemoryAlreadyRegistered : kInvalidValue;
  }
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  allocation.host = static_cast<std::byte*>(host);
  allocation.kind = MemoryKind::kRegistered;
  allocation.flags = flags | kHostDeviceMap;
  allocation.is_read_only = (flags & kRegisterReadOnly) != 0;
  allocation.device = call.context().device;
  allocation.context = &call.context();
  allocation.id = state().next_id++;
  if (options().adversarial) {
    Allocation alias = allocation;
    alias.begin = memory().reserve(size, kPage) + begin % kPage;
    HALYARD_CUDA_REQUIRE(alias.begin >= kPage, kOutOfMemory);
    alias.host_alias = begin;
    allocation.device_alias = alias.begin;
    memory().add(alias);
  }
  memory().add(allocation);
  return kSuccess;
}

Result find_host(void* host, Allocation& allocation) {
  HALYARD_CUDA_REQUIRE(host != nullptr, kInvalidValue);
  const std::optional<Allocation> found = memory().find(reinterpret_cast<DevicePointer>(host));
  HALYARD_CUDA_REQUIRE(found && !found->is_on_device(), kInvalidValue);
  allocation = *found;
  return kSuccess;
}

}  // namespace

HALYARD_CUDA_EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  HALYARD_CUDA_CALL(cuMemGetInfo_v2, kCurrent);
  HALYARD_CUDA_REQUIRE(free != nullptr && total != nullptr, kInvalidValue);
  *total = options().memory_bytes;
  *free = *total - memory().used(call.context().device);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuMemAlloc_v2(DevicePointer* address, std::size_t size) {
  HALYARD_CUDA_CALL(cuMemAlloc_v2, kCurrent | kUnsafeInCapture);
  return allocate_device(call, address, size);
}

HALYARD_CUDA_EXPORT Result cuMemAllocPitch_v2(DevicePointer* address, std::size_t* pitch,
                                              std::size_t width, std::size_t height,
                                              unsigned element) {
  HALYARD_CUDA_CALL(cuMemAllocPitch_v2, kCurrent | kUnsafeInCapture);
  HALYARD_CUDA_REQUIRE(pitch != nullptr && width != 0 && height != 0, kInvalidValue);
  HALYARD_CUDA_REQUIRE(element == 4 || element == 8 || element == 16, kInvalidValue);
  *pitch = (width + kAlignment - 1) / kAlignment * kAlignment;
  return allocate_device(call, address, *pitch * height);
}

HALYARD_CUDA_EXPORT Result cuMemFree_v2(DevicePointer address) {
  HALYARD_CUDA_CALL(cuMemFree_v2, kNamed | kUnsafeInCapture);
  return free_device(call, address);
}

HALYARD_CUDA_EXPORT Result cuMemAllocManaged(DevicePointer* address, std::size_t size,
                                             unsigned flags) {
  HALYARD_CUDA_CALL(cuMemAllocManaged, kCurrent | kUnsafeInCapture);
  HALYARD_CUDA_REQUIRE(address != nullptr && size != 0, kInvalidValue);
  HALYARD_CUDA_REQUIRE(flags == kAttachGlobal || flags == kAttachHost, kInvalidValue);
  Allocation allocation;
  allocation.size = size;
  allocation.kind = MemoryKind::kManaged;
  allocation.flags = flags;
  allocation.device = call.context().device;
  allocation.context = &call.context();
  return allocate_memory(allocation, kAlignment, *address);
}

HALYARD_CUDA_EXPORT Result cuMemAllocHost_v2(void** host, std::size_t size) {
  HALYARD_CUDA_CALL(cuMemAllocHost_v2, kCurrent | kUnsafeInCapture);
  return allocate_host(call, host, size, kHostPortable);
}

HALYARD_CUDA_EXPORT Result cuMemHostAlloc(void** host, std::size_t size, unsigned flags) {
  HALYARD_CUDA_CALL(cuMemHostAlloc, kCurrent | kUnsafeInCapture);
  return allocate_host(call, host, size, flags);
}

HALYARD_CUDA_EXPORT Result cuMemFreeHost(void* host) {
  HALYARD_CUDA_CALL(cuMemFreeHost, kInitialized | kUnsafeInCapture);
  if (host == nullptr) return kSuccess;
  Allocation allocation;
  if (find_host(host, allocation) != kSuccess || allocation.kind != MemoryKind::kHost ||
      allocation.begin != reinterpret_cast<DevicePointer>(host)) {
    report_misuse(
        "free-of-no-allocation",
        "cuMemFreeHost was called with an address that is not the start of an allocation");
    return kInvalidValue;
  }
  drain(call.lock(), *allocation.context);
  release_allocation(allocation);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuMemHostRegister_v2(void* host, std::size_t size, unsigned flags) {
  HALYARD_CUDA_CALL(cuMemHostRegister_v2, kCurrent | kUnsafeInCapture);
  return register_host(call, host, size, flags);
}

HALYARD_CUDA_EXPORT Result cuMemHostRegister(void* host, std::size_t size, unsigned flags) {
  HALYARD_CUDA_CALL(cuMemHostRegister, kCurrent | kUnsafeInCapture);
  return register_host(call, host, size, flags);
}

HALYARD_CUDA_EXPORT Result cuMemHostUnregister(void* host) {
  HALYARD_CUDA_CALL(cuMemHostUnregister, kInitialized | kUnsafeInCapture);
  HALYARD_CUDA_REQUIRE(host != nullptr, kInvalidValue);
  const std::optional<Allocation> found = memory().find(reinterpret_cast<DevicePointer>(host));
  HALYARD_CUDA_REQUIRE(found && found->kind == MemoryKind::kRegistered, kHostMemoryNotRegistered);
  HALYARD_CUDA_REQUIRE(found->begin == reinterpret_cast<DevicePointer>(host), kInvalidValue);
  drain(call.lock(), *found->context);
  if (found->device_alias != 0) memory().remove(found->device_alias);
  release_allocation(*found);
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuMemHostGetDevicePointer_v2(DevicePointer* address, void* host,
                                                        unsigned flags) {
  HALYARD_CUDA_CALL(cuMemHostGetDevicePointer_v2, kNamed);
  HALYARD_CUDA_REQUIRE(address != nullptr && flags == 0, kInvalidValue);
  Allocation allocation;
  if (const Result result = find_host(host, allocation); result != kSuccess) return result;
  *address = reinterpret_cast<DevicePointer>(host);
  if (allocation.device_alias != 0) *address += allocation.device_alias - allocation.begin;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuMemHostGetFlags(unsigned* flags, void* host) {
  HALYARD_CUDA_CALL(cuMemHostGetFlags, kNamed);
  HALYARD_CUDA_REQUIRE(flags != nullptr, kInvalidValue);
  Allocation allocation;
  if (const Result result = find_host(host, allocation); result != kSuccess) return result;
  HALYARD_CUDA_REQUIRE(allocation.kind == MemoryKind::kHost, kInvalidValue);
  *flags = allocation.flags;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* size,
                                                   DevicePointer address) {
  HALYARD_CUDA_CALL(cuMemGetAddressRange_v2, kNamed);
  const std::optional<Allocation> found = memory().find(address);
  HALYARD_CUDA_REQUIRE(found, kNotFound);
  if (base != nullptr) *base = found->begin;
  if (size != nullptr) *size = found->size;
  return kSuccess;
}

HALYARD_CUDA_EXPORT Result cuStreamAttachMemAsync(Stream handle, DevicePointer address, std::size_t,
                                                  unsigned flags) {
  HALYARD_CUDA_CALL(cuStreamAttachMemAsync, kNamed);
  HALYARD_CUDA_REQUIRE(flags == 1 || flags == 2 || flags == 4, kInvalidValue);
  const std::optional<Allocation> found = memory().find(address);
  HALYARD_CUDA_REQUIRE(found, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_CUDA_REQUIRE(stream != nullptr, stream_error(handle));
  memory().set_flags(found->begin, flags);
  return submit(*stream, EmptyWork{});
}

HALYARD_CUDA_PER_THREAD(cuStreamAttachMemAsync, _ptsz, 4)

}  // namespace halyard::inline v0::sim::cuda
