// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/functions.h"

#include <cerrno>

#include "base/native_call.h"

namespace halyard::inline v0::metal {
namespace {

using base::native_call;

HALYARD_CALL_SITE(kCopyAllDevices, "metal.MTLCopyAllDevices", ENODEV);
HALYARD_CALL_SITE(kDefaultDevice, "metal.MTLCreateSystemDefaultDevice", ENODEV);
HALYARD_CALL_SITE(kString, "metal.initWithBytes", ENOMEM);
HALYARD_CALL_SITE(kQueue, "metal.newCommandQueueWithMaxCommandBufferCount", ENOMEM);
HALYARD_CALL_SITE(kSharedEvent, "metal.newSharedEvent", ENOMEM);
HALYARD_CALL_SITE(kFence, "metal.newFence", ENOMEM);
HALYARD_CALL_SITE(kListener, "metal.MTLSharedEventListener", ENOMEM);
HALYARD_CALL_SITE(kBuffer, "metal.newBufferWithLength", ENOMEM);
HALYARD_CALL_SITE(kBufferOver, "metal.newBufferWithBytesNoCopy", ENOMEM);
HALYARD_CALL_SITE(kHeap, "metal.newHeapWithDescriptor", ENOMEM);
HALYARD_CALL_SITE(kBufferIn, "metal.newBufferWithLength_of_heap", ENOMEM);
HALYARD_CALL_SITE(kCommandBuffer, "metal.commandBufferWithUnretainedReferences", ENOMEM);
HALYARD_CALL_SITE(kComputeEncoder, "metal.computeCommandEncoderWithDispatchType", ENOMEM);
HALYARD_CALL_SITE(kBlitEncoder, "metal.blitCommandEncoder", ENOMEM);
HALYARD_CALL_SITE(kCommit, "metal.commit", 0, base::Failing::kErrno,
                  "what fails is the status of the buffer");
HALYARD_CALL_SITE(kRaise, "metal.setSignaledValue", 0, base::Failing::kErrno,
                  "a value that is too small is ignored");
HALYARD_CALL_SITE(kLibrary, "metal.newLibraryWithSource", ENOMEM);
HALYARD_CALL_SITE(kFunction, "metal.newFunctionWithName", ENOENT);
HALYARD_CALL_SITE(kPipeline, "metal.newComputePipelineStateWithFunction", ENOMEM);
HALYARD_CALL_SITE(kArgumentEncoder, "metal.newArgumentEncoderWithBufferIndex", ENOMEM);

}  // namespace

Retained<NSArray<id<MTLDevice>>*> copy_all_devices() {
  return Retained<NSArray<id<MTLDevice>>*>::adopt(
      native_call(kCopyAllDevices, [] { return MTLCopyAllDevices(); }));
}

Retained<id<MTLDevice>> system_default_device() {
  return Retained<id<MTLDevice>>::adopt(
      native_call(kDefaultDevice, [] { return MTLCreateSystemDefaultDevice(); }));
}

Retained<NSString*> make_string(std::string_view text) {
  return Retained<NSString*>::adopt(native_call(kString, [&]() -> NSString* {
    return [[NSString alloc] initWithBytes:text.data()
                                    length:text.size()
                                  encoding:NSUTF8StringEncoding];
  }));
}

Retained<id<MTLCommandQueue>> new_queue(id<MTLDevice> device, NSUInteger max_buffers) {
  return Retained<id<MTLCommandQueue>>::adopt(native_call(
      kQueue, [&] { return [device newCommandQueueWithMaxCommandBufferCount:max_buffers]; }));
}

Retained<id<MTLSharedEvent>> new_shared_event(id<MTLDevice> device) {
  return Retained<id<MTLSharedEvent>>::adopt(
      native_call(kSharedEvent, [&] { return [device newSharedEvent]; }));
}

Retained<id<MTLFence>> new_fence(id<MTLDevice> device) {
  return Retained<id<MTLFence>>::adopt(native_call(kFence, [&] { return [device newFence]; }));
}

Retained<MTLSharedEventListener*> new_listener() {
  return Retained<MTLSharedEventListener*>::adopt(native_call(
      kListener,
      []() -> MTLSharedEventListener* { return [[MTLSharedEventListener alloc] init]; }));
}

Retained<id<MTLBuffer>> new_buffer(id<MTLDevice> device, std::uint64_t size,
                                   MTLResourceOptions options) {
  return Retained<id<MTLBuffer>>::adopt(
      native_call(kBuffer, [&] { return [device newBufferWithLength:size options:options]; }));
}

Retained<id<MTLBuffer>> new_buffer_over(id<MTLDevice> device, void* data, std::uint64_t size,
                                        MTLResourceOptions options) {
  return Retained<id<MTLBuffer>>::adopt(native_call(kBufferOver, [&] {
    return [device newBufferWithBytesNoCopy:data length:size options:options deallocator:nil];
  }));
}

Retained<id<MTLHeap>> new_heap(id<MTLDevice> device, std::uint64_t size, MTLStorageMode mode) {
  return Retained<id<MTLHeap>>::adopt(native_call(kHeap, [&]() -> id<MTLHeap> {
    MTLHeapDescriptor* const descriptor = [[MTLHeapDescriptor alloc] init];
    [descriptor setSize:size];
    [descriptor setStorageMode:mode];
    [descriptor setHazardTrackingMode:MTLHazardTrackingModeUntracked];
    const id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    [descriptor release];
    return heap;
  }));
}

Retained<id<MTLBuffer>> new_buffer_in(id<MTLHeap> heap, std::uint64_t size,
                                      MTLResourceOptions options) {
  return Retained<id<MTLBuffer>>::adopt(
      native_call(kBufferIn, [&] { return [heap newBufferWithLength:size options:options]; }));
}

Retained<id<MTLCommandBuffer>> new_command_buffer(id<MTLCommandQueue> queue) {
  return Retained<id<MTLCommandBuffer>>::share(
      native_call(kCommandBuffer, [&] { return [queue commandBufferWithUnretainedReferences]; }));
}

Retained<id<MTLComputeCommandEncoder>> new_compute_encoder(id<MTLCommandBuffer> buffer) {
  return Retained<id<MTLComputeCommandEncoder>>::share(native_call(kComputeEncoder, [&] {
    return [buffer computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
  }));
}

Retained<id<MTLBlitCommandEncoder>> new_blit_encoder(id<MTLCommandBuffer> buffer) {
  return Retained<id<MTLBlitCommandEncoder>>::share(
      native_call(kBlitEncoder, [&] { return [buffer blitCommandEncoder]; }));
}

void commit(id<MTLCommandBuffer> buffer) {
  native_call(kCommit, [&] { [buffer commit]; });
}

void raise(id<MTLSharedEvent> event, std::uint64_t value) {
  if ([event signaledValue] >= value) return;
  native_call(kRaise, [&] { [event setSignaledValue:value]; });
}

Retained<id<MTLLibrary>> new_library(id<MTLDevice> device, NSString* source,
                                     MTLCompileOptions* options, NSError** error) {
  return Retained<id<MTLLibrary>>::adopt(native_call(
      kLibrary, [&] { return [device newLibraryWithSource:source options:options error:error]; }));
}

Retained<id<MTLFunction>> new_function(id<MTLLibrary> library, NSString* name) {
  return Retained<id<MTLFunction>>::adopt(
      native_call(kFunction, [&] { return [library newFunctionWithName:name]; }));
}

Retained<id<MTLComputePipelineState>> new_pipeline(id<MTLDevice> device, id<MTLFunction> function,
                                                   NSError** error) {
  return Retained<id<MTLComputePipelineState>>::adopt(native_call(kPipeline, [&] {
    return [device newComputePipelineStateWithFunction:function error:error];
  }));
}

Retained<id<MTLArgumentEncoder>> new_argument_encoder(id<MTLFunction> function, NSUInteger index) {
  return Retained<id<MTLArgumentEncoder>>::adopt(native_call(
      kArgumentEncoder, [&] { return [function newArgumentEncoderWithBufferIndex:index]; }));
}

}  // namespace halyard::inline v0::metal
