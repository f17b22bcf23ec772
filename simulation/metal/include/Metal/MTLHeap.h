// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLHeap: memory from which buffers are sub-allocated. Not safe from several threads at once.
//
// Names and values: metal-cpp (Metal/MTLHeap.hpp) and objc2-generated (Metal/MTLHeap.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLAllocation.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLAllocation;
@protocol MTLBuffer;
@protocol MTLDevice;

// Automatic heaps choose offsets; Placement heaps take them from the caller.
typedef NS_ENUM(NSInteger, MTLHeapType) {
  MTLHeapTypeAutomatic = 0,
  MTLHeapTypePlacement = 1,
  MTLHeapTypeSparse = 2,
};

// The default is Private and untracked. Managed and Memoryless are not allowed.
@interface MTLHeapDescriptor : NSObject <NSCopying>
@property NSUInteger size;
@property MTLStorageMode storageMode;
@property MTLCPUCacheMode cpuCacheMode;
@property MTLSparsePageSize sparsePageSize;
@property MTLHazardTrackingMode hazardTrackingMode;
@property MTLResourceOptions resourceOptions;
@property MTLHeapType type;
@property MTLSparsePageSize maxCompatiblePlacementSparsePageSize;
@end

// Memory for buffers of one storage mode.
@protocol MTLHeap <MTLAllocation>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLCPUCacheMode cpuCacheMode;
@property(readonly) MTLHazardTrackingMode hazardTrackingMode;
@property(readonly) MTLResourceOptions resourceOptions;
@property(readonly) NSUInteger size;
@property(readonly) NSUInteger usedSize;
@property(readonly) NSUInteger currentAllocatedSize;
// The largest buffer, in bytes, that fits now.
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment;
// Returns nil if the heap is full or is a placement heap.
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                                      options:(MTLResourceOptions)options;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
@property(readonly) MTLHeapType type;
// Placement heaps only. The offset and size follow heapBufferSizeAndAlignWithLength:options:;
// others are undefined.
- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                                      options:(MTLResourceOptions)options
                                       offset:(NSUInteger)offset;
@end

NS_ASSUME_NONNULL_END
