// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCommandEncoder: what all encoders have in common, and how they use resources. A command
// buffer has one open encoder at a time. One thread at a time.
//
// Names and values: metal-cpp (Metal/MTLCommandEncoder.hpp) and objc2-generated
// (Metal/MTLCommandEncoder.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

// How kernels use a resource that they reach through an argument buffer.
typedef NS_OPTIONS(NSUInteger, MTLResourceUsage) {
  MTLResourceUsageRead = 0x1,
  MTLResourceUsageWrite = 0x2,
  MTLResourceUsageSample = 0x4,  // Deprecated by Apple.
};

// The kinds of resources that a barrier covers.
typedef NS_OPTIONS(NSUInteger, MTLBarrierScope) {
  MTLBarrierScopeBuffers = 0x1,
  MTLBarrierScopeTextures = 0x2,
  MTLBarrierScopeRenderTargets = 0x4,
};

// Stages of encoders.
typedef NS_OPTIONS(NSUInteger, MTLStages) {
  MTLStageVertex = 0x1,
  MTLStageFragment = 0x2,
  MTLStageTile = 0x4,
  MTLStageObject = 0x8,
  MTLStageMesh = 0x10,
  MTLStageResourceState = 0x4000000,
  MTLStageDispatch = 0x8000000,
  MTLStageBlit = 0x10000000,
  MTLStageAccelerationStructure = 0x20000000,
  MTLStageMachineLearning = 0x40000000,
  MTLStageAll = NSIntegerMax,
};

// Writes commands into a command buffer.
@protocol MTLCommandEncoder <NSObject>
@property(readonly) id<MTLDevice> device;
@property(copy, nullable) NSString* label;
// Must be called before the encoder is released and before the buffer is committed.
- (void)endEncoding;
// Orders stages of this encoder after stages of earlier encoders of the queue. macOS 26.
- (void)barrierAfterQueueStages:(MTLStages)afterQueueStages beforeStages:(MTLStages)beforeStages;
- (void)insertDebugSignpost:(NSString*)string;
- (void)pushDebugGroup:(NSString*)string;
- (void)popDebugGroup;
@end

NS_ASSUME_NONNULL_END
