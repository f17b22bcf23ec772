// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLDevice: a GPU. Safe from any thread. Methods that begin with "new" return an object that the
// caller releases, or nil on failure.
//
// Names and values: metal-cpp (Metal/MTLDevice.hpp) and objc2-generated (Metal/MTLDevice.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLArgument.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLPipeline.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>
#import <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLArgumentEncoder;
@protocol MTLBinaryArchive;
@protocol MTLBuffer;
@protocol MTLBufferBinding;
@protocol MTLCommandQueue;
@protocol MTLComputePipelineState;
@protocol MTLCounterSampleBuffer;
@protocol MTLCounterSet;
@protocol MTLDevice;
@protocol MTLDynamicLibrary;
@protocol MTLEvent;
@protocol MTLFence;
@protocol MTLFunction;
@protocol MTLFunctionHandle;
@protocol MTLHeap;
@protocol MTLIndirectCommandBuffer;
@protocol MTLLibrary;
@protocol MTLLogState;
@protocol MTLResidencySet;
@protocol MTLSharedEvent;
@class MTLBinaryArchiveDescriptor;
@class MTLCommandQueueDescriptor;
@class MTLCompileOptions;
@class MTLComputePipelineDescriptor;
@class MTLComputePipelineReflection;
@class MTLCounterSampleBufferDescriptor;
@class MTLHeapDescriptor;
@class MTLIndirectCommandBufferDescriptor;
@class MTLLogStateDescriptor;
@class MTLResidencySetDescriptor;
@class MTLSharedEventHandle;

typedef NSString* MTLDeviceNotificationName;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasAddedNotification;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasRemovedNotification;
MTL_EXTERN NSErrorDomain const MTLDeviceErrorDomain;

typedef MTLComputePipelineReflection* MTLAutoreleasedComputePipelineReflection;
typedef void (^MTLDeviceNotificationHandler)(id<MTLDevice> device,
                                             MTLDeviceNotificationName notifyName);
typedef void (^MTLNewLibraryCompletionHandler)(id<MTLLibrary> _Nullable library,
                                               NSError* _Nullable error);
typedef void (^MTLNewComputePipelineStateCompletionHandler)(
    id<MTLComputePipelineState> _Nullable computePipelineState, NSError* _Nullable error);
typedef void (^MTLNewComputePipelineStateWithReflectionCompletionHandler)(
    id<MTLComputePipelineState> _Nullable computePipelineState,
    MTLComputePipelineReflection* _Nullable reflection, NSError* _Nullable error);

// Families of features. Ask supportsFamily:, not the name of the device.
typedef NS_ENUM(NSInteger, MTLGPUFamily) {
  MTLGPUFamilyApple1 = 1001,
  MTLGPUFamilyApple2 = 1002,
  MTLGPUFamilyApple3 = 1003,
  MTLGPUFamilyApple4 = 1004,
  MTLGPUFamilyApple5 = 1005,
  MTLGPUFamilyApple6 = 1006,
  MTLGPUFamilyApple7 = 1007,
  MTLGPUFamilyApple8 = 1008,
  MTLGPUFamilyApple9 = 1009,
  MTLGPUFamilyApple10 = 1010,
  MTLGPUFamilyMac1 = 2001,  // Deprecated by Apple.
  MTLGPUFamilyMac2 = 2002,
  MTLGPUFamilyCommon1 = 3001,
  MTLGPUFamilyCommon2 = 3002,
  MTLGPUFamilyCommon3 = 3003,
  MTLGPUFamilyMacCatalyst1 = 4001,  // Deprecated by Apple.
  MTLGPUFamilyMacCatalyst2 = 4002,  // Deprecated by Apple.
  MTLGPUFamilyMetal3 = 5001,
  MTLGPUFamilyMetal4 = 5002,
};

// The location of the GPU, macOS only.
typedef NS_ENUM(NSUInteger, MTLDeviceLocation) {
  MTLDeviceLocationBuiltIn = 0,
  MTLDeviceLocationSlot = 1,
  MTLDeviceLocationExternal = 2,
  MTLDeviceLocationUnspecified = ~(NSUInteger)0,
};

// What creating a pipeline also reports.
typedef NS_OPTIONS(NSUInteger, MTLPipelineOption) {
  MTLPipelineOptionNone = 0,
  MTLPipelineOptionArgumentInfo = 0x1,  // Deprecated by Apple.
  MTLPipelineOptionBindingInfo = 0x1,
  MTLPipelineOptionBufferTypeInfo = 0x2,
  MTLPipelineOptionFailOnBinaryArchiveMiss = 0x4,
};

// Tier 1: 64 buffers in an argument buffer; tier 2: 500,000.
typedef NS_ENUM(NSUInteger, MTLArgumentBuffersTier) {
  MTLArgumentBuffersTier1 = 0,
  MTLArgumentBuffersTier2 = 1,
};

// Apple GPUs sample at stage boundaries only.
typedef NS_ENUM(NSUInteger, MTLCounterSamplingPoint) {
  MTLCounterSamplingPointAtStageBoundary = 0,
  MTLCounterSamplingPointAtDrawBoundary = 1,
  MTLCounterSamplingPointAtDispatchBoundary = 2,
  MTLCounterSamplingPointAtTileDispatchBoundary = 3,
  MTLCounterSamplingPointAtBlitBoundary = 4,
};

// Codes of MTLDeviceErrorDomain.
typedef NS_ENUM(NSInteger, MTLDeviceError) {
  MTLDeviceErrorNone = 0,
  MTLDeviceErrorNotSupported = 1,
};

// One member of an argument buffer.
@interface MTLArgumentDescriptor : NSObject <NSCopying>
+ (MTLArgumentDescriptor*)argumentDescriptor;
@property MTLDataType dataType;
@property NSUInteger index;
@property NSUInteger arrayLength;
@property MTLBindingAccess access;
@property NSUInteger constantBlockAlignment;
@end

// The architecture of a GPU by name.
@interface MTLArchitecture : NSObject <NSCopying>
@property(readonly) NSString* name;
@end

// A GPU.
@protocol MTLDevice <NSObject>
@property(readonly) NSString* name;
// The same number in all processes: the identity of the device.
@property(readonly) uint64_t registryID;
@property(readonly) MTLArchitecture* architecture;
// The limit for each dimension. A pipeline may allow fewer threads in total.
@property(readonly) MTLSize maxThreadsPerThreadgroup;
@property(readonly, getter=isLowPower) BOOL lowPower;
@property(readonly, getter=isHeadless) BOOL headless;
// On a removed device calls fail, even before the notification arrives.
@property(readonly, getter=isRemovable) BOOL removable;
// YES if the GPU shares the memory of the host.
@property(readonly) BOOL hasUnifiedMemory;
// Bytes. A threshold, not a limit: beyond it work slows down, then command buffers fail with
// MTLCommandBufferErrorOutOfMemory.
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@property(readonly) MTLDeviceLocation location;
@property(readonly) NSUInteger locationNumber;
@property(readonly) uint64_t maxTransferRate;
@property(readonly) MTLArgumentBuffersTier argumentBuffersSupport;
// Bytes that this process has allocated.
@property(readonly) NSUInteger currentAllocatedSize;
- (nullable id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor*)descriptor
                                                error:(NSError**)error;
// A queue of at most 64 command buffers that are not completed.
- (nullable id<MTLCommandQueue>)newCommandQueue;
// A queue whose method commandBuffer blocks while `maxCommandBufferCount` buffers are not
// completed.
- (nullable id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:
    (NSUInteger)maxCommandBufferCount;
- (nullable id<MTLCommandQueue>)newCommandQueueWithDescriptor:
    (MTLCommandQueueDescriptor*)descriptor;
// The size and the alignment, in bytes, of a buffer in a placement heap.
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length
                                            options:(MTLResourceOptions)options;
- (nullable id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor*)descriptor;
// Undefined contents. Returns nil if the length is 0, exceeds maxBufferLength, or memory is
// exhausted.
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                                      options:(MTLResourceOptions)options;
// Copies the bytes.
- (nullable id<MTLBuffer>)newBufferWithBytes:(const void*)pointer
                                      length:(NSUInteger)length
                                     options:(MTLResourceOptions)options;
- (nullable id<MTLLibrary>)newDefaultLibrary;
- (nullable id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle*)bundle error:(NSError**)error;
- (nullable id<MTLLibrary>)newLibraryWithFile:(NSString*)filepath
                                        error:(NSError**)error;  // Deprecated by Apple.
- (nullable id<MTLLibrary>)newLibraryWithURL:(NSURL*)url error:(NSError**)error;
// Loads a compiled library. The library retains the data.
- (nullable id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError**)error;
// Compiles MSL, synchronously. `error` may be set although a library is returned
// (MTLLibraryErrorCompileWarning): test the library.
- (nullable id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                                        options:(nullable MTLCompileOptions*)options
                                          error:(NSError**)error;
- (void)newLibraryWithSource:(NSString*)source
                     options:(nullable MTLCompileOptions*)options
           completionHandler:(MTLNewLibraryCompletionHandler)completionHandler;
// Compiles for the GPU, synchronously; this may take seconds.
- (nullable id<MTLComputePipelineState>)newComputePipelineStateWithFunction:
                                            (id<MTLFunction>)computeFunction
                                                                      error:(NSError**)error;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                options:(MTLPipelineOption)options
                             reflection:
                                 (MTLComputePipelineReflection* _Nullable* _Nullable)reflection
                                  error:(NSError**)error;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                          completionHandler:
                              (MTLNewComputePipelineStateCompletionHandler)completionHandler;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                    options:(MTLPipelineOption)options
                          completionHandler:
                              (MTLNewComputePipelineStateWithReflectionCompletionHandler)
                                  completionHandler;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:
                                   (MTLComputePipelineReflection* _Nullable* _Nullable)reflection
                                    error:(NSError**)error;
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:
                                (MTLNewComputePipelineStateWithReflectionCompletionHandler)
                                    completionHandler;
- (nullable id<MTLFence>)newFence;
// NO for families that are unknown to the system.
- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily;
// Bytes of a threadgroup, static ones included.
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
@property(readonly) NSUInteger maxArgumentBufferSamplerCount;
- (nullable id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:
    (NSArray<MTLArgumentDescriptor*>*)arguments;
// Commands of the types of the descriptor.
- (nullable id<MTLIndirectCommandBuffer>)
    newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor*)descriptor
                           maxCommandCount:(NSUInteger)maxCount
                                   options:(MTLResourceOptions)options;
- (nullable id<MTLEvent>)newEvent;
// An event for several devices; its own device is nil.
- (nullable id<MTLSharedEvent>)newSharedEvent;
// The event of the handle. Handles travel between processes by XPC only.
- (nullable id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle*)sharedEventHandle;
// Devices with the same number, other than 0, can share memory.
@property(readonly) uint64_t peerGroupID;
@property(readonly) uint32_t peerIndex;
@property(readonly) uint32_t peerCount;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly, nullable) NSArray<id<MTLCounterSet>>* counterSets;
- (nullable id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:
                                           (MTLCounterSampleBufferDescriptor*)descriptor
                                                                      error:(NSError**)error;
// Samples both clocks at one time. The host clock is mach_absolute_time. Stalls queues.
- (void)sampleTimestamps:(MTLTimestamp*)cpuTimestamp gpuTimestamp:(MTLTimestamp*)gpuTimestamp;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferBinding:(id<MTLBufferBinding>)bufferBinding;
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)samplingPoint;
@property(readonly) BOOL supportsDynamicLibraries;
- (nullable id<MTLDynamicLibrary>)newDynamicLibrary:(id<MTLLibrary>)library error:(NSError**)error;
- (nullable id<MTLDynamicLibrary>)newDynamicLibraryWithURL:(NSURL*)url error:(NSError**)error;
// An empty archive, or the one at the URL of the descriptor.
- (nullable id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:
                                     (MTLBinaryArchiveDescriptor*)descriptor
                                                          error:(NSError**)error;
@property(readonly) BOOL supportsPlacementSparse;
@property(readonly) BOOL supportsFunctionPointers;
@property BOOL shouldMaximizeConcurrentCompilation;
@property(readonly) NSUInteger maximumConcurrentCompilationTaskCount;
// Returns nil and an error if residency sets are not supported.
- (nullable id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)desc
                                                        error:(NSError**)error;
- (nullable id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function;
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                                      options:(MTLResourceOptions)options
                      placementSparsePageSize:(MTLSparsePageSize)placementSparsePageSize;
@property(readonly) uint64_t queryTimestampFrequency;
// Wraps host memory: whole pages, 16 KiB each on Apple silicon. `deallocator` runs once the buffer
// is freed.
- (nullable id<MTLBuffer>)
    newBufferWithBytesNoCopy:(void*)pointer
                      length:(NSUInteger)length
                     options:(MTLResourceOptions)options
                 deallocator:(nullable void (^)(void* pointer, NSUInteger length))deallocator;
@end

// Nil without a GPU; +1. Apple's needs CoreGraphics to be loaded.
MTL_EXTERN id<MTLDevice> _Nullable MTLCreateSystemDefaultDevice(void) NS_RETURNS_RETAINED;
// All GPUs; +1. The array is empty in headless, sandboxed and virtual sessions.
MTL_EXTERN NSArray<id<MTLDevice>>* MTLCopyAllDevices(void) NS_RETURNS_RETAINED;
// As MTLCopyAllDevices, and calls a copy of `handler` when a device is added or removed, until
// MTLRemoveDeviceObserver. The observer is +1.
MTL_EXTERN NSArray<id<MTLDevice>>* MTLCopyAllDevicesWithObserver(
    id<NSObject> _Nullable* _Nonnull observer,
    MTLDeviceNotificationHandler handler) NS_RETURNS_RETAINED;
MTL_EXTERN void MTLRemoveDeviceObserver(id<NSObject> observer);

NS_ASSUME_NONNULL_END
