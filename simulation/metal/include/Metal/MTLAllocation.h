// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLAllocation: an object that occupies device memory and can be a member of a residency set.
//
// Names and values: metal-cpp (Metal/MTLAllocation.hpp) and objc2-generated
// (Metal/MTLAllocation.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

// An object with device memory.
@protocol MTLAllocation <NSObject>
// Bytes that it occupies.
@property(readonly) NSUInteger allocatedSize;
@end

NS_ASSUME_NONNULL_END
