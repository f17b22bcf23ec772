// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PeerAccess: which GPUs of a library use each other's memory. Access is between contexts, and a
// context may end with its last user. So whenever a device opens, access is enabled with all open
// devices.
#pragma once

#include <cstdint>

#include "base/format.h"
#include "base/mutex.h"
#include "drivers/stream/device_api.h"
#include "halyard/base/status.h"

namespace halyard::inline v0::stream {

inline constexpr unsigned kMaxDevices = 64;

template <class Api>
class PeerAccess {
 public:
  // A device on GPU `physical` opens. If the library refuses access between two GPUs the first
  // time, they have none; a later refusal is an error. Returns kUnavailable if `context`, the
  // device's own, could not be made current.
  Status open(const Api& api, unsigned physical, int device,
              typename Api::Context context) noexcept {
    base::LockGuard lock(mutex_);
    Gpu& gpu = gpus_[physical];
    typename Api::Context current{};
    HALYARD_RETURN_IF_ERROR(api.current_context(current));
    if (current != context) {
      return error(StatusCode::kUnavailable, "{}: device {} could not be made current",
                   Api::kDriver, device);
    }
    gpu.device = device;
    gpu.context = context;
    for (unsigned other = 0; other < kMaxDevices; ++other) {
      Gpu& its = gpus_[other];
      if (other == physical || its.devices == 0) continue;
      HALYARD_RETURN_IF_ERROR(enable(api, gpu, other));
      HALYARD_RETURN_IF_ERROR(api.set_current_context(its.context));
      const Status status = enable(api, its, physical);
      HALYARD_RETURN_IF_ERROR(api.set_current_context(context));
      HALYARD_RETURN_IF_ERROR(status);
    }
    ++gpu.devices;
    return {};
  }
  // The device on GPU `physical` is closed.
  void close(unsigned physical) noexcept {
    base::LockGuard lock(mutex_);
    --gpus_[physical].devices;
  }

  // Whether kernels on `user` may use memory of `owner`. Constant once both have been open at the
  // same time.
  bool enabled(unsigned user, unsigned owner) const noexcept {
    base::LockGuard lock(mutex_);
    return (gpus_[user].enabled >> owner & 1) != 0;
  }

 private:
  struct Gpu {
    unsigned devices = 0;  // open on it
    int device = 0;
    typename Api::Context context{};
    std::uint64_t known = 0;    // bit k: access to memory of GPU k was tried
    std::uint64_t enabled = 0;  // bit k: it can use memory of GPU k
  };

  // Precondition: the context of `user` is current.
  Status enable(const Api& api, Gpu& user, unsigned owner) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << owner;
    const bool first = (user.known & bit) == 0;
    if (!first && (user.enabled & bit) == 0) return {};
    user.known |= bit;
    bool possible = false;
    Status status = api.can_access_peer(user.device, gpus_[owner].device, possible);
    if (status.ok()) {
      status = possible ? api.enable_peer_access(gpus_[owner].context)
                        : error(StatusCode::kUnimplemented, "{}: device {} cannot use memory of {}",
                                Api::kDriver, user.device, gpus_[owner].device);
    }
    if (status.ok()) user.enabled |= bit;
    return first ? Status() : status;
  }

  mutable base::Mutex mutex_;  // guards the following members
  Gpu gpus_[kMaxDevices];
};

}  // namespace halyard::inline v0::stream
