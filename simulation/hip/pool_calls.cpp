// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream-ordered memory.
#include <cstring>

#include "simulation/gpu/pool.h"
#include "simulation/hip/device.h"
#include "simulation/hip/stream.h"

namespace halyard::inline v0::sim::hip {
namespace {

// A null pool selects the pool of the stream's device. hip_mempool.cpp returns
// hipErrorInvalidHandle for a bad stream in all versions.
Result allocate(void** pointer, std::size_t size, Pool pool, Stream stream, bool is_of_pool) {
  HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(settings().has_pools, gpu::kNotSupported);
  HALYARD_GPU_REQUIRE(!is_of_pool || pool != nullptr, gpu::kInvalidValue);
  HALYARD_HIP_HANDLE(stream, gpu::kInvalidHandle);
  *pointer = nullptr;
  if (size == 0) return kSuccess;
  gpu::StreamState& of = *gpu::find_stream(stream);
  if (of.capture == nullptr && has_bug(Bug::kFailingPools)) return gpu::kOutOfMemory;
  DevicePointer address = 0;
  const Result result = gpu::allocate_async(
      &address, size, is_of_pool ? pool : gpu::current_pool(of.context->device), &of);
  if (result == kSuccess) *pointer = pointer_to(address);
  return result;
}

unsigned needs_of_pools() {
  return is_since(kVersion70) ? gpu::kInitialized | gpu::kUnsafeInCapture : gpu::kInitialized;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipMallocAsync(void** pointer, std::size_t size, Stream stream) {
  HALYARD_HIP_CALL(hipMallocAsync, gpu::kCurrent) {
    return allocate(pointer, size, nullptr, stream, false);
  };
}

HALYARD_HIP_EXPORT Result hipMallocFromPoolAsync(void** pointer, std::size_t size, Pool pool,
                                                 Stream stream) {
  HALYARD_HIP_CALL(hipMallocFromPoolAsync, gpu::kCurrent) {
    return allocate(pointer, size, pool, stream, true);
  };
}

HALYARD_HIP_EXPORT Result hipFreeAsync(void* pointer, Stream stream) {
  HALYARD_HIP_CALL(hipFreeAsync, gpu::kCurrent) {
    HALYARD_GPU_REQUIRE(pointer != nullptr, gpu::kInvalidValue);  // CUDA has no error
    HALYARD_HIP_HANDLE(stream, gpu::kInvalidHandle);
    return gpu::free_async(address_of(pointer), stream);
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetDefaultMemPool(Pool* pool, int device) {
  HALYARD_HIP_CALL(hipDeviceGetDefaultMemPool, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(pool != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(gpu::is_device(device), gpu::kInvalidDevice);
    *pool = gpu::default_pool(device);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceGetMemPool(Pool* pool, int device) {
  HALYARD_HIP_CALL(hipDeviceGetMemPool, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(pool != nullptr && gpu::is_device(device), gpu::kInvalidValue);
    *pool = gpu::current_pool(device);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipDeviceSetMemPool(int device, Pool pool) {
  HALYARD_HIP_CALL(hipDeviceSetMemPool, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(pool != nullptr && gpu::is_device(device), gpu::kInvalidValue);
    const gpu::PoolState* const of = gpu::resolve(pool);
    HALYARD_GPU_REQUIRE(of != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(of->device == device, gpu::kInvalidDevice);
    return gpu::set_current_pool(device, pool);
  };
}

HALYARD_HIP_EXPORT Result hipMemPoolCreate(Pool* pool, const PoolProperties* properties) {
  HALYARD_HIP_CALL(hipMemPoolCreate, needs_of_pools()) {
    HALYARD_GPU_REQUIRE(pool != nullptr && properties != nullptr, gpu::kInvalidValue);
    // hip_mempool.cpp:294: anything other than pinned memory of a device is an invalid value
    HALYARD_GPU_REQUIRE(properties->type == gpu::kPinned &&
                            properties->location.type == gpu::kLocationDevice &&
                            gpu::is_device(properties->location.id),
                        gpu::kInvalidValue);
    gpu::PoolProperties of{};
    of.type = properties->type;
    of.handle_types = properties->handle_types;
    of.location = properties->location;
    of.max_size = is_since(kVersion60) ? properties->max_size : 0;
    return gpu::create_pool(pool, &of);
  };
}

HALYARD_HIP_EXPORT Result hipMemPoolDestroy(Pool pool) {
  HALYARD_HIP_CALL(hipMemPoolDestroy, needs_of_pools()) { return gpu::destroy_pool(pool); };
}

HALYARD_HIP_EXPORT Result hipMemPoolTrimTo(Pool pool, std::size_t) {
  HALYARD_HIP_CALL(hipMemPoolTrimTo, gpu::kInitialized) {
    return gpu::resolve(pool) != nullptr ? kSuccess : gpu::kInvalidValue;
  };
}

HALYARD_HIP_EXPORT Result hipMemPoolGetAttribute(Pool pool, int which, void* value) {
  HALYARD_HIP_CALL(hipMemPoolGetAttribute, gpu::kInitialized) {
    return gpu::pool_attribute(pool, which, value);
  };
}

HALYARD_HIP_EXPORT Result hipMemPoolSetAttribute(Pool pool, int which, void* value) {
  HALYARD_HIP_CALL(hipMemPoolSetAttribute, gpu::kInitialized) {
    return gpu::set_pool_attribute(pool, which, value);
  };
}

HALYARD_HIP_EXPORT Result hipMemPoolSetAccess(Pool pool, const AccessDescription* list,
                                              std::size_t count) {
  HALYARD_HIP_CALL(hipMemPoolSetAccess, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(pool != nullptr && list != nullptr, gpu::kInvalidValue);
    HALYARD_GPU_REQUIRE(count <= state().devices.size(), gpu::kInvalidDevice);
    for (std::size_t i = 0; i < count; ++i) {
      HALYARD_GPU_REQUIRE(list[i].location.type == gpu::kLocationDevice, gpu::kInvalidValue);
      // hip_mempool.cpp: access cannot be revoked
      HALYARD_GPU_REQUIRE(gpu::is_device(list[i].location.id) && list[i].flags != 0,
                          gpu::kInvalidDevice);
    }
    return gpu::set_pool_access(pool, list, count);
  };
}

HALYARD_HIP_EXPORT Result hipMemPoolGetAccess(int* flags, Pool pool, Location* location) {
  HALYARD_HIP_CALL(hipMemPoolGetAccess, gpu::kInitialized) {
    HALYARD_GPU_REQUIRE(location != nullptr && location->type == gpu::kLocationDevice &&
                            gpu::is_device(location->id),
                        gpu::kInvalidValue);
    return gpu::pool_access(flags, pool, location);
  };
}

namespace {

// Pools by location, since 7.14. Only locations of devices.
Result device_of(const Location* location, int type, DeviceId& device) {
  HALYARD_GPU_REQUIRE(location != nullptr && type == gpu::kPinned, gpu::kInvalidValue);
  HALYARD_GPU_REQUIRE(location->type == gpu::kLocationDevice, gpu::kNotSupported);
  HALYARD_GPU_REQUIRE(gpu::is_device(location->id), gpu::kInvalidValue);
  device = location->id;
  return kSuccess;
}

}  // namespace

HALYARD_HIP_EXPORT Result hipMemGetDefaultMemPool(Pool* pool, Location* location, int type) {
  HALYARD_HIP_CALL(hipMemGetDefaultMemPool, gpu::kInitialized) {
    DeviceId device = 0;
    const Result result = device_of(location, type, device);
    if (result != kSuccess) return result;
    HALYARD_GPU_REQUIRE(pool != nullptr, gpu::kInvalidValue);
    *pool = gpu::default_pool(device);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipMemGetMemPool(Pool* pool, Location* location, int type) {
  HALYARD_HIP_CALL(hipMemGetMemPool, gpu::kInitialized) {
    DeviceId device = 0;
    const Result result = device_of(location, type, device);
    if (result != kSuccess) return result;
    HALYARD_GPU_REQUIRE(pool != nullptr, gpu::kInvalidValue);
    *pool = gpu::current_pool(device);
    return kSuccess;
  };
}

HALYARD_HIP_EXPORT Result hipMemSetMemPool(Location* location, int type, Pool pool) {
  HALYARD_HIP_CALL(hipMemSetMemPool, gpu::kInitialized) {
    DeviceId device = 0;
    const Result result = device_of(location, type, device);
    return result == kSuccess ? gpu::set_current_pool(device, pool) : result;
  };
}

}  // namespace halyard::inline v0::sim::hip
