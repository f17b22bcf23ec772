// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes, positions and addresses. MTLSize and MTLRegion are passed in memory on x86-64, and a
// method that returns one is called through objc_msgSend_stret.
//
// Names and layouts: metal-cpp (Metal/MTLTypes.hpp, MTLDevice.hpp) and objc2-generated
// (Metal/MTLTypes.rs, MTLGPUAddress.rs, MTLDevice.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>

typedef struct {
  NSUInteger x, y, z;
} MTLOrigin;

typedef struct {
  NSUInteger width, height, depth;
} MTLSize;

typedef struct {
  MTLOrigin origin;
  MTLSize size;
} MTLRegion;

// Bytes.
typedef struct {
  NSUInteger size;
  NSUInteger align;
} MTLSizeAndAlign;

// An object by its number on the GPU, for argument buffers that the host writes.
typedef struct {
  uint64_t _impl;
} MTLResourceID;

typedef uint64_t MTLGPUAddress;
// Ticks of the clock that the call names.
typedef uint64_t MTLTimestamp;

MTL_INLINE MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
  MTLOrigin origin = {x, y, z};
  return origin;
}

MTL_INLINE MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  MTLSize size = {width, height, depth};
  return size;
}

MTL_INLINE MTLRegion MTLRegionMake1D(NSUInteger x, NSUInteger width) {
  MTLRegion region = {{x, 0, 0}, {width, 1, 1}};
  return region;
}

MTL_INLINE MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y, NSUInteger width,
                                     NSUInteger height) {
  MTLRegion region = {{x, y, 0}, {width, height, 1}};
  return region;
}

MTL_INLINE MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y, NSUInteger z, NSUInteger width,
                                     NSUInteger height, NSUInteger depth) {
  MTLRegion region = {{x, y, z}, {width, height, depth}};
  return region;
}
