// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLFunctionDescriptor: a function of a library by name, with its constants.
//
// Names and values: metal-cpp (Metal/MTLFunctionDescriptor.hpp) and objc2-generated
// (Metal/MTLFunctionDescriptor.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBinaryArchive;
@class MTLFunctionConstantValues;

typedef NS_OPTIONS(NSUInteger, MTLFunctionOptions) {
  MTLFunctionOptionNone = 0,
  MTLFunctionOptionCompileToBinary = 0x1,
  MTLFunctionOptionStoreFunctionInMetalPipelinesScript = 0x2,
  MTLFunctionOptionStoreFunctionInMetalScript = 0x2,  // Deprecated by Apple.
  MTLFunctionOptionFailOnBinaryArchiveMiss = 0x4,
  MTLFunctionOptionPipelineIndependent = 0x8,
};

// For newFunctionWithDescriptor:error:.
@interface MTLFunctionDescriptor : NSObject <NSCopying>
+ (MTLFunctionDescriptor*)functionDescriptor;
@property(copy, nullable) NSString* name;
@property(copy, nullable) NSString* specializedName;
@property(copy, nullable) MTLFunctionConstantValues* constantValues;
@property MTLFunctionOptions options;
@property(copy, nullable) NSArray<id<MTLBinaryArchive>>* binaryArchives;
@end

NS_ASSUME_NONNULL_END
