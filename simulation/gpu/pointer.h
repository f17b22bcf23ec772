// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of pointers. The State is locked.
#pragma once

#include "simulation/gpu/pool.h"

namespace halyard::inline v0::sim::gpu {

// Values of CU_POINTER_ATTRIBUTE_*; HIP's are equal.
enum PointerAttribute : int {
  kContextOf = 1,
  kMemoryTypeOf = 2,
  kDevicePointerOf = 3,
  kHostPointerOf = 4,
  kSyncMemops = 6,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kIsIpcCapable = 10,
  kRangeStart = 11,
  kRangeSize = 12,
  kIsMapped = 13,
  kHandleTypes = 14,
  kIsRdmaCapable = 15,
  kAccessFlags = 16,
  kPoolOf = 17,
};

// Returns kInvalidValue for an unknown address.
Result pointer_attribute(void* data, int which, DevicePointer address);
// Reads several attributes. An unknown address has default values.
Result pointer_attributes(unsigned count, const int* which, void** data, DevicePointer address);

}  // namespace halyard::inline v0::sim::gpu
