// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/memory_pool.h"

#include <new>
#include <utility>

#include "base/format.h"
#include "drivers/cuda/error.h"
#include "drivers/stream/context.h"

namespace halyard::inline v0::cuda {

MemoryPool::MemoryPool(const Functions& cuda, Ref<timeline::EntryGuard> guard) noexcept
    : cuda_(cuda), guard_(std::move(guard)) {}

// "The resources associated with the pool will be released automatically" once frees that were
// issued have completed (cuMemPoolDestroy); the same is said of a stream (cuStreamDestroy).
MemoryPool::~MemoryPool() {
  const stream::Inside inside(*guard_);
  if (stream_ != nullptr) (void)cuda_.cuStreamDestroy(stream_);
  if (pool_ != nullptr) (void)cuda_.cuMemPoolDestroy(pool_);
}

Result<Ref<MemoryPool>> MemoryPool::create(const Functions& cuda, Ref<timeline::EntryGuard> guard,
                                           const PhysicalDevice& device,
                                           const std::vector<PhysicalDevice>& all, bool peers,
                                           std::uint64_t release_threshold) {
  auto pool = Ref<MemoryPool>::adopt(new (std::nothrow) MemoryPool(cuda, std::move(guard)));
  if (!pool) return error(StatusCode::kResourceExhausted, "cuda: no memory for a memory pool");
  const stream::Inside inside(*pool->guard_);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.handle};
  const CUresult result =
      cuda.cuMemPoolCreate(&pool->pool_, const_cast<const CUmemPoolProps*>(&properties));
  if (result == CUDA_ERROR_NOT_SUPPORTED) {
    return Status(StatusCode::kUnavailable,
                  base::format("cuda: {} lacks what async_allocations=1 needs: memory pools",
                               device.name),
                  native_name(result));
  }
  HALYARD_RETURN_IF_ERROR(to_status(result, "cuMemPoolCreate"));
  HALYARD_RETURN_IF_ERROR(to_status(
      cuda.cuMemPoolSetAttribute(pool->pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                 static_cast<void*>(&release_threshold)),
      "cuMemPoolSetAttribute"));
  if (peers) HALYARD_RETURN_IF_ERROR(pool->let_peers_in(device, all));
  HALYARD_RETURN_IF_ERROR(
      to_status(cuda.cuStreamCreateWithPriority(&pool->stream_, CU_STREAM_NON_BLOCKING, 0),
                "cuStreamCreateWithPriority"));
  return pool;
}

// cuCtxEnablePeerAccess does not reach memory of pools.
Status MemoryPool::let_peers_in(const PhysicalDevice& device,
                                const std::vector<PhysicalDevice>& all) const {
  for (const PhysicalDevice& user : all) {
    if (user.handle == device.handle) continue;
    int possible = 0;
    HALYARD_RETURN_IF_ERROR(
        to_status(cuda_.cuDeviceCanAccessPeer(&possible, user.handle, device.handle),
                  "cuDeviceCanAccessPeer"));
    if (possible == 0) continue;
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, user.handle},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    HALYARD_RETURN_IF_ERROR(to_status(
        cuda_.cuMemPoolSetAccess(pool_, &access, std::size_t{1}), "cuMemPoolSetAccess"));
  }
  return {};
}

// Other streams may use the memory once the allocation has ended in its own: that holds nothing but
// allocations and frees. Memory whose free has not ended there yet may be what is missing.
CUresult MemoryPool::allocate(CUdeviceptr& address, std::size_t size) const noexcept {
  const auto once = [&] { return cuda_.cuMemAllocFromPoolAsync(&address, size, pool_, stream_); };
  CUresult result = once();
  if (result == CUDA_ERROR_OUT_OF_MEMORY && cuda_.cuStreamSynchronize(stream_) == CUDA_SUCCESS) {
    result = once();
  }
  if (result != CUDA_SUCCESS) return result;
  result = cuda_.cuStreamSynchronize(stream_);
  if (result != CUDA_SUCCESS) free(address);
  return result;
}

void MemoryPool::free(CUdeviceptr address) const noexcept {
  (void)cuda_.cuMemFreeAsync(address, stream_);
}

}  // namespace halyard::inline v0::cuda
