// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cuda/peers.h"

#include "base/format.h"
#include "drivers/cuda/error.h"

namespace halyard::inline v0::cuda {

Status PeerAccess::enable(const Functions& cuda, Gpu& user, unsigned owner) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << owner;
  const bool first = (user.known & bit) == 0;
  if (!first && (user.enabled & bit) == 0) return {};
  user.known |= bit;
  int possible = 0;
  CUresult result = cuda.cuDeviceCanAccessPeer(&possible, user.device, gpus_[owner].device);
  if (result == CUDA_SUCCESS) {
    result = possible != 0 ? cuda.cuCtxEnablePeerAccess(gpus_[owner].context, 0u)
                           : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  // Another user of the context may have enabled it.
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
    user.enabled |= bit;
    return {};
  }
  return first ? Status() : to_status(result, "cuCtxEnablePeerAccess");
}

Status PeerAccess::open(const Functions& cuda, unsigned physical, CUdevice device) noexcept {
  base::LockGuard lock(mutex_);
  Gpu& gpu = gpus_[physical];
  CUcontext context = nullptr;
  HALYARD_RETURN_IF_ERROR(to_status(cuda.cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
  gpu.device = device;
  gpu.context = context;
  for (unsigned other = 0; other < kMaxDevices; ++other) {
    Gpu& its = gpus_[other];
    if (other == physical || its.devices == 0) continue;
    HALYARD_RETURN_IF_ERROR(enable(cuda, gpu, other));
    HALYARD_RETURN_IF_ERROR(to_status(cuda.cuCtxSetCurrent(its.context), "cuCtxSetCurrent"));
    const Status status = enable(cuda, its, physical);
    HALYARD_RETURN_IF_ERROR(to_status(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent"));
    HALYARD_RETURN_IF_ERROR(status);
  }
  ++gpu.devices;
  return {};
}

void PeerAccess::close(unsigned physical) noexcept {
  base::LockGuard lock(mutex_);
  --gpus_[physical].devices;
}

bool PeerAccess::enabled(unsigned user, unsigned owner) const noexcept {
  base::LockGuard lock(mutex_);
  return (gpus_[user].enabled >> owner & 1) != 0;
}

}  // namespace halyard::inline v0::cuda
