// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLComputePassDescriptor: how a compute encoder dispatches and where it samples counters.
//
// Names and values: metal-cpp (Metal/MTLComputePass.hpp) and objc2-generated
// (Metal/MTLComputePass.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCounterSampleBuffer;

// A sample at the start and at the end of the encoder, or MTLCounterDontSample.
@interface MTLComputePassSampleBufferAttachmentDescriptor : NSObject <NSCopying>
@property(retain, nullable) id<MTLCounterSampleBuffer> sampleBuffer;
@property NSUInteger startOfEncoderSampleIndex;
@property NSUInteger endOfEncoderSampleIndex;
@end

// Creates its elements on first use.
@interface MTLComputePassSampleBufferAttachmentDescriptorArray : NSObject
- (MTLComputePassSampleBufferAttachmentDescriptor*)objectAtIndexedSubscript:
    (NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLComputePassSampleBufferAttachmentDescriptor*)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

// Serial by default.
@interface MTLComputePassDescriptor : NSObject <NSCopying>
+ (MTLComputePassDescriptor*)computePassDescriptor;
@property MTLDispatchType dispatchType;
@property(readonly) MTLComputePassSampleBufferAttachmentDescriptorArray* sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END
