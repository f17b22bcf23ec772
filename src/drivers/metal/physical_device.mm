// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/physical_device.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.h"
#include "kernel/hyx.h"

namespace halyard::inline v0::metal {

Result<Ref<PhysicalDevice>> PhysicalDevice::create(Retained<id<MTLDevice>> device) {
  auto physical = Ref<PhysicalDevice>::adopt(new (std::nothrow) PhysicalDevice(std::move(device)));
  if (physical) return physical;
  return error(StatusCode::kResourceExhausted, "metal: no memory for a device");
}

PhysicalDevice::PhysicalDevice(Retained<id<MTLDevice>> device)
    : device_(std::move(device)),
      registry_id_([handle() registryID]),
      unified_([handle() hasUnifiedMemory]),
      memory_size_([handle() recommendedMaxWorkingSetSize]) {
  const char* const name = [[handle() name] UTF8String];
  name_ = name != nullptr ? name : "Metal device";
  // 4 bytes on Apple's own GPUs, 256 at most on others.
  if ([handle() supportsFamily:MTLGPUFamilyApple1]) constant_alignment_ = 4;
  // Shared events came with macOS 10.14 and iOS 12; MSL 3.0, of which kernels are written, with
  // macOS 13 and iOS 16, and there to devices of Metal 3 and older ones alike.
  if (![handle() respondsToSelector:@selector(newSharedEvent)]) lacks_ = "shared events";
}

PhysicalDevice::~PhysicalDevice() {
  const ScopedPool pool;
  builtins_.reset();
  device_.reset();
}

hal::DeviceLimits PhysicalDevice::limits() const noexcept {
  // The 32 bits of positions are the only documented limit of the grid.
  constexpr std::uint32_t kMaxGroups = 0x7fff'ffff;
  hal::DeviceLimits limits;
  limits.max_buffer_size = [handle() maxBufferLength];
  std::fill_n(limits.max_groups, 3, kMaxGroups);
  const MTLSize most = [handle() maxThreadsPerThreadgroup];
  limits.max_workgroup_items =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(most.width, kernel::kMaxWorkgroupItems));
  limits.max_shared_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>([handle() maxThreadgroupMemoryLength], kernel::kMaxSharedBytes));
  limits.max_bindings = kernel::kMaxBindings;
  limits.max_constants_bytes = kernel::kMaxConstantsBytes;
  limits.max_in_flight = kMaxInFlight;
  return limits;
}

}  // namespace halyard::inline v0::metal
