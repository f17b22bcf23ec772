// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers, ranges and macros that all of Foundation uses. Names and values: Apple's documentation of
// Foundation.
#pragma once

#import <objc/objc.h>
#include <stddef.h>
#include <stdint.h>

typedef long NSInteger;
typedef unsigned long NSUInteger;
#define NSIntegerMax INT64_MAX
#define NSIntegerMin INT64_MIN
#define NSUIntegerMax UINT64_MAX
static const NSInteger NSNotFound = NSIntegerMax;

typedef struct _NSRange {
  NSUInteger location;
  NSUInteger length;
} NSRange;
static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length) {
  NSRange range = {location, length};
  return range;
}

typedef enum NSComparisonResult : NSInteger {
  NSOrderedAscending = -1,
  NSOrderedSame = 0,
  NSOrderedDescending = 1,
} NSComparisonResult;

typedef double NSTimeInterval;
typedef double CFTimeInterval;  // CoreFoundation's name
typedef struct _NSZone NSZone;

#ifdef __cplusplus
#define FOUNDATION_EXPORT extern "C"
#else
#define FOUNDATION_EXPORT extern
#endif
#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#define NS_ENUM(type, name) enum name : type name; enum name : type
// In C++ a number, as the operators of an enumeration would give its underlying type.
#ifdef __cplusplus
#define NS_OPTIONS(type, name) \
  type name;                   \
  enum : type
#else
#define NS_OPTIONS(type, name) enum name : type name; enum name : type
#endif
#define NS_RETURNS_RETAINED __attribute__((ns_returns_retained))
#define NS_REQUIRES_NIL_TERMINATION __attribute__((sentinel))

@class NSString;
@class Protocol;
// "%@" takes an object.
FOUNDATION_EXPORT void NSLog(NSString* format, ...);
FOUNDATION_EXPORT NSString* NSStringFromClass(Class of);
FOUNDATION_EXPORT NSString* NSStringFromSelector(SEL selector);
FOUNDATION_EXPORT SEL NSSelectorFromString(NSString* name);
FOUNDATION_EXPORT Class NSClassFromString(NSString* name);
