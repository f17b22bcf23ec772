// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clock of sampleTimestamps:gpuTimestamp:. Ticks are nanoseconds here. Safe from any thread.
#pragma once

#include <objc/objc.h>
#include <stdint.h>

struct mach_timebase_info {
  uint32_t numer;
  uint32_t denom;
};
typedef struct mach_timebase_info mach_timebase_info_data_t;
typedef struct mach_timebase_info* mach_timebase_info_t;

OBJC_EXPORT uint64_t mach_absolute_time(void);
// Nanoseconds are ticks * numer / denom. Returns 0.
OBJC_EXPORT int mach_timebase_info(mach_timebase_info_t info);
