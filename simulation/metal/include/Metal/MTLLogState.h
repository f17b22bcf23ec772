// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLLogState: receives what kernels log.
//
// Names and values: metal-cpp (Metal/MTLLogState.hpp) and objc2-generated (Metal/MTLLogState.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXTERN NSErrorDomain const MTLLogStateErrorDomain;

typedef NS_ENUM(NSInteger, MTLLogLevel) {
  MTLLogLevelUndefined = 0,
  MTLLogLevelDebug = 1,
  MTLLogLevelInfo = 2,
  MTLLogLevelNotice = 3,
  MTLLogLevelError = 4,
  MTLLogLevelFault = 5,
};

// Receives logs of command buffers that were made with it.
@protocol MTLLogState <NSObject>
- (void)addLogHandler:(void (^)(NSString* _Nullable subsystem, NSString* _Nullable category,
                                MTLLogLevel level, NSString* message))block;
@end

// The least level, and the size of the buffer in bytes.
@interface MTLLogStateDescriptor : NSObject <NSCopying>
@property MTLLogLevel level;
@property NSInteger bufferSize;
@end

typedef NS_ENUM(NSUInteger, MTLLogStateError) {
  MTLLogStateErrorInvalidSize = 1,
  MTLLogStateErrorInvalid = 2,
};

NS_ASSUME_NONNULL_END
