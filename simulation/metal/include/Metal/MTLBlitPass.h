// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLBlitPassDescriptor: where a blit encoder samples counters.
//
// Names and values: metal-cpp (Metal/MTLBlitPass.hpp) and objc2-generated (Metal/MTLBlitPass.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCounterSampleBuffer;

// A sample at the start and at the end of the encoder, or MTLCounterDontSample.
@interface MTLBlitPassSampleBufferAttachmentDescriptor : NSObject <NSCopying>
@property(retain, nullable) id<MTLCounterSampleBuffer> sampleBuffer;
@property NSUInteger startOfEncoderSampleIndex;
@property NSUInteger endOfEncoderSampleIndex;
@end

// Creates its elements on first use.
@interface MTLBlitPassSampleBufferAttachmentDescriptorArray : NSObject
- (MTLBlitPassSampleBufferAttachmentDescriptor*)objectAtIndexedSubscript:
    (NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLBlitPassSampleBufferAttachmentDescriptor*)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

// No samples by default.
@interface MTLBlitPassDescriptor : NSObject <NSCopying>
+ (MTLBlitPassDescriptor*)blitPassDescriptor;
@property(readonly) MTLBlitPassSampleBufferAttachmentDescriptorArray* sampleBufferAttachments;
@end

NS_ASSUME_NONNULL_END
