// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PhysicalDevice: an MTLDevice of this machine, with the properties that the driver reads. The
// driver and everything that is made on the device retain it.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <string>

#include "base/atomic.h"
#include "drivers/metal/builtin_kernels.h"
#include "drivers/metal/retained.h"
#include "halyard/base/ref.h"
#include "halyard/base/result.h"
#include "halyard/hal/limits.h"

namespace halyard::inline v0::metal {

inline constexpr std::uint32_t kMaxInFlight = 256;  // command buffers of a lane

class PhysicalDevice final : public RefCounted {
 public:
  // Takes the reference. kResourceExhausted.
  static Result<Ref<PhysicalDevice>> create(Retained<id<MTLDevice>> device);

  id<MTLDevice> handle() const noexcept { return device_.get(); }
  // The same in all processes and for all objects of one device.
  std::uint64_t registry_id() const noexcept { return registry_id_; }
  const std::string& name() const noexcept { return name_; }
  bool unified() const noexcept { return unified_; }
  std::uint64_t memory_size() const noexcept { return memory_size_; }
  // The required alignment of a buffer offset for `constant` memory, by Metal's feature set tables.
  std::uint64_t constant_alignment() const noexcept { return constant_alignment_; }
  // The features that the driver misses; empty if it can use the device.
  const std::string& lacks() const noexcept { return lacks_; }
  hal::DeviceLimits limits() const noexcept;
  // Compiled when the device is first opened, and kept.
  BuiltinKernels& builtins() noexcept { return builtins_; }

  // After this call the device cannot be opened again: it was removed, or Metal ignores all further
  // submissions of this process (MTLCommandBufferErrorAccessRevoked).
  void close_for_good() noexcept { gone_.store(true, std::memory_order_release); }
  bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }

 private:
  explicit PhysicalDevice(Retained<id<MTLDevice>> device);
  ~PhysicalDevice() override;

  Retained<id<MTLDevice>> device_;
  const std::uint64_t registry_id_;
  std::string name_;
  const bool unified_;
  const std::uint64_t memory_size_;
  std::uint64_t constant_alignment_ = 256;
  std::string lacks_;
  BuiltinKernels builtins_;
  base::Atomic<bool> gone_{false};
};

}  // namespace halyard::inline v0::metal
