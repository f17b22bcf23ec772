// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLLinkedFunctions: visible functions that a pipeline calls.
//
// Names and values: metal-cpp (Metal/MTLLinkedFunctions.hpp) and objc2-generated
// (Metal/MTLLinkedFunctions.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction;

// Functions by group.
@interface MTLLinkedFunctions : NSObject <NSCopying>
+ (MTLLinkedFunctions*)linkedFunctions;
@property(copy, nullable) NSArray<id<MTLFunction>>* functions;
@property(copy, nullable) NSArray<id<MTLFunction>>* binaryFunctions;
@property(copy, nullable) NSDictionary<NSString*, NSArray<id<MTLFunction>>*>* groups;
@property(copy, nullable) NSArray<id<MTLFunction>>* privateFunctions;
@end

NS_ASSUME_NONNULL_END
