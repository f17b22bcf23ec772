// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLFunctionHandle: a visible function as part of a pipeline.
//
// Names and values: metal-cpp (Metal/MTLFunctionHandle.hpp) and objc2-generated
// (Metal/MTLFunctionHandle.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

// The identity of the function on the GPU.
@protocol MTLFunctionHandle <NSObject>
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSString* name;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLResourceID gpuResourceID;
@end

NS_ASSUME_NONNULL_END
