// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLBlitCommandEncoder: copies and fills of buffers. One thread at a time.
//
// Names and values: metal-cpp (Metal/MTLBlitCommandEncoder.hpp) and objc2-generated
// (Metal/MTLBlitCommandEncoder.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer;
@protocol MTLCommandEncoder;
@protocol MTLCounterSampleBuffer;
@protocol MTLFence;
@protocol MTLIndirectCommandBuffer;
@protocol MTLResource;

// Copies and fills.
@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
// Makes writes of the GPU to a Managed resource visible to the host once the command buffer is
// completed.
- (void)synchronizeResource:(id<MTLResource>)resource;
// On macOS, location and length are multiples of 4; the length is not 0.
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
// On macOS, offsets and size are multiples of 4; the size is not 0.
- (void)copyFromBuffer:(id<MTLBuffer>)sourceBuffer
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destinationBuffer
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
- (void)resetCommandsInBuffer:(id<MTLIndirectCommandBuffer>)buffer withRange:(NSRange)range;
- (void)copyIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)source
                      sourceRange:(NSRange)sourceRange
                      destination:(id<MTLIndirectCommandBuffer>)destination
                 destinationIndex:(NSUInteger)destinationIndex;
- (void)optimizeIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandBuffer
                            withRange:(NSRange)range;
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)sampleBuffer
                 atSampleIndex:(NSUInteger)sampleIndex
                   withBarrier:(BOOL)barrier;
- (void)resolveCounters:(id<MTLCounterSampleBuffer>)sampleBuffer
                inRange:(NSRange)range
      destinationBuffer:(id<MTLBuffer>)destinationBuffer
      destinationOffset:(NSUInteger)destinationOffset;
@end

NS_ASSUME_NONNULL_END
