// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The name of a surface, which headers of Metal mention. There are no surfaces. As Apple's, it also
// declares Dispatch, which headers of metal-cpp have from nowhere else.
#pragma once

#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>

typedef struct __IOSurface* IOSurfaceRef;
