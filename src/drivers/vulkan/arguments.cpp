// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/vulkan/arguments.h"

namespace halyard::inline v0::vulkan {

Result<Ref<hal::Memory>> ArgumentTraits::allocate(const Ref<NativeDevice>& device,
                                                  std::uint64_t bytes) {
  HALYARD_ASSIGN_OR_RETURN(
      Ref<DeviceMemory> chunk,
      DeviceMemory::allocate(device, {.size = bytes, .type = hal::MemoryType::kHostVisible},
                             /*domain=*/nullptr));
  return Ref<hal::Memory>(std::move(chunk));
}

}  // namespace halyard::inline v0::vulkan
