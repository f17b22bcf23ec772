// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLResource: memory of a device with a storage mode, a cache mode and hazard tracking. One
// thread at a time uses a resource, except where a call says otherwise.
//
// Names and values: metal-cpp (Metal/MTLResource.hpp) and objc2-generated (Metal/MTLResource.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLAllocation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLAllocation;
@protocol MTLDevice;
@protocol MTLHeap;

// Whether the system may discard the contents.
typedef NS_ENUM(NSUInteger, MTLPurgeableState) {
  MTLPurgeableStateKeepCurrent = 1,
  MTLPurgeableStateNonVolatile = 2,
  MTLPurgeableStateVolatile = 3,
  MTLPurgeableStateEmpty = 4,
};

typedef NS_ENUM(NSUInteger, MTLCPUCacheMode) {
  MTLCPUCacheModeDefaultCache = 0,
  MTLCPUCacheModeWriteCombined = 1,
};

// Shared: one copy for host and GPU. Managed: two copies that the program synchronizes, macOS
// only. Private: the GPU only. Memoryless: for textures of tile memory only.
typedef NS_ENUM(NSUInteger, MTLStorageMode) {
  MTLStorageModeShared = 0,
  MTLStorageModeManaged = 1,
  MTLStorageModePrivate = 2,
  MTLStorageModeMemoryless = 3,
};

// Default is tracked for resources of a device and untracked for those of a heap.
typedef NS_ENUM(NSUInteger, MTLHazardTrackingMode) {
  MTLHazardTrackingModeDefault = 0,
  MTLHazardTrackingModeUntracked = 1,
  MTLHazardTrackingModeTracked = 2,
};

// The cache mode, the storage mode << 4 and the hazard tracking mode << 8. metal-cpp of Xcode 26
// has 0x20 for MTLResourceStorageModeMemoryless; its edition of macOS 14.2 and objc2-generated
// have 0x30.
typedef NS_OPTIONS(NSUInteger, MTLResourceOptions) {
  MTLResourceCPUCacheModeDefaultCache = 0x0,
  MTLResourceCPUCacheModeWriteCombined = 0x1,
  MTLResourceStorageModeShared = 0x0,
  MTLResourceStorageModeManaged = 0x10,
  MTLResourceStorageModePrivate = 0x20,
  MTLResourceStorageModeMemoryless = 0x30,
  MTLResourceHazardTrackingModeDefault = 0x0,
  MTLResourceHazardTrackingModeUntracked = 0x100,
  MTLResourceHazardTrackingModeTracked = 0x200,
  MTLResourceOptionCPUCacheModeDefault = 0,        // Deprecated by Apple.
  MTLResourceOptionCPUCacheModeWriteCombined = 1,  // Deprecated by Apple.
};

// KiB in the name, a tag as the number.
typedef NS_ENUM(NSInteger, MTLSparsePageSize) {
  MTLSparsePageSize16 = 101,
  MTLSparsePageSize64 = 102,
  MTLSparsePageSize256 = 103,
};

// Support of sparse buffers.
typedef NS_ENUM(NSInteger, MTLBufferSparseTier) {
  MTLBufferSparseTierNone = 0,
  MTLBufferSparseTier1 = 1,
};

// Memory of a device.
@protocol MTLResource <MTLAllocation>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLCPUCacheMode cpuCacheMode;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLHazardTrackingMode hazardTrackingMode;
@property(readonly) MTLResourceOptions resourceOptions;
// Returns the state before the call; KeepCurrent only asks.
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
// Nil for a resource of the device itself.
@property(readonly, nullable) id<MTLHeap> heap;
@property(readonly) NSUInteger heapOffset;
@property(readonly) NSUInteger allocatedSize;
// Lets later allocations of the heap overlap this resource.
- (void)makeAliasable;
@property(readonly) BOOL isAliasable;
@end

NS_ASSUME_NONNULL_END
