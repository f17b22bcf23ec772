// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PeerAccess: which GPUs of a library use each other's memory. Access is between contexts, and a
// context may end with its last user; so it is enabled whenever a device opens, with all that are
// open.
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
  // A device on GPU `physical` opens. Where the library refuses access between two GPUs the first
  // time, they have none; later, that is the error. kUnavailable: `context`, its own, could not be
  // made current.
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
  // It is closed.
  void close(unsigned physical) noexcept {
    base::LockGuard lock(mutex_);
    --gpus_[physical].devices;
  }

  // Whether kernels on `user` may use memory of `owner`. Both were open at one time; constant from
  // then on.
  bool enabled(unsigned user, unsigned owner) const noexcept {
    base::LockGuard lock(mutex_);
    return (gpus_[user].enabled >> owner & 1) != 0;
  }

 private:
  struct Gpu {
    unsigned devices = 0;  // open on it
    int device = 0;
    typename Api::Context context{};
    std::uint64_t known = 0;    // bit k: whether it can use memory of GPU k has been asked
    std::uint64_t enabled = 0;  // bit k: it can
  };

  // In the current context, of `user`.
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

  mutable base::Mutex mutex_;  // guards the rest
  Gpu gpus_[kMaxDevices];
};

}  // namespace halyard::inline v0::stream
