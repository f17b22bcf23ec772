// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beliefs of programs about Metal, and the facts: dispatches, pipelines, the language.
//
// No test: 31 (64-bit atomics by family), because the simulated compiler does not know families.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sim_metal/metal_test.h"

namespace metal_tests {
namespace {

class KernelBeliefs : public MetalTest {};

constexpr char kPlain[] = R"(
  #include <metal_stdlib>
  using namespace metal;
  kernel void set(device uint* out [[buffer(0)]], constant uint& value [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { out[i] = value; }
  kernel void add(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] += 1;
  }
  kernel void twice(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] *= 2;
  })";

// 17. Without a barrier the dispatches of a concurrent encoder run in any order.
TEST_F(KernelBeliefs, B17_ConcurrentDispatches_InterleaveUnlessThereIsABarrier) {
  for (const bool has_barrier : {false, true}) {
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      Options options;
      options.adversities.interleave_dispatches = true;
      options.seed = seed;
      begin(options);
      id<MTLComputePipelineState> const add = pipeline(kPlain, "add"),
                                        twice = pipeline(kPlain, "twice");
      id<MTLBuffer> const target = buffer(16);
      std::memset([target contents], 0, 16);
      id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
      id<MTLComputeCommandEncoder> const encoder =
          [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
      [encoder setBuffer:target offset:0 atIndex:0];
      for (id<MTLComputePipelineState> state : {add, twice}) {
        [encoder setComputePipelineState:state];
        [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
                threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
        if (has_barrier) [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
      }
      [encoder endEncoding];
      finish(commands);
      wrong += words(target)[0] == 2 ? 0 : 1;
      [target release];
      [add release];
      [twice release];
    }
    if (has_barrier) {
      EXPECT_EQ(wrong, 0);
    } else {
      EXPECT_GT(wrong, 0);
    }
  }
}

// 23. tinygrad dispatches (0,0,0) on purpose (graph/metal.py:85).
TEST_F(KernelBeliefs, B23_NoGroups_RunNothing) {
  begin();
  id<MTLComputePipelineState> const state = pipeline(kPlain, "add");
  id<MTLBuffer> const target = buffer(16);
  std::memset([target contents], 0, 16);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:target offset:0 atIndex:0];
  [encoder dispatchThreadgroups:MTLSizeMake(0, 0, 0) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  [encoder endEncoding];
  finish(commands);
  EXPECT_EQ([commands status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ(words(target)[0], 0U);
  [target release];
  [state release];
  expect_misuse("empty-dispatch");
}

// 25. Offsets of `constant` buffers: 4 bytes on Apple GPUs, 256 on Mac1 and Mac2 (dawn,
// PhysicalDeviceMTL.mm:875).
TEST_F(KernelBeliefs, B25_ConstantOffset_AlignsByFamily) {
  for (const DeviceKind kind : {DeviceKind::kUnified, DeviceKind::kDiscrete}) {
    Options options;
    options.devices = {kind};
    begin(options);
    id<MTLComputePipelineState> const state = pipeline(kPlain, "set");
    id<MTLBuffer> const target = buffer(16), constants = buffer(64);
    words(constants)[1] = 77;
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:target offset:0 atIndex:0];
    [encoder setBuffer:constants offset:4 atIndex:1];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    finish(commands);
    EXPECT_EQ(words(target)[3], 77U);
    expect_misuse("offset-alignment", kind == DeviceKind::kDiscrete);
    [constants release];
    [target release];
    [state release];
  }
}

// 26. Threadgroup memory is a multiple of 16 bytes and undefined at first (Apple).
TEST_F(KernelBeliefs, B26_ThreadgroupMemory_IsNotZero) {
  begin();
  id<MTLComputePipelineState> const state = pipeline(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void peek(device uint* out [[buffer(0)]], threadgroup uint* memory [[threadgroup(0)]],
                     uint i [[thread_index_in_threadgroup]]) { out[i] = memory[i]; })",
                                                     "peek");
  id<MTLBuffer> const target = buffer(16);
  std::memset([target contents], 0, 16);
  for (const NSUInteger length : {16U, 20U}) {
    EXPECT_FALSE(has_misuse("threadgroup-length"));
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:target offset:0 atIndex:0];
    [encoder setThreadgroupMemoryLength:length atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    finish(commands);
    EXPECT_NE(words(target)[0], 0U);
  }
  [target release];
  [state release];
  expect_misuse("threadgroup-length");
}

// 27, 28. Limits differ between pipelines: read maxTotalThreadsPerThreadgroup and
// threadExecutionWidth.
TEST_F(KernelBeliefs, B27_Pipeline_HasLimitsOfItsOwn) {
  bool has_448 = false, has_832 = false, has_32 = false, has_64 = false;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Options options;
    options.adversities.small_pipelines = true;
    options.seed = seed;
    begin(options);
    id<MTLComputePipelineState> const state = pipeline(kPlain, "add");
    has_448 |= [state maxTotalThreadsPerThreadgroup] == 448;
    has_832 |= [state maxTotalThreadsPerThreadgroup] == 832;
    has_32 |= [state threadExecutionWidth] == 32;
    has_64 |= [state threadExecutionWidth] == 64;
    id<MTLBuffer> const target = buffer(4096);
    run(state, target, [state maxTotalThreadsPerThreadgroup]);
    EXPECT_FALSE(has_misuse("threads-per-threadgroup"));
    run(state, target, 1024);
    expect_misuse("threads-per-threadgroup");
    [target release];
    [state release];
  }
  EXPECT_TRUE(has_448 && has_832 && has_32 && has_64);
}

// 29. Floats are fast by default: no NaN. Safe by mathMode, before macOS 15 by fastMathEnabled.
TEST_F(KernelBeliefs, B29_MathIsFast_UnlessSafe) {
  constexpr char kNan[] = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void nan(device float* values [[buffer(0)]]) {
      float x = values[0];
      values[1] = x != x ? 1.0f : 0.0f;
    })";
  begin();
  for (const bool is_fast : {true, false}) {
    MTLCompileOptions* const options = [[MTLCompileOptions alloc] init];
    EXPECT_EQ([options mathMode], MTLMathModeFast);
    EXPECT_TRUE([options fastMathEnabled]);
    if (!is_fast) [options setFastMathEnabled:NO];
    EXPECT_EQ([options mathMode], is_fast ? MTLMathModeFast : MTLMathModeSafe);
    id<MTLComputePipelineState> const state = pipeline(kNan, "nan", options);
    id<MTLBuffer> const target = buffer(16);
    floats(target)[0] = std::nanf("");
    run(state, target);
    EXPECT_EQ(floats(target)[1], is_fast ? 0.0F : 1.0F);
    [target release];
    [state release];
    [options release];
  }
}

// 30. A library may come with an error object that holds warnings (dawn, ShaderModuleMTL.mm:582).
TEST_F(KernelBeliefs, B30_LibraryWithWarnings_SetsError) {
  Options options;
  options.compile_warnings = true;
  begin(options);
  NSError* error = nil;
  id<MTLLibrary> const good = [device_ newLibraryWithSource:[NSString stringWithUTF8String:kPlain]
                                                    options:nil
                                                      error:&error];
  EXPECT_TRUE(good != nil);
  EXPECT_EQ([error code], MTLLibraryErrorCompileWarning);
  [good release];
  error = nil;
  EXPECT_TRUE([device_ newLibraryWithSource:@"kernel void broken(" options:nil
                                      error:&error] == nil);
  EXPECT_EQ([error code], MTLLibraryErrorCompileFailure);
}

// 31. Atomics of 64 bits are minimum and maximum, from Apple9, and from Apple8 on devices of Mac2
// (wgpu, adapter.rs:828; Apple, "Metal Shading Language Specification", section 6.15).
TEST_F(KernelBeliefs, B31_WideAtomics_NeedAFamily) {
  struct {
    DeviceKind kind;
    int family;
    bool has_them;
  } const all[] = {{DeviceKind::kUnified, 1007, false},
                   {DeviceKind::kUnified, 1008, true},
                   {DeviceKind::kUnified, 1009, true},
                   {DeviceKind::kDiscrete, 2002, false}};
  for (const auto& one : all) {
    Options options;
    options.devices = {one.kind};
    options.unified_family = options.discrete_family = one.family;
    begin(options);
    id<MTLComputePipelineState> const state = pipeline(R"(
      #include <metal_stdlib>
      using namespace metal;
      kernel void extremes(device atomic_ulong* values [[buffer(0)]],
                           uint i [[thread_position_in_grid]]) {
        atomic_min_explicit(values, (1ul << 40) + i, memory_order_relaxed);
        atomic_max_explicit(values + 1, (1ul << 40) + i, memory_order_relaxed);
      })",
                                                       "extremes");
    id<MTLBuffer> const target = buffer(16);
    auto* const values = reinterpret_cast<std::uint64_t*>([target contents]);
    values[0] = ~std::uint64_t{0};
    values[1] = 0;
    run(state, target, 64);
    if (one.has_them) {
      EXPECT_EQ(last_error_, 0) << one.family;
      EXPECT_EQ(values[0], std::uint64_t{1} << 40);
      EXPECT_EQ(values[1], (std::uint64_t{1} << 40) + 63);
    } else {
      EXPECT_NE(last_error_, 0) << one.family;
      EXPECT_EQ(values[1], 0U);
      EXPECT_NE(misuse_text().find("64 bits"), std::string::npos) << misuse_text();
      expect_misuse("dispatch-arguments");
    }
    [target release];
    [state release];
  }
}

// 31. No family adds, exchanges, loads or stores them, or has them in threadgroup memory.
TEST_F(KernelBeliefs, B31_WideAtomics_AreMinimumAndMaximum) {
  Options options;
  options.unified_family = 1009;
  begin(options);
  for (const char* const operation :
       {"atomic_fetch_add_explicit(at, 1ul, memory_order_relaxed)",
        "atomic_fetch_max_explicit(at, 1ul, memory_order_relaxed)",
        "atomic_exchange_explicit(at, 1ul, memory_order_relaxed)",
        "atomic_load_explicit(at, memory_order_relaxed)",
        "atomic_store_explicit(at, 1ul, memory_order_relaxed)",
        "threadgroup atomic_ulong own; atomic_max_explicit(&own, 1ul, memory_order_relaxed)"}) {
    const std::string source = std::string(R"(
      #include <metal_stdlib>
      using namespace metal;
      kernel void one(device atomic_ulong* at [[buffer(0)]]) { )") +
                               operation + "; }";
    NSError* error = nil;
    EXPECT_TRUE([device_ newLibraryWithSource:[NSString stringWithUTF8String:source.c_str()]
                                      options:nil
                                        error:&error] == nil)
        << operation;
    EXPECT_EQ([error code], MTLLibraryErrorCompileFailure);
  }
}

// 32. MSL has only the weak compare-exchange, which may fail without a reason.
TEST_F(KernelBeliefs, B32_CompareExchange_MayFailForNoReason) {
  begin();
  id<MTLComputePipelineState> const state = pipeline(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void exchange(device atomic_uint* words [[buffer(0)]], device uint* out [[buffer(1)]]) {
      for (uint i = 0; i < 4; ++i) {
        uint expected = i;
        uint tries = 0;
        while (!atomic_compare_exchange_weak_explicit(words, &expected, i + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
          expected = i;
          ++tries;
        }
        out[0] += tries;
      }
    })",
                                                     "exchange");
  id<MTLBuffer> const target = buffer(16), tries = buffer(16);
  words(target)[0] = 0;
  words(tries)[0] = 0;
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:target offset:0 atIndex:0];
  [encoder setBuffer:tries offset:0 atIndex:1];
  [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
  finish(commands);
  EXPECT_EQ(words(target)[0], 4U);
  EXPECT_GT(words(tries)[0], 0U);
  [tries release];
  [target release];
  [state release];
}

// 33, 34. A watchdog ends kernels that take long or spin on memory of the host (mlx#3142).
TEST_F(KernelBeliefs, B33_EndlessKernel_TimesOut) {
  Options options;
  options.kernel_budget = 100'000;
  begin(options);
  id<MTLComputePipelineState> const state = pipeline(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void spin(device atomic_uint* flag [[buffer(0)]]) {
      while (atomic_load_explicit(flag, memory_order_relaxed) == 0) {
      }
    })",
                                                     "spin");
  id<MTLBuffer> const target = buffer(16);
  words(target)[0] = 0;
  run(state, target);
  EXPECT_EQ(last_error_, MTLCommandBufferErrorTimeout);
  [target release];
  [state release];
}

// 37. An indirect command is not a recorded dispatch.
class IndirectCommands : public MetalTest {
 protected:
  ~IndirectCommands() override { release(); }

  // One command: a group of 4 threads adds to `target_`.
  void make(Options options = {}) {
    release();
    begin(options);
    id<MTLLibrary> const made = library(kPlain);
    MTLComputePipelineDescriptor* const wanted = [[MTLComputePipelineDescriptor alloc] init];
    id<MTLFunction> const function = [made newFunctionWithName:@"add"];
    [wanted setComputeFunction:function];
    [wanted setSupportIndirectCommandBuffers:YES];
    state_ = [device_ newComputePipelineStateWithDescriptor:wanted
                                                    options:MTLPipelineOptionNone
                                                 reflection:nullptr
                                                      error:nullptr];
    MTLIndirectCommandBufferDescriptor* const descriptor =
        [[MTLIndirectCommandBufferDescriptor alloc] init];
    [descriptor setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
    [descriptor setMaxKernelBufferBindCount:4];
    indirect_ = [device_ newIndirectCommandBufferWithDescriptor:descriptor
                                                maxCommandCount:1
                                                        options:MTLResourceStorageModeShared];
    target_ = buffer(16);
    std::memset([target_ contents], 0, 16);
    command_ = [indirect_ indirectComputeCommandAtIndex:0];
    [command_ setComputePipelineState:state_];
    [command_ setKernelBuffer:target_ offset:0 atIndex:0];
    [command_ concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1)
                       threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [descriptor release];
    [function release];
    [wanted release];
    [made release];
  }
  void release() {
    [target_ release];
    [indirect_ release];
    [state_ release];
    target_ = nil;
    indirect_ = nil;
    state_ = nil;
  }
  // Runs it. `scratch`: a direct dispatch of the same pipeline works on that first.
  NSInteger execute(bool is_used, id<MTLBuffer> scratch = nil) {
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    if (scratch != nil) {
      [encoder setComputePipelineState:state_];
      [encoder setBuffer:scratch offset:0 atIndex:0];
      [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
              threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    }
    if (is_used) [encoder useResource:target_ usage:kReadWriteUsage];
    [encoder executeCommandsInBuffer:indirect_ withRange:NSRange{0, 1}];
    [encoder endEncoding];
    finish(commands);
    return [commands error] == nil ? 0 : [[commands error] code];
  }

  id<MTLComputePipelineState> state_ = nil;
  id<MTLIndirectCommandBuffer> indirect_ = nil;
  id<MTLIndirectComputeCommand> command_ = nil;
  id<MTLBuffer> target_ = nil;
};

// 37. The resources that it binds need useResource: in each encoder (tinygrad, graph/metal.py).
TEST_F(IndirectCommands, B37_NeedUseResource) {
  make();
  EXPECT_EQ(execute(true), 0);
  EXPECT_FALSE(has_misuse("missing-use-resource"));
  (void)execute(false);
  EXPECT_EQ(words(target_)[3], 2U);
  expect_misuse("missing-use-resource");
}

// 37. Its offsets are cut to 32 bits (tinygrad, graph/metal.py:117).
TEST_F(IndirectCommands, B37_OffsetsHave32Bits) {
  make();
  [command_ setKernelBuffer:target_ offset:(NSUInteger{1} << 32) + 8 atIndex:0];
  [command_ concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1)
                     threadsPerThreadgroup:MTLSizeMake(2, 1, 1)];
  EXPECT_EQ(execute(true), 0);
  EXPECT_EQ(words(target_)[1], 0U);
  EXPECT_EQ(words(target_)[2], 1U);
  expect_misuse("indirect-offset");
}

// 37. On M1 and M2 it faults, and other programs with it, unless its encoder has dispatched
// something with each pipeline (tinygrad, graph/metal.py:85).
TEST_F(IndirectCommands, B37_MayNeedADispatchOfEachPipeline) {
  Options options;
  options.wants_direct_dispatch = true;
  make(options);
  id<MTLBuffer> const scratch = buffer(16);
  EXPECT_EQ(execute(true, scratch), 0);
  EXPECT_EQ(words(target_)[3], 1U);
  EXPECT_FALSE(has_misuse("indirect-pipeline-unused"));
  EXPECT_EQ(execute(true), MTLCommandBufferErrorPageFault);
  EXPECT_EQ(words(target_)[3], 1U);
  [scratch release];
  expect_misuse("indirect-pipeline-unused");
}

// 41. sin and the like are fast:: unless options or precise:: say otherwise (objc2, MTLLibrary).
TEST_F(KernelBeliefs, B41_PlainFunctions_AreFast) {
  constexpr char kSin[] = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void both(device float* values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      float x = values[i];
      values[64 + i] = sin(x);
      values[128 + i] = precise::sin(x);
    })";
  begin();
  for (const bool is_precise : {false, true}) {
    MTLCompileOptions* const options = [[MTLCompileOptions alloc] init];
    [options setMathMode:MTLMathModeSafe];
    if (is_precise) {
      [options setMathFloatingPointFunctions:MTLMathFloatingPointFunctionsPrecise];
    }
    id<MTLComputePipelineState> const state = pipeline(kSin, "both", options);
    id<MTLBuffer> const target = buffer(1024);
    for (int i = 0; i < 64; ++i) floats(target)[i] = 0.1F + static_cast<float>(i) * 0.05F;
    run(state, target, 64);
    int different = 0;
    for (int i = 0; i < 64; ++i) different += floats(target)[64 + i] != floats(target)[128 + i];
    EXPECT_EQ(different == 0, is_precise);
    [target release];
    [state release];
    [options release];
  }
}

// 42. Groups that do not divide the grid need Apple4 or Mac2 (Apple, Metal Feature Set Tables).
TEST_F(KernelBeliefs, B42_NonuniformGroups_NeedAFamily) {
  for (const int family : {1007, 1003}) {
    Options options;
    options.unified_family = family;
    begin(options);
    id<MTLComputePipelineState> const state = pipeline(kPlain, "add");
    id<MTLBuffer> const target = buffer(64);
    std::memset([target contents], 0, 64);
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:target offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(5, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    finish(commands);
    EXPECT_EQ(words(target)[4], family == 1007 ? 1U : 0U);
    EXPECT_EQ(words(target)[5], 0U);
    expect_misuse("nonuniform-threadgroups", family != 1007);
    [target release];
    [state release];
  }
}

// 43. A function that uses undefined function constants cannot be made without values.
TEST_F(KernelBeliefs, B43_FunctionConstants_HaveNoDefaults) {
  begin();
  id<MTLLibrary> const made = library(R"(
    #include <metal_stdlib>
    using namespace metal;
    constant uint kValue [[function_constant(0)]];
    kernel void put(device uint* out [[buffer(0)]]) { out[0] = kValue; })");
  EXPECT_TRUE([made newFunctionWithName:@"put"] == nil);
  MTLFunctionConstantValues* const values = [[MTLFunctionConstantValues alloc] init];
  NSError* error = nil;
  EXPECT_TRUE([made newFunctionWithName:@"put" constantValues:values error:&error] == nil);
  EXPECT_TRUE(error != nil);
  const std::uint32_t five = 5;
  [values setConstantValue:&five type:MTLDataTypeUInt atIndex:0];
  id<MTLFunction> const function = [made newFunctionWithName:@"put"
                                              constantValues:values
                                                       error:&error];
  ASSERT_TRUE(function != nil);
  id<MTLComputePipelineState> const state = [device_ newComputePipelineStateWithFunction:function
                                                                                   error:&error];
  id<MTLBuffer> const target = buffer(16);
  run(state, target);
  EXPECT_EQ(words(target)[0], 5U);
  [target release];
  [state release];
  [function release];
  [values release];
  [made release];
}

}  // namespace
}  // namespace metal_tests
