// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCaptureManager: captures the commands that a program sends to a GPU.
//
// Names and values: metal-cpp (Metal/MTLCaptureManager.hpp) and objc2-generated
// (Metal/MTLCaptureManager.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCaptureScope;
@protocol MTLCommandQueue;
@protocol MTLDevice;

MTL_EXTERN NSErrorDomain const MTLCaptureErrorDomain;

// Codes of MTLCaptureErrorDomain.
typedef NS_ENUM(NSInteger, MTLCaptureError) {
  MTLCaptureErrorNotSupported = 1,
  MTLCaptureErrorAlreadyCapturing = 2,
  MTLCaptureErrorInvalidDescriptor = 3,
};

// The destination of a capture.
typedef NS_ENUM(NSInteger, MTLCaptureDestination) {
  MTLCaptureDestinationDeveloperTools = 1,
  MTLCaptureDestinationGPUTraceDocument = 2,
};

// The device, queue or scope to capture.
@interface MTLCaptureDescriptor : NSObject <NSCopying>
@property(retain, nullable) id captureObject;
@property MTLCaptureDestination destination;
@property(copy, nullable) NSURL* outputURL;
@end

// One for the process.
@interface MTLCaptureManager : NSObject
+ (MTLCaptureManager*)sharedCaptureManager;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (BOOL)supportsDestination:(MTLCaptureDestination)destination;
// Returns NO unless METAL_CAPTURE_ENABLED=1 is set or the bundle allows captures.
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor*)descriptor error:(NSError**)error;
- (void)startCaptureWithDevice:(id<MTLDevice>)device;                    // Deprecated by Apple.
- (void)startCaptureWithCommandQueue:(id<MTLCommandQueue>)commandQueue;  // Deprecated by Apple.
- (void)startCaptureWithScope:(id<MTLCaptureScope>)captureScope;         // Deprecated by Apple.
- (void)stopCapture;
@property(retain, nullable) id<MTLCaptureScope> defaultCaptureScope;
@property(readonly) BOOL isCapturing;
@end

NS_ASSUME_NONNULL_END
