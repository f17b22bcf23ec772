// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The name of a surface, which headers of Metal mention. There are no surfaces.
#pragma once

typedef struct __IOSurface* IOSurfaceRef;
