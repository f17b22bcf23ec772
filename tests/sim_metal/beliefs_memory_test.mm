// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beliefs of programs about Metal, and the facts: memory, hazards, residency, copies.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "sim_metal/metal_test.h"

namespace metal_tests {
namespace {

class MemoryBeliefs : public MetalTest {
 protected:
  // +1: writes 42 through the pointer at id 0 of an argument buffer at index 0.
  id<MTLComputePipelineState> writer(id<MTLArgumentEncoder>* encoder) {
    id<MTLLibrary> const made = library(R"(
      #include <metal_stdlib>
      using namespace metal;
      struct Arguments { device uint* out [[id(0)]]; };
      kernel void write(device Arguments& arguments [[buffer(0)]],
                        uint i [[thread_position_in_grid]]) { arguments.out[i] = 42; })");
    id<MTLFunction> const function = [made newFunctionWithName:@"write"];
    *encoder = [function newArgumentEncoderWithBufferIndex:0];
    id<MTLComputePipelineState> const state = [device_ newComputePipelineStateWithFunction:function
                                                                                     error:nullptr];
    [function release];
    [made release];
    return state;
  }
  // Fills the same memory twice through two buffers: whether the second fill always comes last.
  void expect_ordered(bool is_ordered, id<MTLBuffer> one, id<MTLBuffer> other) {
    int wrong = 0;
    for (int round = 0; round < 100; ++round) {
      id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
      fill(commands, one, 1);
      fill(commands, other, 2);
      finish(commands);
      wrong += bytes(one)[0] == 2 ? 0 : 1;
    }
    EXPECT_EQ(wrong == 0, is_ordered) << wrong;
  }
};

// 12. A buffer's dealloc autoreleases its device, so a program that releases a buffer needs a pool
//     (llama.cpp#27883).
TEST_F(MemoryBeliefs, B12_ReleaseInAHandler_NeedsAPool) {
  begin();
  for (const bool has_pool : {true, false}) {
    EXPECT_FALSE(has_misuse("missing-pool"));
    void* const freed = buffer(64);  // not retained by the block
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
      NSAutoreleasePool* const pool = has_pool ? [[NSAutoreleasePool alloc] init] : nil;
      [static_cast<id>(freed) release];
      [pool release];
    }];
    finish(commands);
  }
  expect_misuse("missing-pool");
}

TEST_F(MemoryBeliefs, B12_ReleaseTooOften_IsReported) {
  begin();
  id<MTLBuffer> const freed = buffer(64);
  [freed release];
  [freed release];
  expect_misuse("over-release");
}

// 13. Only command buffers with retained references keep their resources (wgpu#1556).
TEST_F(MemoryBeliefs, B13_UnretainedResource_IsGoneAtOnce) {
  begin();
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const commands = [queue_ commandBufferWithUnretainedReferences];
  [commands encodeWaitForEvent:gate value:1];
  fill(commands, target, 1);
  [commands commit];
  [target release];
  [gate setSignaledValue:1];
  [commands waitUntilCompleted];
  EXPECT_EQ([[commands error] code], MTLCommandBufferErrorInvalidResource);
  [gate release];
  expect_misuse("freed-in-flight");
}

TEST_F(MemoryBeliefs, B13_UnretainedPipeline_IsGoneAtOnce) {
  begin();
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLArgumentEncoder> arguments = nil;
  id<MTLComputePipelineState> const state = writer(&arguments);
  id<MTLBuffer> const block = buffer(64);
  id<MTLCommandBuffer> const commands = [queue_ commandBufferWithUnretainedReferences];
  [commands encodeWaitForEvent:gate value:1];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:block offset:0 atIndex:0];
  [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
  [commands commit];
  [state release];
  [gate setSignaledValue:1];
  [commands waitUntilCompleted];
  EXPECT_EQ([[commands error] code], MTLCommandBufferErrorInvalidResource);
  [block release];
  [arguments release];
  [gate release];
  expect_misuse("used-after-free");
}

TEST_F(MemoryBeliefs, B13_RetainedResource_LivesUntilCompletion) {
  begin();
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  [commands encodeWaitForEvent:gate value:1];
  fill(commands, target, 1);
  [commands commit];
  [target release];
  EXPECT_EQ(live_objects("MTLBuffer"), 1U);
  [gate setSignaledValue:1];
  [commands waitUntilCompleted];
  EXPECT_EQ([commands status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ(live_objects("MTLBuffer"), 0U);
  [gate release];
}

// 14. The usage counts: iree has the test inverted (direct_command_buffer.m:977).
TEST_F(MemoryBeliefs, B14_WriteThroughReadUsage_IsReported) {
  begin();
  id<MTLArgumentEncoder> arguments = nil;
  id<MTLComputePipelineState> const state = writer(&arguments);
  id<MTLBuffer> const block = buffer([arguments encodedLength]), target = buffer(64);
  [arguments setArgumentBuffer:block offset:0];
  [arguments setBuffer:target offset:0 atIndex:0];
  for (const MTLResourceUsage usage :
       {MTLResourceUsage{kReadWriteUsage}, MTLResourceUsage{MTLResourceUsageRead}}) {
    EXPECT_FALSE(has_misuse("write-through-read-usage"));
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:block offset:0 atIndex:0];
    [encoder useResource:target usage:usage];
    [encoder dispatchThreadgroups:MTLSizeMake(2, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    finish(commands);
    EXPECT_EQ([commands status], MTLCommandBufferStatusCompleted);
    EXPECT_EQ(words(target)[7], 42U);
  }
  [target release];
  [block release];
  [arguments release];
  [state release];
  expect_misuse("write-through-read-usage");
}

// 15. Buffers of a heap are untracked unless the heap is tracked; then it is one resource.
TEST_F(MemoryBeliefs, B15_HeapBuffers_AreUntracked) {
  Options options;
  options.adversities.reorder_encoders = true;
  begin(options);
  for (const bool is_tracked : {false, true}) {
    MTLHeapDescriptor* const descriptor = [[MTLHeapDescriptor alloc] init];
    [descriptor setSize:65536];
    [descriptor setStorageMode:MTLStorageModeShared];
    if (is_tracked) [descriptor setHazardTrackingMode:MTLHazardTrackingModeTracked];
    id<MTLHeap> const heap = [device_ newHeapWithDescriptor:descriptor];
    [descriptor release];
    id<MTLBuffer> const target = [heap newBufferWithLength:64 options:MTLResourceStorageModeShared];
    EXPECT_EQ([target hazardTrackingMode],
              is_tracked ? MTLHazardTrackingModeTracked : MTLHazardTrackingModeUntracked);
    expect_ordered(is_tracked, target, target);
    [target release];
    [heap release];
  }
}

// 15. A tracked heap is one resource: encoders that use different buffers of it wait for each
// other, which is visible if the buffers overlap.
TEST_F(MemoryBeliefs, B15_TrackedHeap_IsOneResource) {
  Options options;
  options.adversities.reorder_encoders = true;
  begin(options);
  for (const bool is_tracked : {false, true}) {
    MTLHeapDescriptor* const descriptor = [[MTLHeapDescriptor alloc] init];
    [descriptor setSize:65536];
    [descriptor setType:MTLHeapTypePlacement];
    [descriptor setStorageMode:MTLStorageModeShared];
    [descriptor setHazardTrackingMode:is_tracked ? MTLHazardTrackingModeTracked
                                                 : MTLHazardTrackingModeUntracked];
    id<MTLHeap> const heap = [device_ newHeapWithDescriptor:descriptor];
    [descriptor release];
    id<MTLBuffer> const one = [heap newBufferWithLength:64
                                                options:MTLResourceStorageModeShared
                                                 offset:0];
    id<MTLBuffer> const other = [heap newBufferWithLength:64
                                                  options:MTLResourceStorageModeShared
                                                   offset:0];
    expect_ordered(is_tracked, one, other);
    [other release];
    [one release];
    [heap release];
  }
}

// 16. Nothing orders encoders of untracked resources, write-after-read included (mlx#3630).
TEST_F(MemoryBeliefs, B16_Untracked_ReordersEncodersUnlessFenced) {
  Options options;
  options.adversities.reorder_encoders = true;
  begin(options);
  id<MTLBuffer> const source = buffer(64, kSharedUntracked);
  id<MTLBuffer> const target = buffer(64);
  id<MTLFence> const fence = [device_ newFence];
  for (const bool is_fenced : {false, true}) {
    int wrong = 0;
    for (int round = 0; round < 100; ++round) {
      std::memset([source contents], 1, 64);
      id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
      id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
      [encoder copyFromBuffer:source sourceOffset:0 toBuffer:target destinationOffset:0 size:64];
      if (is_fenced) [encoder updateFence:fence];
      [encoder endEncoding];
      encoder = [commands blitCommandEncoder];
      if (is_fenced) [encoder waitForFence:fence];
      [encoder fillBuffer:source range:NSRange{0, 64} value:2];
      [encoder endEncoding];
      finish(commands);
      wrong += bytes(target)[0] == 1 ? 0 : 1;
    }
    if (is_fenced) {
      EXPECT_EQ(wrong, 0);
    } else {
      EXPECT_GT(wrong, 0);
    }
  }
  [fence release];
  [target release];
  [source release];
}

// 18. useResource: applies only to its encoder.
TEST_F(MemoryBeliefs, B18_UseResource_IsPerEncoder) {
  begin();
  id<MTLArgumentEncoder> arguments = nil;
  id<MTLComputePipelineState> const state = writer(&arguments);
  id<MTLBuffer> const block = buffer([arguments encodedLength]), target = buffer(64);
  [arguments setArgumentBuffer:block offset:0];
  [arguments setBuffer:target offset:0 atIndex:0];
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  for (int i = 0; i < 2; ++i) {
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:block offset:0 atIndex:0];
    if (i == 0) {
      [encoder useResource:target usage:kReadWriteUsage];
    }
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
  }
  finish(commands);
  EXPECT_EQ([[commands error] code], MTLCommandBufferErrorPageFault);
  [target release];
  [block release];
  [arguments release];
  [state release];
  expect_misuse("missing-use-resource");
}

// 19. Shared memory is coherent "only at command buffer boundaries" (Apple, MTLStorageMode).
TEST_F(MemoryBeliefs, B19_Shared_IsSnapshotAtCommit) {
  Options options;
  options.adversities.snapshot_shared = true;
  begin(options);
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLBuffer> const source = buffer(64), target = buffer(64);
  std::memset([source contents], 1, 64);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  [commands encodeWaitForEvent:gate value:1];
  copy(commands, source, target);
  [commands commit];
  std::memset([source contents], 2, 64);
  [gate setSignaledValue:1];
  [commands waitUntilCompleted];
  EXPECT_EQ(bytes(target)[0], 1);
  [target release];
  [source release];
  [gate release];
}

// 20. didModifyRange: is not for command buffers that are committed (objc2, MTLBuffer:41).
// 21. A blit copies the device's writes to managed memory to the host, when it has completed.
TEST_F(MemoryBeliefs, B20_Managed_IsTwoCopies) {
  Options options;
  options.devices = {DeviceKind::kDiscrete};
  begin(options);
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLBuffer> const source = buffer(64, MTLResourceStorageModeManaged), target = buffer(64);
  std::memset([source contents], 1, 64);
  [source didModifyRange:NSRange{0, 64}];
  id<MTLCommandBuffer> const first = [queue_ commandBuffer];
  [first encodeWaitForEvent:gate value:1];
  copy(first, source, target);
  [first commit];
  std::memset([source contents], 2, 64);
  [source didModifyRange:NSRange{0, 64}];
  [gate setSignaledValue:1];
  [first waitUntilCompleted];
  EXPECT_EQ(bytes(target)[0], 1);

  id<MTLCommandBuffer> const second = [queue_ commandBuffer];
  copy(second, source, target);
  fill(second, source, 3);
  finish(second);
  EXPECT_EQ(bytes(target)[0], 2);
  EXPECT_EQ(bytes(source)[0], 2);

  id<MTLCommandBuffer> const third = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> const encoder = [third blitCommandEncoder];
  [encoder synchronizeResource:source];
  [encoder endEncoding];
  finish(third);
  EXPECT_EQ(bytes(source)[0], 3);
  [target release];
  [source release];
  [gate release];
}

// 22. Length 0 gives nil, and copies of 0 bytes are rejected (dawn, DeviceMTL.mm:332).
TEST_F(MemoryBeliefs, B22_LengthZero_IsNil) {
  begin();
  EXPECT_TRUE(buffer(0) == nil);
  expect_misuse("empty-buffer");
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> const encoder = [commands blitCommandEncoder];
  [encoder copyFromBuffer:target sourceOffset:0 toBuffer:target destinationOffset:32 size:0];
  [encoder endEncoding];
  finish(commands);
  [target release];
  expect_misuse("empty-copy");
}

// 24. On macOS fills have offsets and lengths of multiples of 4 (Apple); ggml fills one byte.
TEST_F(MemoryBeliefs, B24_ByteFill_IsReportedIfStrict) {
  for (const bool is_strict : {true, false}) {
    Options options;
    options.strict = is_strict;
    begin(options);
    id<MTLBuffer> const target = buffer(64);
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLBlitCommandEncoder> const encoder = [commands blitCommandEncoder];
    [encoder fillBuffer:target range:NSRange{1, 3} value:9];
    [encoder endEncoding];
    finish(commands);
    EXPECT_EQ(bytes(target)[3], 9);
    expect_misuse("blit-alignment", is_strict);
    EXPECT_EQ(notes().size(), is_strict ? 0U : 1U);
    [target release];
  }
}

// 36. Argument buffers of tier 1 take 64 buffers (dawn, PhysicalDeviceMTL.mm:932).
TEST_F(MemoryBeliefs, B36_Tier1_HasSixtyFourBuffers) {
  Options options;
  options.unified_family = 1005;
  begin(options);
  EXPECT_EQ([device_ argumentBuffersSupport], MTLArgumentBuffersTier1);
  for (const NSUInteger count : {64U, 65U}) {
    EXPECT_FALSE(has_misuse("argument-count"));
    MTLArgumentDescriptor* const one = [MTLArgumentDescriptor argumentDescriptor];
    [one setDataType:MTLDataTypePointer];
    [one setArrayLength:count];
    id<MTLArgumentEncoder> const encoder =
        [device_ newArgumentEncoderWithArguments:[NSArray arrayWithObject:one]];
    EXPECT_GE([encoder encodedLength], count * 8);
    [encoder release];
  }
  expect_misuse("argument-count");
}

// 38. A set's additions count after its commit (Apple, MTLResidencySet).
TEST_F(MemoryBeliefs, B38_Residency_CountsAfterCommit) {
  begin();
  id<MTLArgumentEncoder> arguments = nil;
  id<MTLComputePipelineState> const state = writer(&arguments);
  id<MTLBuffer> const block = buffer([arguments encodedLength]), target = buffer(64);
  [arguments setArgumentBuffer:block offset:0];
  [arguments setBuffer:target offset:0 atIndex:0];
  MTLResidencySetDescriptor* const descriptor = [[MTLResidencySetDescriptor alloc] init];
  id<MTLResidencySet> const set = [device_ newResidencySetWithDescriptor:descriptor error:nullptr];
  [descriptor release];
  [set addAllocation:target];
  [queue_ addResidencySet:set];
  for (const bool is_committed : {true, false}) {
    if (is_committed) [set commit];
    if (!is_committed) {
      [set removeAllAllocations];
      [set commit];
      [set addAllocation:target];
    }
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:block offset:0 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    finish(commands);
    EXPECT_EQ([commands status] == MTLCommandBufferStatusCompleted, is_committed);
  }
  [queue_ removeResidencySet:set];
  [set release];
  [target release];
  [block release];
  [arguments release];
  [state release];
  expect_misuse("missing-use-resource");
}

// 39. sysctl iogpu.rsrc_limit limits the number of resources (mlx#1718).
TEST_F(MemoryBeliefs, B39_TooManyBuffers_AreNil) {
  Options options;
  options.max_objects = 3;
  options.nil_objects = {{"MTLSharedEvent", 2}};
  begin(options);
  std::vector<id<MTLBuffer>> all;
  for (int i = 0; i < 5; ++i) {
    if (id<MTLBuffer> const one = buffer(64)) all.push_back(one);
  }
  EXPECT_EQ(all.size(), 3U);
  for (id<MTLBuffer> one : all) [one release];
  id<MTLSharedEvent> const first = [device_ newSharedEvent];
  EXPECT_TRUE(first != nil);
  EXPECT_TRUE([device_ newSharedEvent] == nil);
  [first release];
}

}  // namespace
}  // namespace metal_tests
