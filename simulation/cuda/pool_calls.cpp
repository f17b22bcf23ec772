// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream-ordered memory and its pools.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/pool.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuMemAllocAsync(DevicePointer* address, std::size_t size, Stream stream) {
  HALYARD_GPU_CALL(cuMemAllocAsync, kNamed);
  StreamState* const of = find_stream(stream);
  HALYARD_GPU_REQUIRE(of != nullptr, stream_error(stream));
  return allocate_async(address, size, current_pool(of->context->device), of);
}

HALYARD_GPU_EXPORT Result cuMemAllocFromPoolAsync(DevicePointer* address, std::size_t size,
                                                  Pool pool, Stream stream) {
  HALYARD_GPU_CALL(cuMemAllocFromPoolAsync, kNamed);
  StreamState* const of = find_stream(stream);
  HALYARD_GPU_REQUIRE(of != nullptr, stream_error(stream));
  return allocate_async(address, size, pool, of);
}

HALYARD_GPU_EXPORT Result cuMemFreeAsync(DevicePointer address, Stream handle) {
  HALYARD_GPU_CALL(cuMemFreeAsync, kNamed);
  return free_async(address, handle);
}

HALYARD_GPU_EXPORT Result cuDeviceGetDefaultMemPool(Pool* pool, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetDefaultMemPool, kInitialized);
  HALYARD_GPU_REQUIRE(pool != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  *pool = default_pool(device);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceGetMemPool(Pool* pool, DeviceId device) {
  HALYARD_GPU_CALL(cuDeviceGetMemPool, kInitialized);
  HALYARD_GPU_REQUIRE(pool != nullptr, kInvalidValue);
  HALYARD_GPU_REQUIRE(is_device(device), kInvalidDevice);
  *pool = current_pool(device);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuDeviceSetMemPool(DeviceId device, Pool handle) {
  HALYARD_GPU_CALL(cuDeviceSetMemPool, kInitialized);
  return set_current_pool(device, handle);
}

HALYARD_GPU_EXPORT Result cuMemPoolCreate(Pool* pool, const PoolProperties* properties) {
  HALYARD_GPU_CALL(cuMemPoolCreate, kInitialized);
  return create_pool(pool, properties);
}

HALYARD_GPU_EXPORT Result cuMemPoolDestroy(Pool handle) {
  HALYARD_GPU_CALL(cuMemPoolDestroy, kInitialized);
  return destroy_pool(handle);
}

HALYARD_GPU_EXPORT Result cuMemPoolTrimTo(Pool handle, std::size_t) {
  HALYARD_GPU_CALL(cuMemPoolTrimTo, kInitialized);
  HALYARD_GPU_REQUIRE(resolve(handle) != nullptr, kInvalidValue);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuMemPoolGetAttribute(Pool handle, int which, void* value) {
  HALYARD_GPU_CALL(cuMemPoolGetAttribute, kInitialized);
  return pool_attribute(handle, which, value);
}

HALYARD_GPU_EXPORT Result cuMemPoolSetAttribute(Pool handle, int which, void* value) {
  HALYARD_GPU_CALL(cuMemPoolSetAttribute, kInitialized);
  return set_pool_attribute(handle, which, value);
}

HALYARD_GPU_EXPORT Result cuMemPoolSetAccess(Pool handle, const AccessDescription* list,
                                             std::size_t count) {
  HALYARD_GPU_CALL(cuMemPoolSetAccess, kInitialized);
  return set_pool_access(handle, list, count);
}

HALYARD_GPU_EXPORT Result cuMemPoolGetAccess(int* flags, Pool handle, Location* location) {
  HALYARD_GPU_CALL(cuMemPoolGetAccess, kInitialized);
  return pool_access(flags, handle, location);
}

HALYARD_GPU_PER_THREAD(cuMemAllocAsync, _ptsz, 3)
HALYARD_GPU_PER_THREAD(cuMemAllocFromPoolAsync, _ptsz, 4)
HALYARD_GPU_PER_THREAD(cuMemFreeAsync, _ptsz, 2)
}  // namespace halyard::inline v0::sim::cuda
