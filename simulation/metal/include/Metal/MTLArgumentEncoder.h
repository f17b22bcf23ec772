// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLArgumentEncoder: writes the members of an argument buffer. One thread at a time.
//
// Names and values: metal-cpp (Metal/MTLArgumentEncoder.hpp) and objc2-generated
// (Metal/MTLArgumentEncoder.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer;
@protocol MTLComputePipelineState;
@protocol MTLDevice;
@protocol MTLIndirectCommandBuffer;

// Writes into a buffer that the caller owns. Does not retain the resources that it writes.
@protocol MTLArgumentEncoder <NSObject>
@property(readonly) id<MTLDevice> device;
@property(copy, nullable) NSString* label;
// Bytes of one argument buffer.
@property(readonly) NSUInteger encodedLength;
@property(readonly) NSUInteger alignment;
// The place that later calls write. `offset` is a multiple of alignment.
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer offset:(NSUInteger)offset;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer
              startOffset:(NSUInteger)startOffset
             arrayElement:(NSUInteger)arrayElement;
- (void)setBuffer:(nullable id<MTLBuffer>)buffer
           offset:(NSUInteger)offset
          atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
           offsets:(const NSUInteger*)offsets
         withRange:(NSRange)range;
// The address of an inline constant.
- (void*)constantDataAtIndex:(NSUInteger)index;
- (void)setComputePipelineState:(nullable id<MTLComputePipelineState>)pipeline
                        atIndex:(NSUInteger)index;
- (void)setComputePipelineStates:(const id<MTLComputePipelineState> _Nullable[_Nonnull])pipelines
                       withRange:(NSRange)range;
- (void)setIndirectCommandBuffer:(nullable id<MTLIndirectCommandBuffer>)indirectCommandBuffer
                         atIndex:(NSUInteger)index;
- (void)setIndirectCommandBuffers:(const id<MTLIndirectCommandBuffer> _Nullable[_Nonnull])buffers
                        withRange:(NSRange)range;
- (nullable id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index;
@end

NS_ASSUME_NONNULL_END
