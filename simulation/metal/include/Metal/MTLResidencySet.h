// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLResidencySet: allocations that are made resident together. One thread at a time.
//
// Names and values: metal-cpp (Metal/MTLResidencySet.hpp) and objc2-generated
// (Metal/MTLResidencySet.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLAllocation;
@protocol MTLDevice;

// The capacity is a hint.
@interface MTLResidencySetDescriptor : NSObject <NSCopying>
@property(copy, nullable) NSString* label;
@property NSUInteger initialCapacity;
@end

// Changes take effect with commit.
@protocol MTLResidencySet <NSObject>
@property(readonly) id<MTLDevice> device;
@property(readonly, nullable) NSString* label;
@property(readonly) uint64_t allocatedSize;
// Makes the committed members resident now, ahead of the work that needs them.
- (void)requestResidency;
- (void)endResidency;
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)addAllocations:(const id<MTLAllocation> _Nullable[_Nonnull])allocations
                 count:(NSUInteger)count;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocations:(const id<MTLAllocation> _Nullable[_Nonnull])allocations
                    count:(NSUInteger)count;
- (void)removeAllAllocations;
- (BOOL)containsAllocation:(id<MTLAllocation>)anAllocation;
@property(readonly) NSArray<id<MTLAllocation>>* allAllocations;
@property(readonly) NSUInteger allocationCount;
- (void)commit;
@end

NS_ASSUME_NONNULL_END
