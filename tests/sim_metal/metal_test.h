// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MetalTest: a process of the simulated framework for one test. It ends with a check that the test
// has released all objects.
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "simulation/metal/framework/process.h"

namespace metal_tests {

using namespace halyard::sim::metal;

// Options are enumerations in some versions of Apple's headers and numbers in others.
constexpr auto kReadWriteUsage =
    static_cast<MTLResourceUsage>(MTLResourceUsageRead | MTLResourceUsageWrite);
constexpr auto kSharedUntracked = static_cast<MTLResourceOptions>(
    MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked);

class MetalTest : public ::testing::Test {
 protected:
  ~MetalTest() override { end(); }

  // The next process; a test may have several.
  void begin(Options options = {}) {
    end();
    has_begun_ = is_clean_ = true;
    options.prints = false;
    begin_process(options);
    pool_ = [[NSAutoreleasePool alloc] init];
    device_ = MTLCreateSystemDefaultDevice();
    queue_ = [device_ newCommandQueue];
  }
  // Called by begin() and at the end of the test. Checks that there was no misuse and no leak.
  void end() {
    if (!std::exchange(has_begun_, false)) return;
    [queue_ release];
    [device_ release];
    [pool_ release];
    const EndOfProcess end = end_process();
    EXPECT_EQ(end.leaks, "");
    if (is_clean_) {
      EXPECT_EQ(end.misuse, "");
    }
  }
  // The test violates this rule, at least once, and no other rule.
  void expect_misuse(const char* rule, bool is_violated = true) {
    EXPECT_EQ(has_misuse(rule), is_violated) << "reported: " << misuse_text();
    if (is_violated) is_clean_ = false;
  }

  // +1.
  id<MTLBuffer> buffer(NSUInteger length,
                       MTLResourceOptions options = MTLResourceStorageModeShared) {
    return [device_ newBufferWithLength:length options:options];
  }
  static std::uint8_t* bytes(id<MTLBuffer> buffer) {
    return static_cast<std::uint8_t*>([buffer contents]);
  }
  static std::uint32_t* words(id<MTLBuffer> buffer) {
    return static_cast<std::uint32_t*>([buffer contents]);
  }
  static float* floats(id<MTLBuffer> buffer) { return static_cast<float*>([buffer contents]); }

  static void fill(id<MTLCommandBuffer> commands, id<MTLBuffer> target, std::uint8_t value) {
    id<MTLBlitCommandEncoder> const encoder = [commands blitCommandEncoder];
    [encoder fillBuffer:target range:NSRange{0, [target length]} value:value];
    [encoder endEncoding];
  }
  static void copy(id<MTLCommandBuffer> commands, id<MTLBuffer> source, id<MTLBuffer> target) {
    id<MTLBlitCommandEncoder> const encoder = [commands blitCommandEncoder];
    [encoder copyFromBuffer:source
               sourceOffset:0
                   toBuffer:target
          destinationOffset:0
                       size:[target length]];
    [encoder endEncoding];
  }
  static void finish(id<MTLCommandBuffer> commands) {
    [commands commit];
    [commands waitUntilCompleted];
  }

  // +1; fails the test without one.
  id<MTLLibrary> library(const char* source, MTLCompileOptions* options = nil) {
    NSError* error = nil;
    id<MTLLibrary> const made = [device_ newLibraryWithSource:[NSString stringWithUTF8String:source]
                                                      options:options
                                                        error:&error];
    EXPECT_TRUE(made != nil) << [[error localizedDescription] UTF8String];
    return made;
  }
  // +1: the pipeline of the function `name` of `source`.
  id<MTLComputePipelineState> pipeline(const char* source, const char* name,
                                       MTLCompileOptions* options = nil) {
    id<MTLLibrary> const made = library(source, options);
    id<MTLFunction> const function =
        [made newFunctionWithName:[NSString stringWithUTF8String:name]];
    NSError* error = nil;
    id<MTLComputePipelineState> const state = [device_ newComputePipelineStateWithFunction:function
                                                                                     error:&error];
    EXPECT_TRUE(state != nil) << [[error localizedDescription] UTF8String];
    [function release];
    [made release];
    return state;
  }
  // Dispatches one group, with `target` at index 0.
  void run(id<MTLComputePipelineState> state, id<MTLBuffer> target, NSUInteger threads = 1) {
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:target offset:0 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [encoder endEncoding];
    finish(commands);
    last_error_ = [commands error] == nil ? 0 : [[commands error] code];
  }

  id<MTLDevice> device_ = nil;
  id<MTLCommandQueue> queue_ = nil;
  NSAutoreleasePool* pool_ = nil;
  NSInteger last_error_ = 0;  // of run(), 0 if it completed
  bool is_clean_ = true;
  bool has_begun_ = false;
};

}  // namespace metal_tests
