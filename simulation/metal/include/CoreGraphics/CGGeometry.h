// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes and places that headers of QuartzCore mention, which programs of metal-cpp include
// together with Metal's. Nothing is drawn.
#pragma once

#ifdef __LP64__
typedef double CGFloat;
#else
typedef float CGFloat;
#endif

typedef struct CGPoint {
  CGFloat x;
  CGFloat y;
} CGPoint;

typedef struct CGSize {
  CGFloat width;
  CGFloat height;
} CGSize;

typedef struct CGRect {
  CGPoint origin;
  CGSize size;
} CGRect;
