// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each message to Metal that can fail or block, through the seam of
// base/native_call.h. Names of call sites are "metal.<selector>". Other messages read a property or
// add to a command buffer; their failures appear only in the status of that buffer.
//
// A result of nil means failure; callers turn it into an error. Any thread may call these
// functions, within a pool. Metal's documentation restricts some receivers to one thread at a time:
// command buffers, encoders, buffers, heaps and argument encoders.
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "drivers/metal/retained.h"

namespace halyard::inline v0::metal {

// All devices of the machine. Without devices the result is an empty array or nil.
Retained<NSArray<id<MTLDevice>>*> copy_all_devices();
// For systems that have a device but list none: iOS, and some sessions without a display.
Retained<id<MTLDevice>> system_default_device();

Retained<NSString*> make_string(std::string_view text);

Retained<id<MTLCommandQueue>> new_queue(id<MTLDevice> device, NSUInteger max_buffers);
Retained<id<MTLSharedEvent>> new_shared_event(id<MTLDevice> device);
Retained<id<MTLFence>> new_fence(id<MTLDevice> device);
Retained<MTLSharedEventListener*> new_listener();

Retained<id<MTLBuffer>> new_buffer(id<MTLDevice> device, std::uint64_t size,
                                   MTLResourceOptions options);
// [data, data + size) are whole pages that outlive the buffer.
Retained<id<MTLBuffer>> new_buffer_over(id<MTLDevice> device, void* data, std::uint64_t size,
                                        MTLResourceOptions options);
Retained<id<MTLHeap>> new_heap(id<MTLDevice> device, std::uint64_t size, MTLStorageMode mode);
Retained<id<MTLBuffer>> new_buffer_in(id<MTLHeap> heap, std::uint64_t size,
                                      MTLResourceOptions options);

// The buffer does not retain the resources that it uses. Blocks while the queue has its maximum of
// buffers.
Retained<id<MTLCommandBuffer>> new_command_buffer(id<MTLCommandQueue> queue);
Retained<id<MTLComputeCommandEncoder>> new_compute_encoder(id<MTLCommandBuffer> buffer);
Retained<id<MTLBlitCommandEncoder>> new_blit_encoder(id<MTLCommandBuffer> buffer);
void commit(id<MTLCommandBuffer> buffer);
// Sets the value from the host. Does nothing if the event has already reached it.
void raise(id<MTLSharedEvent> event, std::uint64_t value);

// Warnings set the error, too; only a result of nil means failure.
Retained<id<MTLLibrary>> new_library(id<MTLDevice> device, NSString* source,
                                     MTLCompileOptions* options, NSError** error);
Retained<id<MTLFunction>> new_function(id<MTLLibrary> library, NSString* name);
Retained<id<MTLComputePipelineState>> new_pipeline(id<MTLDevice> device, id<MTLFunction> function,
                                                   NSError** error);
Retained<id<MTLArgumentEncoder>> new_argument_encoder(id<MTLFunction> function, NSUInteger index);

}  // namespace halyard::inline v0::metal
