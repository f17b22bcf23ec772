// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Objective-C classes that implement Metal's protocols over the core. Programs see only the
// protocols, so instance variables are public to the framework's other classes. All objects that a
// program passes in are of these classes.
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <array>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "simulation/metal/framework/queue.h"
#include "simulation/metal/framework/report.h"

namespace metal = halyard::sim::metal;

// The only object of a device. Lives as long as the process.
@interface SimulatedMetalDevice : NSObject <MTLDevice> {
 @public
  metal::Device* device_;
  NSString* name_;
  BOOL maximizes_compilation_;
}
@end

// The base of a device's objects. Shared events, command buffers and encoders leave device_ nil.
@interface SimulatedMetalObject : NSObject {
 @public
  SimulatedMetalDevice* device_;  // retained
  NSString* label_;
}
- (NSString*)label;
- (id<MTLDevice>)device;
@end

// The base of objects that programs may label.
@interface SimulatedMetalLabelled : SimulatedMetalObject
- (void)setLabel:(NSString*)label;
@end

@interface SimulatedMetalQueue : SimulatedMetalLabelled <MTLCommandQueue> {
 @public
  std::shared_ptr<metal::Queue> queue_;
  std::vector<id> residency_sets_;  // retained
}
@end

@interface SimulatedMetalCommandBuffer : SimulatedMetalLabelled <MTLCommandBuffer> {
 @public
  SimulatedMetalQueue* queue_;
  std::shared_ptr<metal::CommandBuffer> commands_;
  NSError* error_;
  NSUInteger error_options_;
  bool is_committed_;
  id open_encoder_;                    // not retained: the encoder retains the command buffer
  std::unordered_set<id> references_;  // retained
  std::vector<id> residency_sets_;     // retained
}
// Retains `object` until the command buffer has ended, if the buffer retains its references.
- (void)keep:(id)object;
// Ends the process if the program may not encode now.
- (bool)mayEncode:(const char*)what;
- (void)addPass:(std::unique_ptr<metal::Pass>)pass;
@end

// One element of an error's MTLCommandBufferEncoderInfoErrorKey.
@interface SimulatedMetalEncoderInfo : NSObject <MTLCommandBufferEncoderInfo> {
 @public
  NSString* label_;
  NSArray* signposts_;
  metal::PassState state_;
}
@end

@interface SimulatedMetalEncoder : SimulatedMetalLabelled {
 @public
  SimulatedMetalCommandBuffer* commands_;
  std::unique_ptr<metal::Pass> pass_;  // null after endEncoding
}
- (instancetype)initWithCommandBuffer:(SimulatedMetalCommandBuffer*)commands
                              compute:(bool)is_compute
                           concurrent:(bool)is_concurrent;
// The pass; ends the process if the encoder has ended.
- (metal::Pass*)pass:(const char*)what;
@end

@interface SimulatedMetalComputeEncoder : SimulatedMetalEncoder <MTLComputeCommandEncoder> {
 @public
  std::shared_ptr<const metal::Pipeline> pipeline_;
  std::array<metal::Binding, metal::kBufferSlots> bindings_;
  std::vector<std::uint32_t> threadgroup_lengths_;
  std::vector<std::shared_ptr<const metal::Pipeline>> dispatched_;  // pipelines, even of empty grids
}
@end

@interface SimulatedMetalBlitEncoder : SimulatedMetalEncoder <MTLBlitCommandEncoder>
@end

// The base of buffers and heaps.
@interface SimulatedMetalResource : SimulatedMetalLabelled {
 @public
  std::shared_ptr<metal::Resource> resource_;
  MTLResourceOptions options_;
  MTLPurgeableState purgeable_;
}
@end

@interface SimulatedMetalHeap : SimulatedMetalResource <MTLHeap> {
 @public
  MTLHeapType type_;
  halyard::sim::gpu::Mutex space_mutex_;
  std::unique_ptr<metal::HeapSpace> space_;  // of an automatic heap
  std::size_t placed_;                       // bytes of buffers of a placement heap
}
- (void)release:(std::size_t)offset length:(std::size_t)length;
@end

@interface SimulatedMetalBuffer : SimulatedMetalResource <MTLBuffer> {
 @public
  SimulatedMetalHeap* heap_;  // retained
  void (^deallocator_)(void* pointer, NSUInteger length);
  std::size_t length_;  // as the program requested it
  bool is_aliasable_;
}
// Returns +1, or nil.
+ (SimulatedMetalBuffer*)newWithDevice:(SimulatedMetalDevice*)device
                                length:(NSUInteger)length
                               options:(MTLResourceOptions)options
                                memory:(void*)memory
                                  heap:(SimulatedMetalHeap*)heap
                                offset:(std::size_t)offset;
@end

@interface SimulatedMetalEvent : SimulatedMetalLabelled <MTLEvent> {
 @public
  std::shared_ptr<metal::Event> event_;
}
@end

@interface SimulatedMetalSharedEvent : SimulatedMetalLabelled <MTLSharedEvent> {
 @public
  std::shared_ptr<metal::Event> event_;
}
- (instancetype)initWithEvent:(std::shared_ptr<metal::Event>)event;
@end

@interface SimulatedMetalFence : SimulatedMetalLabelled <MTLFence> {
 @public
  std::shared_ptr<metal::Fence> fence_;
}
@end

namespace halyard::inline v0::sim::metal {

NSString* string(const std::string& text);  // +0
std::string text(NSString* string);         // "" for nil

// An autorelease pool for the framework's own threads.
class Pool {
 public:
  Pool() : pool_([[NSAutoreleasePool alloc] init]) {}
  ~Pool() { [pool_ release]; }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  NSAutoreleasePool* const pool_;
};

// A copy of the program's block, released within a pool.
template <class Block>
class Held {
 public:
  explicit Held(Block block) : block_([block copy]) {}
  Held(const Held& other) : block_([other.block_ copy]) {}
  Held& operator=(const Held&) = delete;
  ~Held() {
    const Pool pool;
    [block_ release];
  }
  Block get() const { return block_; }

 private:
  const Block block_;
};

// The core object of a program's resource, or of an event of any kind; null for nil.
const ResourcePointer& resource_of(id object);
std::shared_ptr<Event> event_of(id object);

// +0.
NSError* error_of(const Error& error, NSDictionary* information);
NSError* library_error(NSInteger code, const std::string& description);
void set_error(NSError** place, NSError* error);

// Adds the committed allocations of the residency sets.
void add_resident(const std::vector<id>& sets, std::vector<ResourcePointer>& resident);

// +1.
MTLSharedEventHandle* new_handle(SimulatedMetalSharedEvent* event);
std::shared_ptr<Event> event_of_handle(MTLSharedEventHandle* handle);

// Adds the descriptor's counter samples at the begin and the end of the pass.
void add_samples(Pass& pass, MTLComputePassDescriptor* descriptor);
void add_samples(Pass& pass, MTLBlitPassDescriptor* descriptor);

// The device's object, made at the first call.
SimulatedMetalDevice* object_of(Device& device);
// Called when the process ends and the program has released all objects.
void forget_device_objects();

}  // namespace halyard::inline v0::sim::metal
