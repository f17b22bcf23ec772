// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLComputeCommandEncoder: dispatches of kernels with their arguments. One thread at a time.
//
// Names and values: metal-cpp (Metal/MTLComputeCommandEncoder.hpp) and objc2-generated
// (Metal/MTLComputeCommandEncoder.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer;
@protocol MTLCommandEncoder;
@protocol MTLComputePipelineState;
@protocol MTLCounterSampleBuffer;
@protocol MTLFence;
@protocol MTLHeap;
@protocol MTLIndirectCommandBuffer;
@protocol MTLResource;

// The contents of the buffer of an indirect dispatch.
typedef struct {
  uint32_t threadgroupsPerGrid[3];
} MTLDispatchThreadgroupsIndirectArguments;

// Dispatches kernels.
@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
// Copies at most 4 KiB as the contents of the buffer slot.
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
// 31 slots. The offset is in bytes; its alignment depends on the address space and the family.
- (void)setBuffer:(nullable id<MTLBuffer>)buffer
           offset:(NSUInteger)offset
          atIndex:(NSUInteger)index;
// The slot must have a buffer or bytes.
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
           offsets:(const NSUInteger*)offsets
         withRange:(NSRange)range;
- (void)setBuffer:(id<MTLBuffer>)buffer
             offset:(NSUInteger)offset
    attributeStride:(NSUInteger)stride
            atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
             offsets:(const NSUInteger*)offsets
    attributeStrides:(const NSUInteger*)strides
           withRange:(NSRange)range;
- (void)setBufferOffset:(NSUInteger)offset
        attributeStride:(NSUInteger)stride
                atIndex:(NSUInteger)index;
- (void)setBytes:(const void*)bytes
             length:(NSUInteger)length
    attributeStride:(NSUInteger)stride
            atIndex:(NSUInteger)index;
// Bytes, a multiple of 16. 31 slots.
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
// The threads of a group must not exceed the maximum of the pipeline.
- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid
       threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
// Reads three uint32_t at an offset that is a multiple of 4.
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)indirectBuffer
                          indirectBufferOffset:(NSUInteger)indirectBufferOffset
                         threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
// Groups at the edge of the grid are smaller. Needs a family that has non-uniform threadgroups.
- (void)dispatchThreads:(MTLSize)threadsPerGrid
    threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
// Signals the fence after all commands of this encoder.
- (void)updateFence:(id<MTLFence>)fence;
// Delays the commands of this encoder until the fence is signaled by an earlier encoder of the
// same queue.
- (void)waitForFence:(id<MTLFence>)fence;
// For later dispatches of this encoder: makes resources resident that they access through an
// argument buffer. `usage` must cover these accesses.
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage;
- (void)useResources:(const id<MTLResource> _Nullable[_Nonnull])resources
               count:(NSUInteger)count
               usage:(MTLResourceUsage)usage;
// As useResource:usage: with Read for all resources of the heap.
- (void)useHeap:(id<MTLHeap>)heap;
- (void)useHeaps:(const id<MTLHeap> _Nullable[_Nonnull])heaps count:(NSUInteger)count;
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandBuffer
                      withRange:(NSRange)executionRange;
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandbuffer
                 indirectBuffer:(id<MTLBuffer>)indirectRangeBuffer
           indirectBufferOffset:(NSUInteger)indirectBufferOffset;
// Later dispatches of this encoder see the writes of earlier ones. No effect on a serial encoder.
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)memoryBarrierWithResources:(const id<MTLResource> _Nullable[_Nonnull])resources
                             count:(NSUInteger)count;
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)sampleBuffer
                 atSampleIndex:(NSUInteger)sampleIndex
                   withBarrier:(BOOL)barrier;
@end

NS_ASSUME_NONNULL_END
