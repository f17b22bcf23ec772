// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSException: only raising, which ends the process with the name and the reason on stderr.
#pragma once

#import <Foundation/NSObject.h>
#import <Foundation/NSString.h>

@class NSDictionary;

typedef NSString* NSExceptionName;
FOUNDATION_EXPORT NSExceptionName const NSGenericException;
FOUNDATION_EXPORT NSExceptionName const NSRangeException;
FOUNDATION_EXPORT NSExceptionName const NSInvalidArgumentException;
FOUNDATION_EXPORT NSExceptionName const NSInternalInconsistencyException;

@interface NSException : NSObject
+ (void)raise:(NSExceptionName)name format:(NSString*)format, ...;
+ (NSException*)exceptionWithName:(NSExceptionName)name
                           reason:(NSString*)reason
                         userInfo:(NSDictionary*)user_info;
@property(readonly, copy) NSExceptionName name;
@property(readonly, copy) NSString* reason;
- (void)raise;
@end

#define NSAssert(condition, ...)                                               \
  do {                                                                         \
    if (!(condition)) {                                                        \
      [NSException raise:NSInternalInconsistencyException format:__VA_ARGS__]; \
    }                                                                          \
  } while (0)
#define NSCAssert(condition, ...) NSAssert(condition, __VA_ARGS__)
