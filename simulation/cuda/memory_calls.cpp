// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of device, host and managed memory.
#include "simulation/cuda/abi.h"
#include "simulation/gpu/allocation.h"
#include "simulation/gpu/options.h"
#include "simulation/gpu/per_thread.h"
#include "simulation/gpu/stream.h"

namespace halyard::inline v0::sim::cuda {

HALYARD_GPU_EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  HALYARD_GPU_CALL(cuMemGetInfo_v2, kCurrent);
  HALYARD_GPU_REQUIRE(free != nullptr && total != nullptr, kInvalidValue);
  *total = options().memory_bytes;
  *free = *total - memory().used(call.context().device);
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuMemAlloc_v2(DevicePointer* address, std::size_t size) {
  HALYARD_GPU_CALL(cuMemAlloc_v2, kCurrent | kUnsafeInCapture);
  return allocate_device(call, address, size);
}

HALYARD_GPU_EXPORT Result cuMemAllocPitch_v2(DevicePointer* address, std::size_t* pitch,
                                             std::size_t width, std::size_t height,
                                             unsigned element) {
  HALYARD_GPU_CALL(cuMemAllocPitch_v2, kCurrent | kUnsafeInCapture);
  HALYARD_GPU_REQUIRE(pitch != nullptr && width != 0 && height != 0, kInvalidValue);
  HALYARD_GPU_REQUIRE(element == 4 || element == 8 || element == 16, kInvalidValue);
  *pitch = (width + kAlignment - 1) / kAlignment * kAlignment;
  return allocate_device(call, address, *pitch * height);
}

HALYARD_GPU_EXPORT Result cuMemFree_v2(DevicePointer address) {
  HALYARD_GPU_CALL(cuMemFree_v2, kNamed | kUnsafeInCapture);
  return free_device(call, address);
}

HALYARD_GPU_EXPORT Result cuMemAllocManaged(DevicePointer* address, std::size_t size,
                                            unsigned flags) {
  HALYARD_GPU_CALL(cuMemAllocManaged, kCurrent | kUnsafeInCapture);
  return allocate_managed(call, address, size, flags);
}

HALYARD_GPU_EXPORT Result cuMemAllocHost_v2(void** host, std::size_t size) {
  HALYARD_GPU_CALL(cuMemAllocHost_v2, kCurrent | kUnsafeInCapture);
  return allocate_host(call, host, size, kHostPortable);
}

HALYARD_GPU_EXPORT Result cuMemHostAlloc(void** host, std::size_t size, unsigned flags) {
  HALYARD_GPU_CALL(cuMemHostAlloc, kCurrent | kUnsafeInCapture);
  return allocate_host(call, host, size, flags);
}

HALYARD_GPU_EXPORT Result cuMemFreeHost(void* host) {
  HALYARD_GPU_CALL(cuMemFreeHost, kInitialized | kUnsafeInCapture);
  return free_host(call, host);
}

HALYARD_GPU_EXPORT Result cuMemHostRegister_v2(void* host, std::size_t size, unsigned flags) {
  HALYARD_GPU_CALL(cuMemHostRegister_v2, kCurrent | kUnsafeInCapture);
  return register_host(call, host, size, flags);
}

HALYARD_GPU_EXPORT Result cuMemHostRegister(void* host, std::size_t size, unsigned flags) {
  HALYARD_GPU_CALL(cuMemHostRegister, kCurrent | kUnsafeInCapture);
  return register_host(call, host, size, flags);
}

HALYARD_GPU_EXPORT Result cuMemHostUnregister(void* host) {
  HALYARD_GPU_CALL(cuMemHostUnregister, kInitialized | kUnsafeInCapture);
  return unregister_host(call, host);
}

HALYARD_GPU_EXPORT Result cuMemHostGetDevicePointer_v2(DevicePointer* address, void* host,
                                                       unsigned flags) {
  HALYARD_GPU_CALL(cuMemHostGetDevicePointer_v2, kNamed);
  return host_device_pointer(address, host, flags);
}

HALYARD_GPU_EXPORT Result cuMemHostGetFlags(unsigned* flags, void* host) {
  HALYARD_GPU_CALL(cuMemHostGetFlags, kNamed);
  HALYARD_GPU_REQUIRE(flags != nullptr, kInvalidValue);
  Allocation allocation;
  if (const Result result = find_host(host, allocation); result != kSuccess) return result;
  HALYARD_GPU_REQUIRE(allocation.kind == MemoryKind::kHost, kInvalidValue);
  *flags = allocation.flags;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* size,
                                                  DevicePointer address) {
  HALYARD_GPU_CALL(cuMemGetAddressRange_v2, kNamed);
  const std::optional<Allocation> found = memory().find(address);
  HALYARD_GPU_REQUIRE(found, kNotFound);
  if (base != nullptr) *base = found->begin;
  if (size != nullptr) *size = found->size;
  return kSuccess;
}

HALYARD_GPU_EXPORT Result cuStreamAttachMemAsync(Stream handle, DevicePointer address, std::size_t,
                                                 unsigned flags) {
  HALYARD_GPU_CALL(cuStreamAttachMemAsync, kNamed);
  return attach_memory(handle, address, flags);
}

HALYARD_GPU_PER_THREAD(cuStreamAttachMemAsync, _ptsz, 4)
}  // namespace halyard::inline v0::sim::cuda
