// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that programs of others rely on. Each test names a program.
#include <dispatch/dispatch.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim_metal/metal_test.h"

namespace metal_tests {
namespace {

class MetalPrograms : public MetalTest {
 protected:
  // +1, or nil and an error.
  id<MTLLibrary> library_of_data(const std::string& text, NSError** error = nullptr) {
    dispatch_data_t const data =
        dispatch_data_create(text.data(), text.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    id<MTLLibrary> const made = [device_ newLibraryWithData:data error:error];
    dispatch_release(data);
    return made;
  }
  // The value that the function f of `library` stores at index 0 of a buffer of zeros.
  float result_of(id<MTLLibrary> library) {
    id<MTLFunction> const function = [library newFunctionWithName:@"f"];
    id<MTLComputePipelineState> const state = [device_ newComputePipelineStateWithFunction:function
                                                                                     error:nil];
    id<MTLBuffer> const out = buffer(16);
    for (int i = 0; i < 4; ++i) floats(out)[i] = 0;
    run(state, out);
    const float result = floats(out)[0];
    [out release];
    [state release];
    [function release];
    return result;
  }
  // +1: for `count` concurrent dispatches with up to four buffers.
  id<MTLIndirectCommandBuffer> indirect_commands(NSUInteger count) {
    MTLIndirectCommandBufferDescriptor* const descriptor =
        [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [descriptor setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
    [descriptor setInheritBuffers:NO];
    [descriptor setInheritPipelineState:NO];
    [descriptor setMaxKernelBufferBindCount:4];
    return [device_ newIndirectCommandBufferWithDescriptor:descriptor
                                           maxCommandCount:count
                                                   options:MTLResourceStorageModeShared];
  }
  // +1: a pipeline that indirect commands may have.
  id<MTLComputePipelineState> indirect_pipeline(const char* source, NSString* name) {
    id<MTLLibrary> const made = library(source);
    id<MTLFunction> const function = [made newFunctionWithName:name];
    MTLComputePipelineDescriptor* const descriptor =
        [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function];
    [descriptor setSupportIndirectCommandBuffers:YES];
    id<MTLComputePipelineState> const state =
        [device_ newComputePipelineStateWithDescriptor:descriptor
                                               options:MTLPipelineOptionNone
                                            reflection:nil
                                                 error:nil];
    [function release];
    [made release];
    return state;
  }
};

constexpr char kIncrement[] = R"(
  #include <metal_stdlib>
  using namespace metal;
  kernel void increment(device uint* x [[buffer(0)]], constant uint& by [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * 2 + by;
  })";

// tinygrad, runtime/graph/metal.py: it releases each command that it got, and later requests the
// same command from the buffer to change its arguments.
TEST_F(MetalPrograms, IndirectCommand_IsAnObjectOfItsOwnEachTime) {
  begin();
  id<MTLIndirectCommandBuffer> const commands = indirect_commands(1);
  id<MTLIndirectComputeCommand> first = nil;
  @autoreleasepool {
    first = [[commands indirectComputeCommandAtIndex:0] retain];
    EXPECT_NE(first, [commands indirectComputeCommandAtIndex:0]);
  }
  EXPECT_EQ([first retainCount], 1U);
  [first release];
  EXPECT_NE([commands indirectComputeCommandAtIndex:0], nil);
  [commands release];
}

TEST_F(MetalPrograms, IndirectCommands_FollowTheirBarriersAndKeepLaterArguments) {
  for (const bool is_adversarial : {false, true}) {
    Options options;
    if (is_adversarial) options.adversities = Adversities::all();
    begin(options);
    id<MTLComputePipelineState> const state = indirect_pipeline(kIncrement, @"increment");
    id<MTLBuffer> const x = buffer(256), other = buffer(256), by = buffer(64);
    for (std::uint32_t i = 0; i < 4; ++i) words(by)[i] = i + 1;
    for (int i = 0; i < 64; ++i) words(x)[i] = words(other)[i] = 0;
    id<MTLIndirectCommandBuffer> const indirect = indirect_commands(4);
    for (NSUInteger i = 0; i < 4; ++i) {
      id<MTLIndirectComputeCommand> const one = [indirect indirectComputeCommandAtIndex:i];
      [one setComputePipelineState:state];
      [one setKernelBuffer:x offset:0 atIndex:0];
      [one setKernelBuffer:by offset:4 * i atIndex:1];
      [one concurrentDispatchThreadgroups:MTLSizeMake(4, 1, 1)
                    threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
      [one setBarrier];
    }
    for (const id<MTLBuffer> target : {x, other}) {
      for (NSUInteger i = 0; i < 4; ++i) {
        [[indirect indirectComputeCommandAtIndex:i] setKernelBuffer:target offset:0 atIndex:0];
      }
      id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
      id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
      const id<MTLResource> used[] = {target, by};
      [encoder useResources:used count:2 usage:kReadWriteUsage];
      [encoder executeCommandsInBuffer:indirect withRange:NSMakeRange(0, 4)];
      [encoder endEncoding];
      finish(commands);
      EXPECT_EQ([commands status], MTLCommandBufferStatusCompleted);
    }
    // 0 -> 1 -> 4 -> 11 -> 26
    for (int i = 0; i < 64; ++i) {
      ASSERT_EQ(words(x)[i], 26U);
      ASSERT_EQ(words(other)[i], 26U);
    }
    for (id each : {(id)x, (id)other, (id)by, (id)indirect, (id)state}) [each release];
  }
}

// The macros that show a text how it is compiled.
constexpr char kMacros[] = R"(
  #ifndef __FAST_MATH__
  #define __FAST_MATH__ 0
  #endif
  kernel void f(device float* x [[buffer(0)]]) { x[0] = __METAL_VERSION__ * 10 + __FAST_MATH__; })";

// tinygrad, runtime/ops_metal.py: it compiles with -fno-fast-math and loads the data.
TEST_F(MetalPrograms, TextLibrary_HasOptionsOfTheCompilerInItsFirstLine) {
  begin();
  const std::string text = std::string("\n") + kMacros;
  id<MTLLibrary> const exact =
      library_of_data("MTLB halyard text -fno-fast-math -std=metal3.1" + text);
  ASSERT_NE(exact, nil);
  EXPECT_EQ(result_of(exact), 3100);
  id<MTLLibrary> const fast = library_of_data("MTLB halyard text" + text);
  ASSERT_NE(fast, nil);
  EXPECT_EQ(result_of(fast), 3201);
  NSError* error = nil;
  EXPECT_EQ(library_of_data("MTLB halyard text -O9" + text, &error), nil);
  EXPECT_NE(std::string([[error localizedDescription] UTF8String]).find("-O9"), std::string::npos);
  [exact release];
  [fast release];
}

// Apple, "Metal Shading Language Guide": without fast math the functions are the precise ones.
TEST_F(MetalPrograms, FastMathDisabled_ChoosesPreciseFunctions) {
  begin();
  MTLCompileOptions* const options = [[[MTLCompileOptions alloc] init] autorelease];
  EXPECT_EQ([options mathFloatingPointFunctions], MTLMathFloatingPointFunctionsFast);
  [options setFastMathEnabled:NO];
  EXPECT_EQ([options mathFloatingPointFunctions], MTLMathFloatingPointFunctionsPrecise);
  EXPECT_EQ([options mathMode], MTLMathModeSafe);
  [options setFastMathEnabled:YES];
  EXPECT_EQ([options mathFloatingPointFunctions], MTLMathFloatingPointFunctionsFast);
}

// Apple's sample "Performing Calculations on a GPU": its library comes with the program.
TEST_F(MetalPrograms, DefaultLibrary_IsAFileBesideTheProgram) {
  begin();
  NSString* const path =
      [[[NSBundle mainBundle] resourcePath] stringByAppendingPathComponent:@"default.metallib"];
  std::remove([path UTF8String]);
  EXPECT_EQ([device_ newDefaultLibrary], nil);
  std::FILE* const file = std::fopen([path UTF8String], "w");
  ASSERT_NE(file, nullptr);
  std::fputs("MTLB halyard text\nkernel void f(device float* x [[buffer(0)]]) { x[0] = 7; }", file);
  std::fclose(file);
  id<MTLLibrary> const library = [device_ newDefaultLibrary];
  std::remove([path UTF8String]);
  ASSERT_NE(library, nil);
  EXPECT_EQ(result_of(library), 7);
  [library release];
}

// tinygrad, runtime/support/objc.py: it has no pool, and releases autoreleased objects. Apple's
// runtime ends the pool of a thread with the thread, not by exit() on the main thread.
TEST(MetalProgramsDeathTest, ExitOnTheMainThread_ReleasesNothingThatWasAutoreleased) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Options options;
        options.prints = false;
        begin_process(options);
        id<MTLDevice> const device = MTLCreateSystemDefaultDevice();
        id<MTLCommandQueue> const queue = [device newCommandQueue];
        id<MTLCommandBuffer> const commands = [queue commandBuffer];
        [commands commit];
        [commands waitUntilCompleted];
        [commands release];
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace metal_tests
