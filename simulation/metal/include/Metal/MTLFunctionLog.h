// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLFunctionLog: what shader validation reports of a command buffer.
//
// Names and values: metal-cpp (Metal/MTLFunctionLog.hpp) and objc2-generated
// (Metal/MTLFunctionLog.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction;

typedef NS_ENUM(NSUInteger, MTLFunctionLogType) {
  MTLFunctionLogTypeValidation = 0,
};

// Enumerates MTLFunctionLog.
@protocol MTLLogContainer <NSObject, NSFastEnumeration>
@end

// A place in MSL.
@protocol MTLFunctionLogDebugLocation <NSObject>
@property(readonly, nullable) NSString* functionName;
@property(readonly, nullable) NSURL* URL;
@property(readonly) NSUInteger line;
@property(readonly) NSUInteger column;
@end

// One report of shader validation.
@protocol MTLFunctionLog <NSObject>
@property(readonly) MTLFunctionLogType type;
@property(readonly, nullable) NSString* encoderLabel;
@property(readonly, nullable) id<MTLFunction> function;
@property(readonly, nullable) id<MTLFunctionLogDebugLocation> debugLocation;
@end

NS_ASSUME_NONNULL_END
