// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLComputePipelineState: a kernel that is ready to be dispatched. Safe from any thread.
//
// Names and values: metal-cpp (Metal/MTLComputePipeline.hpp) and objc2-generated
// (Metal/MTLComputePipeline.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLAllocation.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLPipeline.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLAllocation;
@protocol MTLBinaryArchive;
@protocol MTLBinding;
@protocol MTLDevice;
@protocol MTLDynamicLibrary;
@protocol MTLFunction;
@protocol MTLFunctionHandle;
@class MTLArgument;
@class MTLLinkedFunctions;
@class MTLPipelineBufferDescriptorArray;

// The arguments of the kernel.
@interface MTLComputePipelineReflection : NSObject
@property(readonly) NSArray<id<MTLBinding>>* bindings;
@property(readonly) NSArray<MTLArgument*>* arguments;  // Deprecated by Apple.
@end

// A kernel and the compiler's assumptions about its dispatches.
@interface MTLComputePipelineDescriptor : NSObject <NSCopying>
@property(copy, nullable) NSString* label;
@property(retain, nullable) id<MTLFunction> computeFunction;
@property BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) MTLPipelineBufferDescriptorArray* buffers;
@property BOOL supportIndirectCommandBuffers;
@property(copy, nullable) NSArray<id<MTLDynamicLibrary>>* insertLibraries;  // Deprecated by Apple.
@property(copy) NSArray<id<MTLDynamicLibrary>>* preloadedLibraries;
@property(copy, nullable) NSArray<id<MTLBinaryArchive>>* binaryArchives;
- (void)reset;
@property(copy, nullable) MTLLinkedFunctions* linkedFunctions;
@property BOOL supportAddingBinaryFunctions;
@property NSUInteger maxCallStackDepth;
@property MTLShaderValidation shaderValidation;
@property MTLSize requiredThreadsPerThreadgroup;
@end

// A compiled kernel.
@protocol MTLComputePipelineState <MTLAllocation, NSObject>
@property(readonly, nullable) NSString* label;
@property(readonly, nullable) MTLComputePipelineReflection* reflection;
- (nullable id<MTLFunctionHandle>)functionHandleWithName:(NSString*)name;
@property(readonly) id<MTLDevice> device;
// May be less than the maximum of the device.
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
// Threads of a SIMD group.
@property(readonly) NSUInteger threadExecutionWidth;
// Bytes that the kernel declares itself.
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@property(readonly) BOOL supportIndirectCommandBuffers;
@property(readonly) MTLResourceID gpuResourceID;
- (nullable id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithAdditionalBinaryFunctions:(NSArray<id<MTLFunction>>*)functions
                                                   error:(NSError**)error;
@property(readonly) MTLShaderValidation shaderValidation;
@property(readonly) MTLSize requiredThreadsPerThreadgroup;
@end

NS_ASSUME_NONNULL_END
