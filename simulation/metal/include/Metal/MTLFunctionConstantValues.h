// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLFunctionConstantValues: the values by which a function is specialized.
//
// Names and values: metal-cpp (Metal/MTLFunctionConstantValues.hpp) and objc2-generated
// (Metal/MTLFunctionConstantValues.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

// Copies the values.
@interface MTLFunctionConstantValues : NSObject <NSCopying>
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValues:(const void*)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)setConstantValue:(const void*)value type:(MTLDataType)type withName:(NSString*)name;
- (void)reset;
@end

NS_ASSUME_NONNULL_END
