// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, pools and peers of CUDA, as the stream driver asks for them
// (drivers/stream/device_api.h).
#include <cstddef>
#include <cstdint>

#include "base/format.h"
#include "drivers/cuda/api.h"
#include "drivers/cuda/error.h"

namespace halyard::inline v0::cuda {
namespace {

// to_status(cuda->name(...), "name")
#define HALYARD_CUDA_CALL(function, ...) to_status(cuda->function(__VA_ARGS__), #function)

}  // namespace

Status CudaApi::allocate(std::uint64_t& address, std::uint64_t size) const noexcept {
  CUdeviceptr pointer = 0;
  HALYARD_RETURN_IF_ERROR(HALYARD_CUDA_CALL(cuMemAlloc, &pointer, std::size_t{size}));
  address = pointer;
  return {};
}
Status CudaApi::allocate_managed(std::uint64_t& address, std::uint64_t size) const noexcept {
  CUdeviceptr pointer = 0;
  HALYARD_RETURN_IF_ERROR(
      HALYARD_CUDA_CALL(cuMemAllocManaged, &pointer, std::size_t{size}, CU_MEM_ATTACH_GLOBAL));
  address = pointer;
  return {};
}
void CudaApi::free(std::uint64_t address) const noexcept {
  (void)cuda->cuMemFree(CUdeviceptr{address});
}

// Unified addressing: pinned memory has one address.
Status CudaApi::allocate_host(stream::HostMemory& memory, std::uint64_t size) const noexcept {
  HALYARD_RETURN_IF_ERROR(HALYARD_CUDA_CALL(cuMemHostAlloc, &memory.pointer, std::size_t{size},
                                            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  memory.address = reinterpret_cast<std::uintptr_t>(memory.pointer);
  return {};
}
void CudaApi::free_host(void* pointer) const noexcept { (void)cuda->cuMemFreeHost(pointer); }

// An H200 with driver 580 answers CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED for what
// cuMemHostRegister pinned, and CUDA_ERROR_INVALID_VALUE for what cuMemHostAlloc or
// cuMemAllocManaged allocated.
Status CudaApi::register_host(void* pointer, std::uint64_t size) const noexcept {
  const CUresult result = cuda->cuMemHostRegister(
      pointer, std::size_t{size}, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  const Status status = to_status(result, "cuMemHostRegister");
  if (result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) return status;
  return Status(StatusCode::kFailedPrecondition, status.message(), status.native_error());
}
void CudaApi::unregister_host(void* pointer) const noexcept {
  (void)cuda->cuMemHostUnregister(pointer);
}
Status CudaApi::device_address(void* pointer, std::uint64_t& address) const noexcept {
  CUdeviceptr found = 0;
  CUresult result = cuda->cuMemHostGetDevicePointer(&found, pointer, 0u);
  if (result != CUDA_SUCCESS) {
    result =
        cuda->cuPointerGetAttribute(static_cast<void*>(&found), CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                    reinterpret_cast<std::uintptr_t>(pointer));
  }
  address = found;
  return to_status(result, "cuPointerGetAttribute");
}

// CUDA answers CUDA_ERROR_INVALID_VALUE for addresses that it does not know.
Status CudaApi::find_owner(std::uint64_t address, int& ordinal) const noexcept {
  unsigned type = 0;
  int its = -1;
  CUresult result = cuda->cuPointerGetAttribute(static_cast<void*>(&type),
                                                CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  if (result == CUDA_SUCCESS) {
    result = cuda->cuPointerGetAttribute(static_cast<void*>(&its),
                                         CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  }
  const bool is_known = result != CUDA_ERROR_INVALID_VALUE;
  ordinal = is_known && type == CU_MEMORYTYPE_DEVICE ? its : -1;
  return is_known ? to_status(result, "cuPointerGetAttribute") : Status();
}

Status CudaApi::create_pool(int ordinal, Pool& pool) const noexcept {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return HALYARD_CUDA_CALL(cuMemPoolCreate, &pool, const_cast<const CUmemPoolProps*>(&properties));
}
Status CudaApi::set_release_threshold(Pool pool, std::uint64_t size) const noexcept {
  return HALYARD_CUDA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                           static_cast<void*>(&size));
}
Status CudaApi::share_pool(Pool pool, int ordinal) const noexcept {
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, ordinal},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return HALYARD_CUDA_CALL(cuMemPoolSetAccess, pool, &access, std::size_t{1});
}
void CudaApi::destroy(Pool pool) const noexcept { (void)cuda->cuMemPoolDestroy(pool); }
Status CudaApi::allocate_from(Pool pool, Stream stream, std::uint64_t& address,
                              std::uint64_t size) const noexcept {
  CUdeviceptr pointer = 0;
  HALYARD_RETURN_IF_ERROR(
      HALYARD_CUDA_CALL(cuMemAllocFromPoolAsync, &pointer, std::size_t{size}, pool, stream));
  address = pointer;
  return {};
}
void CudaApi::free_async(std::uint64_t address, Stream stream) const noexcept {
  (void)cuda->cuMemFreeAsync(CUdeviceptr{address}, stream);
}

Status CudaApi::can_access_peer(int user, int owner, bool& possible) const noexcept {
  int answer = 0;
  const Status status = HALYARD_CUDA_CALL(cuDeviceCanAccessPeer, &answer, user, owner);
  possible = answer != 0;
  return status;
}
// Another user of the context may have enabled it.
Status CudaApi::enable_peer_access(Context owner) const noexcept {
  const CUresult result = cuda->cuCtxEnablePeerAccess(owner, 0u);
  return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
             ? Status()
             : to_status(result, "cuCtxEnablePeerAccess");
}

Status CudaApi::priority_range(int& least, int& greatest) const noexcept {
  return HALYARD_CUDA_CALL(cuCtxGetStreamPriorityRange, &least, &greatest);
}

Status CudaApi::check_import(Stream stream) const {
  if (stream == nullptr ||
      reinterpret_cast<std::uintptr_t>(stream) == CU_STREAM_PER_THREAD_AS_INT) {
    return Status(StatusCode::kInvalidArgument,
                  "cuda: null and CU_STREAM_PER_THREAD are no streams of their own; the legacy "
                  "default stream is CU_STREAM_LEGACY");
  }
  CUcontext own = nullptr, its = nullptr;
  HALYARD_RETURN_IF_ERROR(current_context(own));
  HALYARD_RETURN_IF_ERROR(HALYARD_CUDA_CALL(cuStreamGetCtx, stream, &its));
  if (its == own) return {};
  return Status(StatusCode::kPermissionDenied, "cuda: the stream is of another context");
}

}  // namespace halyard::inline v0::cuda
