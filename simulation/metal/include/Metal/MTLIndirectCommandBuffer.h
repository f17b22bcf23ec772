// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLIndirectCommandBuffer: commands that are encoded once and executed several times. One thread
// at a time.
//
// Names and values: metal-cpp (Metal/MTLIndirectCommandBuffer.hpp) and objc2-generated
// (Metal/MTLIndirectCommandBuffer.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLIndirectComputeCommand;
@protocol MTLResource;

typedef struct {
  uint32_t location;
  uint32_t length;
} MTLIndirectCommandBufferExecutionRange;

// Dispatches are never mixed with draws.
typedef NS_OPTIONS(NSUInteger, MTLIndirectCommandType) {
  MTLIndirectCommandTypeDraw = 0x1,
  MTLIndirectCommandTypeDrawIndexed = 0x2,
  MTLIndirectCommandTypeDrawPatches = 0x4,
  MTLIndirectCommandTypeDrawIndexedPatches = 0x8,
  MTLIndirectCommandTypeConcurrentDispatch = 0x20,
  MTLIndirectCommandTypeConcurrentDispatchThreads = 0x40,
  MTLIndirectCommandTypeDrawMeshThreadgroups = 0x80,
  MTLIndirectCommandTypeDrawMeshThreads = 0x100,
};

// The state that the commands set, and the state that they inherit from the encoder.
@interface MTLIndirectCommandBufferDescriptor : NSObject <NSCopying>
@property MTLIndirectCommandType commandTypes;
@property BOOL inheritPipelineState;
@property BOOL inheritBuffers;
@property BOOL inheritDepthStencilState;
@property BOOL inheritDepthBias;
@property BOOL inheritDepthClipMode;
@property BOOL inheritCullMode;
@property BOOL inheritFrontFacingWinding;
@property BOOL inheritTriangleFillMode;
@property NSUInteger maxVertexBufferBindCount;
@property NSUInteger maxFragmentBufferBindCount;
@property NSUInteger maxKernelBufferBindCount;
@property NSUInteger maxKernelThreadgroupMemoryBindCount;
@property NSUInteger maxObjectBufferBindCount;
@property NSUInteger maxMeshBufferBindCount;
@property NSUInteger maxObjectThreadgroupMemoryBindCount;
@property BOOL supportRayTracing;
@property BOOL supportDynamicAttributeStride;
@property BOOL supportColorAttachmentMapping;
@end

// A resource; encoders must declare it and all that its commands use.
@protocol MTLIndirectCommandBuffer <MTLResource>
@property(readonly) NSUInteger size;
@property(readonly) MTLResourceID gpuResourceID;
- (void)resetWithRange:(NSRange)range;
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)commandIndex;
@end

NS_ASSUME_NONNULL_END
