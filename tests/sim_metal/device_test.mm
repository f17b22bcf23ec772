// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of Metal on the simulated framework: devices, memory, copies, kernels, arguments.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sim_metal/metal_test.h"

namespace metal_tests {
namespace {

class MetalDevice : public MetalTest {};

constexpr char kSaxpy[] = R"(
  #include <metal_stdlib>
  using namespace metal;
  kernel void saxpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                    constant float& a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i] + y[i];
  })";

TEST_F(MetalDevice, Devices_AreThoseOfTheOptions) {
  Options options;
  options.devices = {DeviceKind::kUnified, DeviceKind::kDiscrete, DeviceKind::kRemovable};
  begin(options);
  NSArray* const all = MTLCopyAllDevices();
  ASSERT_EQ([all count], 3U);
  id<MTLDevice> const unified = [all objectAtIndex:0], discrete = [all objectAtIndex:1],
                      removable = [all objectAtIndex:2];
  EXPECT_EQ(unified, device_);
  EXPECT_TRUE([unified hasUnifiedMemory]);
  EXPECT_FALSE([discrete hasUnifiedMemory]);
  EXPECT_FALSE([discrete isRemovable]);
  EXPECT_TRUE([removable isRemovable]);
  EXPECT_TRUE([unified supportsFamily:MTLGPUFamilyApple7]);
  EXPECT_FALSE([unified supportsFamily:MTLGPUFamilyApple8]);
  EXPECT_TRUE([discrete supportsFamily:MTLGPUFamilyMac2]);
  EXPECT_FALSE([discrete supportsFamily:MTLGPUFamilyApple1]);
  EXPECT_NE([unified registryID], [discrete registryID]);
  const MTLSize most = [unified maxThreadsPerThreadgroup];
  EXPECT_EQ(most.width, 1024U);
  [all release];
}

TEST_F(MetalDevice, NoDevices_GiveAnEmptyArrayAndNil) {
  Options options;
  options.devices = {};
  begin(options);
  NSArray* const all = MTLCopyAllDevices();
  EXPECT_EQ([all count], 0U);
  [all release];
  EXPECT_TRUE(device_ == nil);
}

TEST_F(MetalDevice, Saxpy_ComputesInSharedMemory) {
  begin();
  id<MTLComputePipelineState> const state = pipeline(kSaxpy, "saxpy");
  id<MTLBuffer> const x = buffer(4096), y = buffer(4096);
  for (int i = 0; i < 1024; ++i) {
    floats(x)[i] = static_cast<float>(i);
    floats(y)[i] = 1;
  }
  const float a = 2;
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:x offset:0 atIndex:0];
  [encoder setBuffer:y offset:0 atIndex:1];
  [encoder setBytes:&a length:sizeof(a) atIndex:2];
  [encoder dispatchThreads:MTLSizeMake(1024, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
  [encoder endEncoding];
  finish(commands);
  EXPECT_EQ([commands status], MTLCommandBufferStatusCompleted);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(floats(y)[i], 2.0F * static_cast<float>(i) + 1);
  EXPECT_GT([commands GPUStartTime], 0.0);
  EXPECT_GE([commands GPUEndTime], [commands GPUStartTime]);
  [x release];
  [y release];
  [state release];
}

TEST_F(MetalDevice, AllAdversities_ChangeNoResultOfACorrectProgram) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Options options;
    options.adversities = Adversities::all();
    options.devices = {seed % 2 == 0 ? DeviceKind::kDiscrete : DeviceKind::kUnified};
    options.seed = seed;
    options.prints = false;
    begin_process(options);
    pool_ = [[NSAutoreleasePool alloc] init];
    device_ = MTLCreateSystemDefaultDevice();
    queue_ = [device_ newCommandQueue];
    id<MTLComputePipelineState> const state = pipeline(kSaxpy, "saxpy");
    id<MTLBuffer> const x = buffer(4096), y = buffer(4096);
    for (int i = 0; i < 1024; ++i) {
      floats(x)[i] = 1;
      floats(y)[i] = 0;
    }
    std::vector<id<MTLCommandBuffer>> all;
    for (int step = 0; step < 8; ++step) {
      const float a = static_cast<float>(step + 1);
      id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
      id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
      [encoder setComputePipelineState:state];
      [encoder setBuffer:x offset:0 atIndex:0];
      [encoder setBuffer:y offset:0 atIndex:1];
      [encoder setBytes:&a length:sizeof(a) atIndex:2];
      [encoder dispatchThreadgroups:MTLSizeMake(16, 1, 1)
              threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
      [encoder endEncoding];
      [commands commit];
      all.push_back(commands);
    }
    for (id<MTLCommandBuffer> one : all) [one waitUntilCompleted];
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(floats(y)[i], 36.0F) << "seed " << seed;
    [x release];
    [y release];
    [state release];
    [queue_ release];
    [device_ release];
    [pool_ release];
    const EndOfProcess end = end_process();
    EXPECT_EQ(end.misuse, "");
    EXPECT_EQ(end.leaks, "");
  }
}

TEST_F(MetalDevice, ArgumentBuffer_HoldsPointersAndConstants) {
  begin();
  id<MTLLibrary> const made = library(R"(
    #include <metal_stdlib>
    using namespace metal;
    struct Arguments {
      device const uint* in [[id(0)]];
      device uint* out [[id(1)]];
      uint factor [[id(2)]];
    };
    kernel void scale(constant Arguments& arguments [[buffer(0)]],
                      uint i [[thread_position_in_grid]]) {
      arguments.out[i] = arguments.in[i] * arguments.factor;
    })");
  id<MTLFunction> const function = [made newFunctionWithName:@"scale"];
  id<MTLArgumentEncoder> const arguments = [function newArgumentEncoderWithBufferIndex:0];
  ASSERT_TRUE(arguments != nil);
  EXPECT_GE([arguments encodedLength], 20U);
  id<MTLComputePipelineState> const state = [device_ newComputePipelineStateWithFunction:function
                                                                                   error:nullptr];
  id<MTLBuffer> const block = buffer([arguments encodedLength]), in = buffer(64), out = buffer(64);
  for (unsigned i = 0; i < 16; ++i) words(in)[i] = i;
  [arguments setArgumentBuffer:block offset:0];
  [arguments setBuffer:in offset:16 atIndex:0];
  [arguments setBuffer:out offset:0 atIndex:1];
  *static_cast<std::uint32_t*>([arguments constantDataAtIndex:2]) = 3;
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:block offset:0 atIndex:0];
  [encoder useResource:in usage:MTLResourceUsageRead];
  [encoder useResource:out usage:kReadWriteUsage];
  [encoder dispatchThreadgroups:MTLSizeMake(3, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  [encoder endEncoding];
  finish(commands);
  EXPECT_EQ([commands status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ(words(out)[11], 45U);
  [in release];
  [out release];
  [block release];
  [state release];
  [arguments release];
  [function release];
  [made release];
}

TEST_F(MetalDevice, IndirectDispatch_ReadsTheGroupsFromABuffer) {
  begin();
  id<MTLComputePipelineState> const state = pipeline(R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void count(device atomic_uint* out [[buffer(0)]]) {
      atomic_fetch_add_explicit(out, 1, memory_order_relaxed);
    })",
                                                     "count");
  id<MTLBuffer> const target = buffer(16), groups = buffer(64);
  words(target)[0] = 0;
  words(groups)[4] = 2;
  words(groups)[5] = 3;
  words(groups)[6] = 1;
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLComputeCommandEncoder> const encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:target offset:0 atIndex:0];
  [encoder dispatchThreadgroupsWithIndirectBuffer:groups
                             indirectBufferOffset:16
                            threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  [encoder endEncoding];
  finish(commands);
  EXPECT_EQ(words(target)[0], 24U);
  [groups release];
  [target release];
  [state release];
}

TEST_F(MetalDevice, PlacementHeap_PutsBuffersWhereTold) {
  begin();
  MTLHeapDescriptor* const descriptor = [[MTLHeapDescriptor alloc] init];
  EXPECT_EQ([descriptor storageMode], MTLStorageModePrivate);
  [descriptor setSize:65536];
  [descriptor setType:MTLHeapTypePlacement];
  id<MTLHeap> const heap = [device_ newHeapWithDescriptor:descriptor];
  [descriptor release];
  id<MTLBuffer> const one = [heap newBufferWithLength:256
                                              options:MTLResourceStorageModePrivate
                                               offset:1024];
  EXPECT_TRUE([one contents] == nullptr);
  EXPECT_EQ([one heapOffset], 1024U);
  EXPECT_EQ([one heap], heap);
  EXPECT_TRUE([heap newBufferWithLength:256 options:MTLResourceStorageModePrivate
                                 offset:65536] == nil);
  expect_misuse("heap-offset");
  [one release];
  [heap release];
}

TEST_F(MetalDevice, AutomaticHeap_IsNilWhenFull) {
  begin();
  MTLHeapDescriptor* const descriptor = [[MTLHeapDescriptor alloc] init];
  [descriptor setSize:4096];
  [descriptor setStorageMode:MTLStorageModeShared];
  id<MTLHeap> const heap = [device_ newHeapWithDescriptor:descriptor];
  [descriptor release];
  EXPECT_EQ([heap maxAvailableSizeWithAlignment:256], 4096U);
  id<MTLBuffer> const one = [heap newBufferWithLength:4000 options:MTLResourceStorageModeShared];
  EXPECT_TRUE(one != nil);
  EXPECT_TRUE([heap newBufferWithLength:256 options:MTLResourceStorageModeShared] == nil);
  [one release];
  id<MTLBuffer> const two = [heap newBufferWithLength:256 options:MTLResourceStorageModeShared];
  EXPECT_TRUE(two != nil);
  [two release];
  [heap release];
}

TEST_F(MetalDevice, NoCopy_UsesThePagesAndCallsTheDeallocator) {
  begin();
  void* const memory = std::aligned_alloc(16384, 32768);
  std::memset(memory, 5, 32768);
  bool was_called = false;
  bool* const called = &was_called;
  id<MTLBuffer> const source =
      [device_ newBufferWithBytesNoCopy:memory
                                 length:32768
                                options:MTLResourceStorageModeShared
                            deallocator:^(void* pointer, NSUInteger length) {
                              EXPECT_EQ(length, 32768U);
                              std::free(pointer);
                              *called = true;
                            }];
  ASSERT_TRUE(source != nil);
  EXPECT_EQ([source contents], memory);
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  copy(commands, source, target);
  [commands commit];
  [source release];
  [commands waitUntilCompleted];
  EXPECT_EQ(bytes(target)[63], 5);
  EXPECT_TRUE(was_called);
  [target release];
  EXPECT_TRUE([device_ newBufferWithBytesNoCopy:reinterpret_cast<void*>(16384 + 64)
                                         length:16384
                                        options:MTLResourceStorageModeShared
                                    deallocator:nil] == nil);
  expect_misuse("no-copy-pages");
}

TEST_F(MetalDevice, SharedEvent_OrdersTwoQueuesAndNotifies) {
  Options options;
  options.devices = {DeviceKind::kUnified, DeviceKind::kDiscrete};
  begin(options);
  NSArray* const all = MTLCopyAllDevices();
  id<MTLCommandQueue> const other = [[all objectAtIndex:1] newCommandQueue];
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  EXPECT_TRUE([event device] == nil);
  MTLSharedEventHandle* const handle = [event newSharedEventHandle];
  id<MTLSharedEvent> const same = [device_ newSharedEventWithHandle:handle];
  id<MTLCommandBuffer> const second = [other commandBuffer];
  [second encodeWaitForEvent:same value:1];
  [second encodeSignalEvent:same value:2];
  [second commit];
  id<MTLCommandBuffer> const first = [queue_ commandBuffer];
  [first encodeSignalEvent:event value:1];
  [first commit];
  EXPECT_TRUE([event waitUntilSignaledValue:2 timeoutMS:10000]);
  EXPECT_FALSE([event waitUntilSignaledValue:3 timeoutMS:1]);
  [first waitUntilCompleted];
  [second waitUntilCompleted];
  [same release];
  [handle release];
  [event release];
  [other release];
  [all release];
}

TEST_F(MetalDevice, QueueLimit_BlocksCommandBuffer) {
  begin();
  id<MTLCommandQueue> const small = [device_ newCommandQueueWithMaxCommandBufferCount:2];
  for (int i = 0; i < 100; ++i) {
    NSAutoreleasePool* const inner = [[NSAutoreleasePool alloc] init];
    [[small commandBuffer] commit];
    [inner release];
  }
  id<MTLCommandBuffer> const last = [small commandBuffer];
  finish(last);
  EXPECT_EQ([last status], MTLCommandBufferStatusCompleted);
  [small release];
}

TEST_F(MetalDevice, EncoderWithoutEndEncoding_EndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        begin();
        NSAutoreleasePool* const inner = [[NSAutoreleasePool alloc] init];
        [[queue_ commandBuffer] blitCommandEncoder];
        [inner release];
      },
      "Command encoder released without endEncoding");
}

TEST_F(MetalDevice, TwoOpenEncoders_AreRejected) {
  Options options;
  options.aborts = false;
  begin(options);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> const encoder = [commands blitCommandEncoder];
  EXPECT_TRUE([commands computeCommandEncoder] == nil);
  [encoder endEncoding];
  finish(commands);
  expect_misuse("encoder-open");
}

TEST_F(MetalDevice, RemovedDevice_FailsItsWorkAndNotifies) {
  Options options;
  options.devices = {DeviceKind::kRemovable};
  begin(options);
  std::string seen;
  std::string* const names = &seen;
  id<NSObject> observer = nil;
  NSArray* const all =
      MTLCopyAllDevicesWithObserver(&observer, ^(id<MTLDevice>, MTLDeviceNotificationName name) {
        names->append([name UTF8String]).append(" ");
      });
  [all release];
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  [commands encodeWaitForEvent:event value:1];
  [commands commit];
  request_removal(0);
  remove_device(0);
  [commands waitUntilCompleted];
  EXPECT_EQ([[commands error] code], MTLCommandBufferErrorDeviceRemoved);
  EXPECT_EQ(seen, "MTLDeviceRemovalRequestedNotification MTLDeviceWasRemovedNotification ");
  EXPECT_TRUE(buffer(64) == nil);
  MTLRemoveDeviceObserver(observer);
  [observer release];
  [event release];
}

TEST_F(MetalDevice, BinaryArchive_FindsWhatItHolds) {
  begin();
  id<MTLLibrary> const made = library(kSaxpy);
  id<MTLFunction> const function = [made newFunctionWithName:@"saxpy"];
  MTLComputePipelineDescriptor* const wanted = [[MTLComputePipelineDescriptor alloc] init];
  [wanted setComputeFunction:function];
  MTLBinaryArchiveDescriptor* const descriptor = [[MTLBinaryArchiveDescriptor alloc] init];
  NSError* error = nil;
  id<MTLBinaryArchive> archive = [device_ newBinaryArchiveWithDescriptor:descriptor error:&error];
  [wanted setBinaryArchives:[NSArray arrayWithObject:archive]];
  id<MTLComputePipelineState> const missed =
      [device_ newComputePipelineStateWithDescriptor:wanted
                                             options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                          reflection:nullptr
                                               error:&error];
  EXPECT_TRUE(missed == nil);
  EXPECT_TRUE([archive addComputePipelineFunctionsWithDescriptor:wanted error:&error]);
  std::string path = ::testing::TempDir() + "archive_" + std::to_string(getpid());
  NSURL* const url = [NSURL fileURLWithPath:[NSString stringWithUTF8String:path.c_str()]];
  EXPECT_TRUE([archive serializeToURL:url error:&error]);
  [archive release];
  [descriptor setUrl:url];
  archive = [device_ newBinaryArchiveWithDescriptor:descriptor error:&error];
  ASSERT_TRUE(archive != nil);
  [wanted setBinaryArchives:[NSArray arrayWithObject:archive]];
  MTLComputePipelineReflection* reflection = nil;
  id<MTLComputePipelineState> const found =
      [device_ newComputePipelineStateWithDescriptor:wanted
                                             options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                          reflection:&reflection
                                               error:&error];
  EXPECT_TRUE(found != nil);
  EXPECT_EQ([[reflection bindings] count], 3U);
  unlink(path.c_str());
  [found release];
  [archive release];
  [descriptor release];
  [wanted release];
  [function release];
  [made release];
}

TEST_F(MetalDevice, CounterSamples_AreTimesOfThePass) {
  begin();
  ASSERT_TRUE([device_ supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary]);
  MTLCounterSampleBufferDescriptor* const descriptor =
      [[MTLCounterSampleBufferDescriptor alloc] init];
  [descriptor setCounterSet:[[device_ counterSets] objectAtIndex:0]];
  [descriptor setSampleCount:2];
  id<MTLCounterSampleBuffer> const samples =
      [device_ newCounterSampleBufferWithDescriptor:descriptor error:nullptr];
  [descriptor release];
  MTLBlitPassDescriptor* const pass = [MTLBlitPassDescriptor blitPassDescriptor];
  MTLBlitPassSampleBufferAttachmentDescriptor* const attachment =
      [[pass sampleBufferAttachments] objectAtIndexedSubscript:0];
  [attachment setSampleBuffer:samples];
  [attachment setStartOfEncoderSampleIndex:0];
  [attachment setEndOfEncoderSampleIndex:1];
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  id<MTLBlitCommandEncoder> const encoder = [commands blitCommandEncoderWithDescriptor:pass];
  [encoder fillBuffer:target range:NSRange{0, 64} value:1];
  [encoder endEncoding];
  finish(commands);
  NSData* const data = [samples resolveCounterRange:NSRange{0, 2}];
  ASSERT_EQ([data length], 16U);
  const auto* const times = static_cast<const MTLCounterResultTimestamp*>([data bytes]);
  EXPECT_GT(times[0].timestamp, 0U);
  EXPECT_GE(times[1].timestamp, times[0].timestamp);
  [target release];
  [samples release];
}

TEST_F(MetalDevice, Capture_NeedsItsVariable) {
  begin();
  MTLCaptureManager* const manager = [MTLCaptureManager sharedCaptureManager];
  unsetenv("METAL_CAPTURE_ENABLED");
  EXPECT_FALSE([manager supportsDestination:MTLCaptureDestinationGPUTraceDocument]);
  setenv("METAL_CAPTURE_ENABLED", "1", 1);
  MTLCaptureDescriptor* const descriptor = [[MTLCaptureDescriptor alloc] init];
  [descriptor setCaptureObject:device_];
  [descriptor setDestination:MTLCaptureDestinationGPUTraceDocument];
  [descriptor setOutputURL:[NSURL fileURLWithPath:@"trace.gputrace"]];
  NSError* error = nil;
  EXPECT_TRUE([manager startCaptureWithDescriptor:descriptor error:&error]);
  EXPECT_FALSE([manager startCaptureWithDescriptor:descriptor error:&error]);
  EXPECT_EQ([error code], MTLCaptureErrorAlreadyCapturing);
  [manager stopCapture];
  unsetenv("METAL_CAPTURE_ENABLED");
  [descriptor release];
}

}  // namespace
}  // namespace metal_tests
