// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCommandQueue: where command buffers are made and committed. Safe from any thread.
//
// Names and values: metal-cpp (Metal/MTLCommandQueue.hpp) and objc2-generated
// (Metal/MTLCommandQueue.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCommandBuffer;
@protocol MTLDevice;
@protocol MTLLogState;
@protocol MTLResidencySet;
@class MTLCommandBufferDescriptor;

// Creates command buffers. Buffers start in the order of enqueue or commit, and may overlap.
@protocol MTLCommandQueue <NSObject>
@property(copy, nullable) NSString* label;
@property(readonly) id<MTLDevice> device;
// Autoreleased. Blocks while the queue has its maximum of uncompleted buffers, buffers that were
// made and never committed included. Retains the objects that it uses.
- (nullable id<MTLCommandBuffer>)commandBuffer;
- (nullable id<MTLCommandBuffer>)commandBufferWithDescriptor:
    (MTLCommandBufferDescriptor*)descriptor;
// As commandBuffer, but the program keeps all objects alive until the buffer is completed.
- (nullable id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
// Makes the set resident for all later command buffers of the queue. At most 32 sets.
- (void)addResidencySet:(id<MTLResidencySet>)residencySet;
- (void)addResidencySets:(const id<MTLResidencySet> _Nullable[_Nonnull])residencySets
                   count:(NSUInteger)count;
- (void)removeResidencySet:(id<MTLResidencySet>)residencySet;
- (void)removeResidencySets:(const id<MTLResidencySet> _Nullable[_Nonnull])residencySets
                      count:(NSUInteger)count;
@end

// For newCommandQueueWithDescriptor:.
@interface MTLCommandQueueDescriptor : NSObject <NSCopying>
@property NSUInteger maxCommandBufferCount;
@property(retain, nullable) id<MTLLogState> logState;
@end

NS_ASSUME_NONNULL_END
