// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs in the manner of Apple's samples, each on both kinds of devices and with what Metal's
// documents permit: "Performing Calculations on a GPU", "Implementing a Multistage Image Filter
// Using Heaps and Fences", "Using Argument Buffers with Resource Heaps", "Synchronizing Events
// Between a GPU and the CPU".
#include <dispatch/dispatch.h>

#include <string>
#include <vector>

#include "sim_metal/metal_test.h"

namespace metal_tests {
namespace {

struct World {
  const char* name;
  DeviceKind device;
  bool is_adversarial;
};

class MetalSamples : public MetalTest, public testing::WithParamInterface<World> {
 protected:
  void begin_world() {
    Options options;
    options.devices = {GetParam().device};
    if (GetParam().is_adversarial) options.adversities = Adversities::all();
    begin(options);
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, MetalSamples,
                         testing::Values(World{"unified", DeviceKind::kUnified, false},
                                         World{"discrete", DeviceKind::kDiscrete, false},
                                         World{"unified_adversarial", DeviceKind::kUnified, true},
                                         World{"discrete_adversarial", DeviceKind::kDiscrete,
                                               true}),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr char kReduction[] = R"(
  #include <metal_stdlib>
  using namespace metal;
  kernel void sum_groups(device const uint* x [[buffer(0)]], device uint* sums [[buffer(1)]],
                         constant uint& count [[buffer(2)]],
                         threadgroup uint* parts [[threadgroup(0)]],
                         uint i [[thread_position_in_grid]],
                         uint local [[thread_position_in_threadgroup]],
                         uint threads [[threads_per_threadgroup]],
                         uint group [[threadgroup_position_in_grid]]) {
    parts[local] = i < count ? x[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint stride = threads / 2; stride > 0; stride /= 2) {
      if (local < stride) parts[local] += parts[local + stride];
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (local == 0) sums[group] = parts[0];
  })";

TEST_P(MetalSamples, Reduction_SumsGroupsUntilOneIsLeft) {
  begin_world();
  id<MTLComputePipelineState> const state = pipeline(kReduction, "sum_groups");
  constexpr std::uint32_t kCount = 10000, kThreads = 128;
  id<MTLBuffer> const x = buffer(kCount * 4), y = buffer(kCount * 4);
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) expected += words(x)[i] = i * 7 % 101;
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLBuffer> from = x, to = y;
  for (std::uint32_t count = kCount; count > 1; count = (count + kThreads - 1) / kThreads) {
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:from offset:0 atIndex:0];
    [encoder setBuffer:to offset:0 atIndex:1];
    [encoder setBytes:&count length:sizeof(count) atIndex:2];
    [encoder setThreadgroupMemoryLength:kThreads * 4 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake((count + kThreads - 1) / kThreads, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(kThreads, 1, 1)];
    [encoder endEncoding];
    std::swap(from, to);
  }
  finish(commands);
  EXPECT_EQ(words(from)[0], expected);
  for (id each : {(id)x, (id)y, (id)state}) [each release];
}

constexpr char kFilter[] = R"(
  #include <metal_stdlib>
  using namespace metal;
  kernel void blur(device const float* from [[buffer(0)]], device float* to [[buffer(1)]],
                   constant uint& count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    to[i] = from[i == 0 ? 0 : i - 1] + from[i] + from[min(i + 1, count - 1)];
  })";

TEST_P(MetalSamples, Filter_StagesInAHeapThatFencesOrder) {
  begin_world();
  id<MTLComputePipelineState> const state = pipeline(kFilter, "blur");
  constexpr std::uint32_t kCount = 256, kBytes = kCount * 4;
  MTLHeapDescriptor* const descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
  [descriptor setStorageMode:MTLStorageModePrivate];
  [descriptor setHazardTrackingMode:MTLHazardTrackingModeUntracked];
  [descriptor setSize:2 * [device_ heapBufferSizeAndAlignWithLength:kBytes
                                                            options:MTLResourceStorageModePrivate]
                              .size];
  id<MTLHeap> const heap = [device_ newHeapWithDescriptor:descriptor];
  id<MTLBuffer> const a = [heap newBufferWithLength:kBytes options:MTLResourceStorageModePrivate];
  id<MTLBuffer> const b = [heap newBufferWithLength:kBytes options:MTLResourceStorageModePrivate];
  id<MTLFence> const fence = [device_ newFence];
  id<MTLBuffer> const in = buffer(kBytes), out = buffer(kBytes);
  std::vector<float> expected(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    expected[i] = floats(in)[i] = static_cast<float>(i * 37 % 11);
  }
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
  [blit copyFromBuffer:in sourceOffset:0 toBuffer:a destinationOffset:0 size:kBytes];
  [blit updateFence:fence];
  [blit endEncoding];
  id<MTLBuffer> from = a, to = b;
  for (int stage = 0; stage < 5; ++stage) {
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder waitForFence:fence];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:from offset:0 atIndex:0];
    [encoder setBuffer:to offset:0 atIndex:1];
    [encoder setBytes:&kCount length:sizeof(kCount) atIndex:2];
    [encoder dispatchThreads:MTLSizeMake(kCount, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    [encoder updateFence:fence];
    [encoder endEncoding];
    std::swap(from, to);
    std::vector<float> next(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      next[i] = expected[i == 0 ? 0 : i - 1] + expected[i] + expected[i + 1 < kCount ? i + 1 : i];
    }
    expected = next;
  }
  blit = [commands blitCommandEncoder];
  [blit waitForFence:fence];
  [blit copyFromBuffer:from sourceOffset:0 toBuffer:out destinationOffset:0 size:kBytes];
  [blit endEncoding];
  finish(commands);
  for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(floats(out)[i], expected[i]);
  for (id each : {(id)a, (id)b, (id)heap, (id)fence, (id)in, (id)out, (id)state}) [each release];
}

constexpr char kGather[] = R"(
  #include <metal_stdlib>
  using namespace metal;
  struct Table {
    device const float* parts [[id(0)]] [4];
    float scale [[id(4)]];
  };
  kernel void gather(constant Table& table [[buffer(0)]], device float* out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    out[i] = table.parts[i % 4][i / 4] * table.scale;
  })";

TEST_P(MetalSamples, ArgumentBuffer_HasAnArrayOfPointersIntoAHeap) {
  begin_world();
  id<MTLLibrary> const made = library(kGather);
  id<MTLFunction> const function = [made newFunctionWithName:@"gather"];
  id<MTLComputePipelineState> const state = [device_ newComputePipelineStateWithFunction:function
                                                                                   error:nil];
  id<MTLArgumentEncoder> const arguments = [function newArgumentEncoderWithBufferIndex:0];
  id<MTLBuffer> const table = buffer([arguments encodedLength]), out = buffer(256);
  [arguments setArgumentBuffer:table offset:0];
  MTLHeapDescriptor* const descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
  [descriptor setStorageMode:MTLStorageModePrivate];
  [descriptor setSize:4 * [device_ heapBufferSizeAndAlignWithLength:64
                                                            options:MTLResourceStorageModePrivate]
                              .size];
  id<MTLHeap> const heap = [device_ newHeapWithDescriptor:descriptor];
  id<MTLBuffer> const staging = buffer(256);
  for (int i = 0; i < 64; ++i) floats(staging)[i] = static_cast<float>(i);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> const blit = [commands blitCommandEncoder];
  std::vector<id<MTLBuffer>> parts;
  for (NSUInteger i = 0; i < 4; ++i) {
    parts.push_back([heap newBufferWithLength:64 options:MTLResourceStorageModePrivate]);
    [blit copyFromBuffer:staging
             sourceOffset:i * 64
                 toBuffer:parts.back()
        destinationOffset:0
                     size:64];
    [arguments setBuffer:parts.back() offset:0 atIndex:i];
  }
  *static_cast<float*>([arguments constantDataAtIndex:4]) = 0.5F;
  id<MTLEvent> const event = [device_ newEvent];  // a heap is not tracked
  [blit endEncoding];
  [commands encodeSignalEvent:event value:1];
  [commands encodeWaitForEvent:event value:1];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:table offset:0 atIndex:0];
  [encoder setBuffer:out offset:0 atIndex:1];
  [encoder useHeap:heap];
  [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  [encoder endEncoding];
  finish(commands);
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(floats(out)[i], 0.5F * static_cast<float>(i % 4 * 16 + i / 4));
  }
  for (id<MTLBuffer> part : parts) [part release];
  for (id each : {(id)table, (id)out, (id)staging, (id)heap, (id)event, (id)arguments, (id)state,
                  (id)function, (id)made}) {
    [each release];
  }
}

TEST_P(MetalSamples, SharedEvent_HandsWorkFromQueueToQueueAndToTheHost) {
  begin_world();
  id<MTLComputePipelineState> const state = pipeline(kFilter, "blur");
  id<MTLCommandQueue> const second = [device_ newCommandQueue];
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  MTLSharedEventListener* const listener = [[MTLSharedEventListener alloc] init];
  constexpr std::uint32_t kCount = 64;
  id<MTLBuffer> const a = buffer(kCount * 4), b = buffer(kCount * 4);
  for (std::uint32_t i = 0; i < kCount; ++i) floats(a)[i] = 1;
  __block int heard = 0;
  dispatch_semaphore_t const done = dispatch_semaphore_create(0);
  [event notifyListener:listener
                atValue:6
                  block:^(id<MTLSharedEvent> one, std::uint64_t value) {
                    heard = static_cast<int>(value);
                    [one setSignaledValue:7];  // the last command buffer waits for the host
                    dispatch_semaphore_signal(done);
                  }];
  std::vector<id<MTLCommandBuffer>> all;
  for (std::uint64_t step = 0; step < 6; ++step) {
    id<MTLCommandBuffer> const commands = [(step % 2 == 0 ? queue_ : second) commandBuffer];
    if (step != 0) [commands encodeWaitForEvent:event value:step];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:step % 2 == 0 ? a : b offset:0 atIndex:0];
    [encoder setBuffer:step % 2 == 0 ? b : a offset:0 atIndex:1];
    [encoder setBytes:&kCount length:sizeof(kCount) atIndex:2];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(kCount, 1, 1)];
    [encoder endEncoding];
    [commands encodeSignalEvent:event value:step + 1];
    [commands commit];
    all.push_back(commands);
  }
  id<MTLCommandBuffer> const last = [queue_ commandBuffer];
  [last encodeWaitForEvent:event value:7];
  fill(last, b, 0);
  finish(last);
  for (id<MTLCommandBuffer> one : all) {
    [one waitUntilCompleted];
    EXPECT_EQ([one status], MTLCommandBufferStatusCompleted);
  }
  EXPECT_EQ([last status], MTLCommandBufferStatusCompleted);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  EXPECT_EQ(heard, 6);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(floats(a)[i], 729.0F);  // 3 to the power of 6
    ASSERT_EQ(words(b)[i], 0U);
  }
  dispatch_release(done);
  for (id each : {(id)a, (id)b, (id)event, (id)listener, (id)second, (id)state}) [each release];
}

}  // namespace
}  // namespace metal_tests
