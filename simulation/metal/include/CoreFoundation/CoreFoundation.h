// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types and the few functions of CoreFoundation that headers of Metal programs name. An object
// of CoreFoundation is an object of Foundation. As Apple's header does (swift-corelibs-foundation,
// CoreFoundation.h), it includes the C headers, so programs get them from Metal.h.
#pragma once

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <TargetConditionals.h>
#include <objc/objc.h>

#define CF_EXPORT OBJC_EXPORT

typedef const void* CFTypeRef;
typedef const struct __CFString* CFStringRef;
typedef const struct __CFArray* CFArrayRef;
typedef const struct __CFDictionary* CFDictionaryRef;
typedef const struct __CFAllocator* CFAllocatorRef;
typedef const struct __CFData* CFDataRef;
typedef const struct __CFURL* CFURLRef;
typedef long CFIndex;
typedef unsigned long CFHashCode;
typedef unsigned long CFTypeID;
typedef double CFTimeInterval;
typedef CFTimeInterval CFAbsoluteTime;
typedef unsigned char Boolean;
typedef int32_t SInt32;
typedef uint32_t UInt32;
typedef struct {
  CFIndex location;
  CFIndex length;
} CFRange;

// Safe from any thread.
CF_EXPORT CFTypeRef CFRetain(CFTypeRef object);
CF_EXPORT void CFRelease(CFTypeRef object);
CF_EXPORT CFIndex CFGetRetainCount(CFTypeRef object);
CF_EXPORT CFHashCode CFHash(CFTypeRef object);
CF_EXPORT Boolean CFEqual(CFTypeRef first, CFTypeRef second);
// Seconds since 2001-01-01 00:00 UTC.
CF_EXPORT CFAbsoluteTime CFAbsoluteTimeGetCurrent(void);
