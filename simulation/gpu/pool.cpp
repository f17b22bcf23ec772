// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/gpu/pool.h"

#include <algorithm>
#include <cstring>

#include "simulation/gpu/capture.h"
#include "simulation/gpu/graph.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/rules.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::gpu {
namespace {

enum PoolAttribute : int {
  kReuseFirst = 1,
  kReuseLast = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,
  kUsedCurrent = 7,
  kUsedHigh = 8,
};

}  // namespace

Pool default_pool(DeviceId device) {
  DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  if (of.default_pool == nullptr) {
    auto pool = std::make_shared<PoolState>();
    pool->device = device;
    pool->is_default = true;
    pool->access = std::uint64_t{1} << device;
    of.default_pool = make_handle(std::move(pool));
    if (of.current_pool == nullptr) of.current_pool = of.default_pool;
  }
  return of.default_pool;
}

Pool current_pool(DeviceId device) {
  default_pool(device);
  return state().devices[static_cast<std::size_t>(device)].current_pool;
}

namespace {

// In null mode the memory has no contents, so an allocation of the same size may reuse it at once.
bool reuse(PoolState& pool, const StreamState& stream, Allocation& allocation,
           DevicePointer& address) {
  if (!takes_nothing(stream)) return false;
  const auto at = pool.spare.find(allocation.size);
  if (at == pool.spare.end() || at->second.empty() ||
      allocation.size > options().memory_bytes - memory().used(pool.device)) {
    return false;
  }
  allocation.id = state().next_id++;
  memory().reuse(*at->second.back(), allocation);
  at->second.pop_back();
  address = allocation.begin;
  return true;
}

// Frees stream-ordered memory in null mode, if no work in flight may use it. Returns false if the
// stream has to free it.
bool retire(StreamState& stream, const Place& place) {
  const Allocation& allocation = place.allocation;
  if (!takes_nothing(stream) || !is_complete(stream) || !stream.waits.empty() ||
      allocation.kind != MemoryKind::kPool || allocation.pool == nullptr ||
      !is_handle(allocation.pool)) {
    return false;
  }
  PoolState& pool = *allocation.pool->object;
  const std::size_t size = allocation.size;
  Allocation* const entry = memory().retire(place);
  if (entry == nullptr) return false;
  pool.used -= size;
  pool.spare[size].push_back(entry);
  return true;
}

}  // namespace

Result allocate_async(DevicePointer* address, std::size_t size, Pool handle, StreamState* stream) {
  HALYARD_GPU_REQUIRE(address != nullptr, kInvalidValue);
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(size != 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(pool->max_size == 0 || size <= pool->max_size - pool->used, kOutOfMemory);
  if (stream->capture == nullptr) {  // as on an H200; cuda.h does not say
    if (const Result result = Call::check_captures(this_thread()); result != kSuccess) {
      return result;
    }
  }
  Allocation allocation;
  allocation.size = size;
  allocation.kind = MemoryKind::kPool;
  allocation.device = pool->device;
  allocation.context = stream->context;
  allocation.pool = stream->capture != nullptr ? nullptr : handle;
  allocation.access = pool->access;
  if (!reuse(*pool, *stream, allocation, *address)) {
    const Result result = allocate_memory(allocation, 512, *address);
    if (result != kSuccess) return result;
  }
  if (stream->capture != nullptr) {
    std::shared_ptr<GraphMemory> node = make_graph_memory(*address);
    node->pool.type = kPinned;
    node->pool.location = {kLocationDevice, pool->device};
    return submit(*stream, AllocNodeWork{std::move(node), size});
  }
  pool->used += size;
  pool->used_high = std::max(pool->used_high, pool->used);
  return takes_nothing(*stream) ? check_stream(*stream) : submit(*stream, EmptyWork{});
}

Result free_async(DevicePointer address, Stream handle) {
  StreamState* const stream = find_stream(handle);
  HALYARD_GPU_REQUIRE(stream != nullptr, stream_error(handle));
  if (address == 0) return kSuccess;
  if (stream->capture != nullptr) {
    Work work;
    const Result result = make_free_node(*stream->capture->graph, address, work);
    return result == kSuccess ? submit(*stream, std::move(work)) : result;
  }
  const Place& place = memory().place(address);
  if (place.is_freed) {
    report_misuse("double-free",
                  std::string(rules().names.free_async) + " was called twice for the same memory");
    return kInvalidValue;
  }
  const Allocation& found = place.allocation;
  HALYARD_GPU_REQUIRE(place.is_allocated && found.begin == address &&
                          found.kind != MemoryKind::kVariable &&
                          found.kind != MemoryKind::kMapped && found.is_on_device(),
                      kInvalidValue);
  if (const Result result = check_stream(*stream); result != kSuccess) return result;
  if (const std::shared_ptr<GraphMemory> of_node = graph_memory_at(address)) {
    const Result result = free_graph_memory(*of_node);
    return result == kSuccess ? submit(*stream, FreeWork{address, of_node}) : result;
  }
  if (retire(*stream, place)) return kSuccess;
  memory().mark_freed(address);
  return submit(*stream, FreeWork{address, nullptr});
}

Result set_current_pool(DeviceId device, Pool handle) {
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr && pool->device == device, kInvalidValue);
  default_pool(device);
  state().devices[static_cast<std::size_t>(device)].current_pool = handle;
  return kSuccess;
}

Result create_pool(Pool* pool, const PoolProperties* properties) {
  HALYARD_GPU_REQUIRE(pool != nullptr && properties != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(properties->type == kPinned, kInvalidValue);
  HALYARD_GPU_REQUIRE(properties->handle_types == 0, kNotSupported);
  HALYARD_GPU_REQUIRE(properties->location.type == kLocationDevice, kNotSupported);
  HALYARD_GPU_REQUIRE(is_device(properties->location.id), kInvalidDevice);
  auto made = std::make_shared<PoolState>();
  made->device = properties->location.id;
  made->access = std::uint64_t{1} << made->device;
  made->max_size = properties->max_size;
  *pool = make_handle(std::move(made));
  ++state().live_pools;
  return kSuccess;
}

Result destroy_pool(Pool handle) {
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr && !pool->is_default, kInvalidValue);
  DeviceState& device = state().devices[static_cast<std::size_t>(pool->device)];
  // cuda.h, cuMemPoolDestroy: "the default mempool of that device becomes the current mempool"
  if (device.current_pool == handle) device.current_pool = default_pool(pool->device);
  for (const auto& [size, entries] : pool->spare) {
    for (const Allocation* const entry : entries) memory().remove(entry->begin);
  }
  end_handle(handle);
  --state().live_pools;
  return kSuccess;
}

Result pool_attribute(Pool handle, int which, void* value) {
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr && value != nullptr, kInvalidValue);
  if (which >= kReuseFirst && which <= kReuseLast) {
    *static_cast<int*>(value) = pool->reuse[which - kReuseFirst];
    return kSuccess;
  }
  std::uint64_t number = 0;
  switch (which) {
    case kReleaseThreshold:
      number = pool->release_threshold;
      break;
    case kReservedCurrent:
    case kUsedCurrent:
      number = pool->used;
      break;
    case kReservedHigh:
    case kUsedHigh:
      number = pool->used_high;
      break;
    default:
      return kInvalidValue;
  }
  std::memcpy(value, &number, sizeof number);
  return kSuccess;
}

Result set_pool_attribute(Pool handle, int which, void* value) {
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr && value != nullptr, kInvalidValue);
  if (which >= kReuseFirst && which <= kReuseLast) {
    pool->reuse[which - kReuseFirst] = *static_cast<const int*>(value);
    return kSuccess;
  }
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  if (which == kReleaseThreshold) {
    pool->release_threshold = number;
    return kSuccess;
  }
  // cuda.h, CUmemPool_attribute: the high watermarks can be reset to zero only.
  HALYARD_GPU_REQUIRE((which == kReservedHigh || which == kUsedHigh) && number == 0, kInvalidValue);
  pool->used_high = pool->used;
  return kSuccess;
}

Result set_pool_access(Pool handle, const AccessDescription* list, std::size_t count) {
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr && (list != nullptr || count == 0), kInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    HALYARD_GPU_REQUIRE(list[i].location.type == kLocationDevice, kInvalidValue);
    HALYARD_GPU_REQUIRE(is_device(list[i].location.id), kInvalidDevice);
    const std::uint64_t bit = std::uint64_t{1} << list[i].location.id;
    if (list[i].flags != 0) {
      pool->access |= bit;
    } else {
      HALYARD_GPU_REQUIRE(list[i].location.id != pool->device, kInvalidDevice);
      pool->access &= ~bit;
    }
  }
  for (const auto& context : state().contexts) {
    for (const Allocation& allocation : memory().of(context.get())) {
      if (allocation.pool == handle) memory().set_access(allocation.begin, pool->access);
    }
  }
  return kSuccess;
}

Result pool_access(int* flags, Pool handle, Location* location) {
  PoolState* const pool = resolve(handle);
  HALYARD_GPU_REQUIRE(pool != nullptr && flags != nullptr && location != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(location->id), kInvalidDevice);
  *flags = (pool->access >> location->id & 1) != 0 ? 3 : 0;
  return kSuccess;
}

}  // namespace halyard::inline v0::sim::gpu
