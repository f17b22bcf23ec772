// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PeerAccess: which GPUs of a library use each other's memory. Access is between contexts, and a
// primary context ends with its last user; so it is enabled whenever a device opens, with all that
// are open.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "drivers/cuda/functions.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::cuda {

inline constexpr unsigned kMaxDevices = 64;

class PeerAccess {
 public:
  // A device on GPU `physical`, whose context is current, opens. Where CUDA refuses access between
  // two GPUs the first time, they have none; later, that is the error.
  Status open(const Functions& cuda, unsigned physical, CUdevice device) noexcept;
  // It is closed.
  void close(unsigned physical) noexcept;

  // Whether kernels on `user` may use memory of `owner`. Both were open at one time; constant from
  // then on.
  bool enabled(unsigned user, unsigned owner) const noexcept;

 private:
  struct Gpu {
    unsigned devices = 0;  // open on it
    CUdevice device = 0;
    CUcontext context = nullptr;
    std::uint64_t known = 0;    // bit k: whether it can use memory of GPU k has been asked
    std::uint64_t enabled = 0;  // bit k: it can
  };
  // Of the current context of `user`.
  Status enable(const Functions& cuda, Gpu& user, unsigned owner) noexcept;

  mutable base::Mutex mutex_;  // guards the rest
  Gpu gpus_[kMaxDevices];
};

}  // namespace halyard::inline v0::cuda
