// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCommandBuffer: commands that are encoded by one thread at a time, committed once and then
// executed.
//
// Names and values: metal-cpp (Metal/MTLCommandBuffer.hpp) and objc2-generated
// (Metal/MTLCommandBuffer.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBlitCommandEncoder;
@protocol MTLCommandBuffer;
@protocol MTLCommandQueue;
@protocol MTLComputeCommandEncoder;
@protocol MTLDevice;
@protocol MTLEvent;
@protocol MTLLogContainer;
@protocol MTLLogState;
@protocol MTLResidencySet;
@class MTLBlitPassDescriptor;
@class MTLComputePassDescriptor;

// The user info key of an error with details of each encoder: an array of
// MTLCommandBufferEncoderInfo.
MTL_EXTERN NSErrorUserInfoKey const MTLCommandBufferEncoderInfoErrorKey;
MTL_EXTERN NSErrorDomain const MTLCommandBufferErrorDomain;

typedef void (^MTLCommandBufferHandler)(id<MTLCommandBuffer> buffer);

// Completed and Error are final.
typedef NS_ENUM(NSUInteger, MTLCommandBufferStatus) {
  MTLCommandBufferStatusNotEnqueued = 0,
  MTLCommandBufferStatusEnqueued = 1,
  MTLCommandBufferStatusCommitted = 2,
  MTLCommandBufferStatusScheduled = 3,
  MTLCommandBufferStatusCompleted = 4,
  MTLCommandBufferStatusError = 5,
};

// Codes of MTLCommandBufferErrorDomain. The numbers in the text of an error,
// kIOGPUCommandBufferCallbackError..., are others.
typedef NS_ENUM(NSUInteger, MTLCommandBufferError) {
  MTLCommandBufferErrorNone = 0,
  MTLCommandBufferErrorInternal = 1,
  MTLCommandBufferErrorTimeout = 2,
  MTLCommandBufferErrorPageFault = 3,
  MTLCommandBufferErrorBlacklisted = 4,  // Deprecated by Apple.
  MTLCommandBufferErrorAccessRevoked = 4,
  MTLCommandBufferErrorNotPermitted = 7,
  MTLCommandBufferErrorOutOfMemory = 8,
  MTLCommandBufferErrorInvalidResource = 9,
  MTLCommandBufferErrorMemoryless = 10,
  MTLCommandBufferErrorDeviceRemoved = 11,
  MTLCommandBufferErrorStackOverflow = 12,
};

// Whether an error has details of each encoder.
typedef NS_OPTIONS(NSUInteger, MTLCommandBufferErrorOption) {
  MTLCommandBufferErrorOptionNone = 0,
  MTLCommandBufferErrorOptionEncoderExecutionStatus = 0x1,
};

// What became of an encoder of a failed command buffer.
typedef NS_ENUM(NSInteger, MTLCommandEncoderErrorState) {
  MTLCommandEncoderErrorStateUnknown = 0,
  MTLCommandEncoderErrorStateCompleted = 1,
  MTLCommandEncoderErrorStateAffected = 2,
  MTLCommandEncoderErrorStatePending = 3,
  MTLCommandEncoderErrorStateFaulted = 4,
};

// Retained references and no error options by default.
@interface MTLCommandBufferDescriptor : NSObject <NSCopying>
@property BOOL retainedReferences;
@property MTLCommandBufferErrorOption errorOptions;
@property(retain, nullable) id<MTLLogState> logState;
@end

// An element of the array that an error has for MTLCommandBufferEncoderInfoErrorKey.
@protocol MTLCommandBufferEncoderInfo <NSObject>
@property(readonly) NSString* label;
@property(readonly) NSArray<NSString*>* debugSignposts;
@property(readonly) MTLCommandEncoderErrorState errorState;
@end

// Serial dispatches see the writes of earlier ones; concurrent ones need barriers.
typedef NS_ENUM(NSUInteger, MTLDispatchType) {
  MTLDispatchTypeSerial = 0,
  MTLDispatchTypeConcurrent = 1,
};

// Commands for the GPU.
@protocol MTLCommandBuffer <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly) id<MTLCommandQueue> commandQueue;
@property(readonly) BOOL retainedReferences;
@property(readonly) MTLCommandBufferErrorOption errorOptions;
@property(copy, nullable) NSString* label;
@property(readonly) CFTimeInterval kernelStartTime;
@property(readonly) CFTimeInterval kernelEndTime;
@property(readonly) id<MTLLogContainer> logs;
// Seconds. 0 before the GPU starts.
@property(readonly) CFTimeInterval GPUStartTime;
// Seconds. 0 until the host knows that the GPU has finished.
@property(readonly) CFTimeInterval GPUEndTime;
// Reserves the place in the queue. A buffer that is enqueued and never committed blocks all later
// ones.
- (void)enqueue;
// Submits the buffer, once. Nothing may be encoded or added afterwards.
- (void)commit;
// Only before commit. Copies the block and calls it on a thread of the driver.
- (void)addScheduledHandler:(MTLCommandBufferHandler)block;
// Returns after all scheduled handlers.
- (void)waitUntilScheduled;
// Only before commit. Copies the block and calls it on a thread of the driver, even if the buffer
// failed.
- (void)addCompletedHandler:(MTLCommandBufferHandler)block;
// Returns after all completed handlers, whether the buffer failed or not: read status.
- (void)waitUntilCompleted;
@property(readonly) MTLCommandBufferStatus status;
// Nil unless status is MTLCommandBufferStatusError.
@property(readonly, nullable) NSError* error;
- (nullable id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:
    (MTLComputePassDescriptor*)computePassDescriptor;
- (nullable id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:
    (MTLBlitPassDescriptor*)blitPassDescriptor;
// A serial encoder, autoreleased. Nil while another encoder is open.
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:
    (MTLDispatchType)dispatchType;
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (nullable id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:
    (MTLDispatchType)dispatchType;
// Only without an open encoder. Later passes of this buffer wait until the event has at least
// `value`.
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
// Only without an open encoder. Signals after all earlier passes of this buffer.
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)pushDebugGroup:(NSString*)string;
- (void)popDebugGroup;
// Makes the set resident while the buffer executes. At most 32 sets.
- (void)useResidencySet:(id<MTLResidencySet>)residencySet;
- (void)useResidencySets:(const id<MTLResidencySet> _Nullable[_Nonnull])residencySets
                   count:(NSUInteger)count;
@end

NS_ASSUME_NONNULL_END
