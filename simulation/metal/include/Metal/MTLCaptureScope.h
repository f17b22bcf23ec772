// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCaptureScope: a part of the program that a capture covers.
//
// Names and values: metal-cpp (Metal/MTLCaptureScope.hpp) and objc2-generated
// (Metal/MTLCaptureScope.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCommandQueue;
@protocol MTLDevice;

// Begins and ends explicitly.
@protocol MTLCaptureScope <NSObject>
- (void)beginScope;
- (void)endScope;
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly, nullable) id<MTLCommandQueue> commandQueue;
@end

NS_ASSUME_NONNULL_END
