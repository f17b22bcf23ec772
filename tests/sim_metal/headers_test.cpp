// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations that programs get only from these headers. The compilation is the test.
#include <IOSurface/IOSurfaceRef.h>
// After it, as QuartzCore's headers of metal-cpp have them.
#include <CoreGraphics/CGColorSpace.h>
#include <CoreGraphics/CGGeometry.h>
#include <gtest/gtest.h>

// only_metal.mm
extern "C" int metal_header_brings_c();

namespace {

TEST(MetalHeaders, Metal_BringsTheHeadersOfC) { EXPECT_EQ(metal_header_brings_c(), 1); }

// metal-cpp of 2023 (Metal/MTLEvent.hpp, Metal/MTLDevice.hpp) includes no header of Dispatch.
TEST(MetalHeaders, Surface_BringsDispatchForCpp) {
  dispatch_queue_t const queue = dispatch_get_global_queue(0, 0);
  EXPECT_NE(queue, nullptr);
  const dispatch_data_t data = nullptr;
  EXPECT_EQ(data, nullptr);
}

TEST(MetalHeaders, Geometry_HasSizesOfTwoNumbers) {
  const CGRect rect = {{1, 2}, {3, 4}};
  EXPECT_EQ(rect.size.height, 4);
  EXPECT_EQ(sizeof(CGRect), 4 * sizeof(CGFloat));
  const CGColorSpaceRef none = nullptr;
  EXPECT_EQ(none, nullptr);
}

}  // namespace
