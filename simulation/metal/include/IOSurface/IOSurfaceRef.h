// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The type of a surface, which headers of Metal mention. There are no surfaces. Like Apple's header
// it includes Dispatch, which metal-cpp's headers need and do not include.
#pragma once

#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>

typedef struct __IOSurface* IOSurfaceRef;
