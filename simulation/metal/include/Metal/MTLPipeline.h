// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline's assumptions about its buffers, and the validation of its kernels.
//
// Names and values: metal-cpp (Metal/MTLPipeline.hpp) and objc2-generated (Metal/MTLPipeline.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSUInteger, MTLMutability) {
  MTLMutabilityDefault = 0,
  MTLMutabilityMutable = 1,
  MTLMutabilityImmutable = 2,
};

typedef NS_ENUM(NSInteger, MTLShaderValidation) {
  MTLShaderValidationDefault = 0,
  MTLShaderValidationEnabled = 1,
  MTLShaderValidationDisabled = 2,
};

// One buffer argument.
@interface MTLPipelineBufferDescriptor : NSObject <NSCopying>
@property MTLMutability mutability;
@end

// Creates its elements on first use.
@interface MTLPipelineBufferDescriptorArray : NSObject
- (MTLPipelineBufferDescriptor*)objectAtIndexedSubscript:(NSUInteger)bufferIndex;
- (void)setObject:(nullable MTLPipelineBufferDescriptor*)buffer
    atIndexedSubscript:(NSUInteger)bufferIndex;
@end

NS_ASSUME_NONNULL_END
