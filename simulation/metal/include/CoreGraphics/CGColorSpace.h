// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The name of a colour space, which headers of QuartzCore mention. There are none.
#pragma once

typedef struct CGColorSpace* CGColorSpaceRef;
