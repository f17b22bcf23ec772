// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLBuffer: an untyped range of memory. Not safe from several threads at once.
//
// Names and values: metal-cpp (Metal/MTLBuffer.hpp) and objc2-generated (Metal/MTLBuffer.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;
@protocol MTLResource;

// A range of bytes.
@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
// The address for the host. NULL if the storage is Private.
@property(readonly, nullable) void* contents;
// Publishes host writes to a Managed buffer, before the commit that reads them. Invalid for other
// storage modes.
- (void)didModifyRange:(NSRange)range;
- (void)addDebugMarker:(NSString*)marker range:(NSRange)range;
- (void)removeAllDebugMarkers;
@property(readonly, nullable) id<MTLBuffer> remoteStorageBuffer;
- (nullable id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device;
// The address for kernels, Metal 3. The address does not retain the buffer and does not make it
// resident.
@property(readonly) MTLGPUAddress gpuAddress;
@property(readonly) MTLBufferSparseTier sparseBufferTier;
@end

NS_ASSUME_NONNULL_END
