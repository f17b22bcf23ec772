// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLFence: orders encoders of one queue. Safe from any thread.
//
// Names and values: metal-cpp (Metal/MTLFence.hpp) and objc2-generated (Metal/MTLFence.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

// Updated by an encoder; other encoders wait for it.
@protocol MTLFence <NSObject>
@property(readonly) id<MTLDevice> device;
@property(copy, nullable) NSString* label;
@end

NS_ASSUME_NONNULL_END
