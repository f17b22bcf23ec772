// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linkage of what Metal exports. These headers declare Apple's public names where Apple's own are
// missing; the simulated framework implements them.
#pragma once

#import <Foundation/NSObjCRuntime.h>

#ifdef __cplusplus
#define MTL_EXTERN extern "C" __attribute__((visibility("default")))
#else
#define MTL_EXTERN extern __attribute__((visibility("default")))
#endif
#define MTL_EXPORT __attribute__((visibility("default")))
#define MTL_INLINE static inline
