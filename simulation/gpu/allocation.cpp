// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/allocation.h"

#include <cstring>

#include "simulation/gpu/graph.h"
#include "simulation/gpu/managed.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/pool.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {
namespace {

constexpr int kPoison = 0xcd;

}  // namespace

Result allocate_memory(Allocation allocation, std::size_t alignment, DevicePointer& address) {
  if (allocation.is_counted()) {
    HALYARD_GPU_REQUIRE(
        allocation.size <= options().memory_bytes - memory().used(allocation.device), kOutOfMemory);
  }
  allocation.id = state().next_id++;
  address = memory().allocate(allocation, alignment);
  HALYARD_GPU_REQUIRE(address != 0, kOutOfMemory);
  // New memory is filled with arbitrary bytes, to detect programs that rely on zeros.
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

Result allocate_device(Call& call, DevicePointer* address, std::size_t size) {
  // cuda.h, cuMemAlloc: "If bytesize is 0, cuMemAlloc() returns CUDA_ERROR_INVALID_VALUE."
  HALYARD_GPU_REQUIRE(address != nullptr && size != 0, kInvalidValue);
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
    report_misuse("double-free",
                  std::string(rules().names.free) + " was called for memory that had been freed");
    return kInvalidValue;
  }
  const std::optional<Allocation> found = memory().find(address);
  if (!found || found->begin != address || found->kind == MemoryKind::kVariable ||
      !found->is_on_device() || found->kind == MemoryKind::kMapped) {
    report_misuse("free-of-no-allocation",
                  std::string(rules().names.free) +
                      " was called with an address that is not the start of an allocation");
    return kInvalidValue;
  }
  // The address determines the context, whatever context is current: NVIDIA/cuda-python, pull
  // request 2750.
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
  const bool is_pool_memory =
      found->kind == MemoryKind::kPool && !rules().free_waits_for_pool_memory();
  if (is_pool_memory && context != nullptr && is_named_in_flight(*context, *found)) {
    report_misuse("free-of-pool-memory-in-use",
                  std::string(rules().names.free) +
                      " of stream-ordered memory does not synchronise, and work in flight used the "
                      "memory");
  }
  const bool waits = !is_pool_memory && (rules().free_always_waits || !options().adversarial);
  if (context == nullptr || is_idle(*context)) {
    release_allocation(*found);
  } else if (waits) {
    drain(call.lock(), *context);
    release_allocation(*found);
  } else {
    // Running work may still use the memory, so its bytes must stay valid.
    memory().mark_freed(address);
    context->freed.push_back(address);
  }
  return kSuccess;
}

Result allocate_host(Call& call, void** host, std::size_t size, unsigned flags) {
  HALYARD_GPU_REQUIRE(host != nullptr && size != 0, kInvalidValue);
  HALYARD_GPU_REQUIRE((flags & ~(kHostPortable | kHostDeviceMap | kHostWriteCombined)) == 0,
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
  HALYARD_GPU_REQUIRE(host != nullptr && size != 0 && (flags & ~15U) == 0, kInvalidValue);
  const auto begin = reinterpret_cast<DevicePointer>(host);
  // cuda.h, cuMemHostRegister: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED. It does not mention
  // memory that the driver allocated, as with cuMemHostAlloc; an H200 returns INVALID_VALUE.
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
    HALYARD_GPU_REQUIRE(alias.begin >= kPage, kOutOfMemory);
    alias.host_alias = begin;
    allocation.device_alias = alias.begin;
    memory().add(alias);
  }
  memory().add(allocation);
  return kSuccess;
}

Result find_host(void* host, Allocation& allocation) {
  HALYARD_GPU_REQUIRE(host != nullptr, kInvalidValue);
  const std::optional<Allocation> found = memory().find(reinterpret_cast<DevicePointer>(host));
  HALYARD_GPU_REQUIRE(found && !found->is_on_device(), kInvalidValue);
  allocation = *found;
  return kSuccess;
}

Result allocate_managed(Call& call, DevicePointer* address, std::size_t size, unsigned flags) {
  HALYARD_GPU_REQUIRE(address != nullptr && size != 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(flags == kAttachGlobal || flags == kAttachHost, kInvalidValue);
  Allocation allocation;
  allocation.size = size;
  allocation.kind = MemoryKind::kManaged;
  allocation.flags = flags;
  allocation.device = call.context().device;
  allocation.context = &call.context();
  return allocate_memory(allocation, kAlignment, *address);
}

namespace {

// Waits before host memory that `context` allocated is freed.
void drain_for_free(Lock& lock, ContextState& context) {
  if (!rules().free_always_waits) {
    drain(lock, context);
    return;
  }
  const std::vector<std::shared_ptr<ContextState>> contexts = state().contexts;
  for (const auto& each : contexts) {
    if (!each->is_destroyed.load()) drain(lock, *each);
  }
}

}  // namespace

Result free_host(Call& call, void* host) {
  if (host == nullptr) return kSuccess;
  Allocation allocation;
  if (find_host(host, allocation) != kSuccess || allocation.kind != MemoryKind::kHost ||
      allocation.begin != reinterpret_cast<DevicePointer>(host)) {
    report_misuse("free-of-no-allocation",
                  std::string(rules().names.free_host) +
                      " was called with an address that is not the start of an allocation");
    return kInvalidValue;
  }
  drain_for_free(call.lock(), *allocation.context);
  release_allocation(allocation);
  return kSuccess;
}

Result unregister_host(Call& call, void* host) {
  HALYARD_GPU_REQUIRE(host != nullptr, kInvalidValue);
  const std::optional<Allocation> found = memory().find(reinterpret_cast<DevicePointer>(host));
  HALYARD_GPU_REQUIRE(found && found->kind == MemoryKind::kRegistered, kHostMemoryNotRegistered);
  HALYARD_GPU_REQUIRE(found->begin == reinterpret_cast<DevicePointer>(host), kInvalidValue);
  drain_for_free(call.lock(), *found->context);
  if (found->device_alias != 0) memory().remove(found->device_alias);
  release_allocation(*found);
  return kSuccess;
}

Result host_device_pointer(DevicePointer* address, void* host, unsigned flags) {
  HALYARD_GPU_REQUIRE(address != nullptr && flags == 0, kInvalidValue);
  Allocation allocation;
  if (const Result result = find_host(host, allocation); result != kSuccess) return result;
  *address = reinterpret_cast<DevicePointer>(host);
  if (allocation.device_alias != 0) *address += allocation.device_alias - allocation.begin;
  return kSuccess;
}

Result attach_memory(Stream handle, DevicePointer address, unsigned flags) {
  HALYARD_GPU_REQUIRE(flags == 1 || flags == 2 || flags == 4, kInvalidValue);
  const std::optional<Allocation> found = memory().find(address);
  HALYARD_GPU_REQUIRE(found, kInvalidValue);
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  memory().set_flags(found->begin, flags);
  return submit(*stream, EmptyWork{});
}

}  // namespace halyard::inline v0::sim::gpu
