// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common functions of all encoders, and MTLBlitCommandEncoder.
#include <cstring>
#include <utility>

#include "simulation/metal/framework/objects.h"

namespace {

// True if the range is inside the buffer; otherwise Metal's assertion ends the process.
bool is_inside(const metal::Resource& resource, NSUInteger offset, NSUInteger length,
               const char* what) {
  if (offset <= resource.length() && length <= resource.length() - offset) return true;
  metal::fail_assertion("blit-range", std::string(what) + ": " + std::to_string(length) +
                                          " bytes at offset " + std::to_string(offset) +
                                          " are outside of " + resource.text() + " of " +
                                          std::to_string(resource.length()) + " bytes");
  return false;
}

// Apple, MTLBlitCommandEncoder: on macOS offsets and lengths are multiples of 4.
void check_multiple_of_4(NSUInteger number, const char* what) {
  if (number % 4 == 0) return;
  metal::report_tolerated("blit-alignment", std::string(what) + " " + std::to_string(number) +
                                                " is not a multiple of 4, as macOS demands");
}

}  // namespace

@implementation SimulatedMetalEncoder
- (instancetype)initWithCommandBuffer:(SimulatedMetalCommandBuffer*)commands
                              compute:(bool)is_compute
                           concurrent:(bool)is_concurrent {
  self = [super init];
  if (self == nil) return nil;
  commands_ = [commands retain];
  commands->open_encoder_ = self;
  pass_ = std::make_unique<metal::Pass>();
  pass_->is_compute = is_compute;
  pass_->is_concurrent = is_concurrent;
  metal::count_created(is_compute ? metal::Class::kComputeEncoder : metal::Class::kBlitEncoder);
  return self;
}
- (void)dealloc {
  const bool is_compute = [self isKindOfClass:[SimulatedMetalComputeEncoder class]];
  metal::count_destroyed(is_compute ? metal::Class::kComputeEncoder : metal::Class::kBlitEncoder);
  if (pass_ != nullptr) {
    // The text is Metal's (wgpu-hal, metal/command.rs:1286).
    metal::fail_assertion("encoder-not-ended", "Command encoder released without endEncoding");
    commands_->open_encoder_ = nil;
  }
  [commands_ release];
  [super dealloc];
}
- (metal::Pass*)pass:(const char*)what {
  if (pass_ == nullptr) {
    metal::fail_assertion("encode-after-end",
                          std::string(what) + " on an encoder that has ended encoding");
  }
  return pass_.get();
}
- (void)setLabel:(NSString*)label {
  [super setLabel:label];
  if (pass_ != nullptr) pass_->label = metal::text(label);
}
- (id<MTLDevice>)device {
  return commands_->queue_->device_;
}
- (void)endEncoding {
  if ([self pass:"endEncoding"] == nullptr) return;
  commands_->open_encoder_ = nil;
  [commands_ addPass:std::move(pass_)];
}
- (void)insertDebugSignpost:(NSString*)name {
  if (metal::Pass* const pass = [self pass:"insertDebugSignpost:"]) {
    pass->signposts.push_back(metal::text(name));
  }
}
- (void)pushDebugGroup:(NSString*)name {
  if (metal::Pass* const pass = [self pass:"pushDebugGroup:"]) {
    pass->signposts.push_back(metal::text(name));
  }
}
- (void)popDebugGroup {
  (void)[self pass:"popDebugGroup"];
}
- (bool)isFenceOfQueue:(SimulatedMetalFence*)fence {
  const std::uint64_t queue = commands_->queue_->queue_->number();
  const halyard::sim::gpu::Lock lock(metal::state().mutex);
  if (fence->fence_->queue == 0) fence->fence_->queue = queue;
  return fence->fence_->queue == queue;
}
- (void)updateFence:(id<MTLFence>)fence {
  metal::Pass* const pass = [self pass:"updateFence:"];
  if (pass == nullptr || fence == nil) return;
  SimulatedMetalFence* const object = static_cast<SimulatedMetalFence*>(fence);
  if (![self isFenceOfQueue:object]) {
    metal::report("fence-queue", "updateFence: a fence orders encoders of one queue only");
  }
  [commands_ keep:fence];
  pass->updates.push_back(object->fence_);
}
- (void)waitForFence:(id<MTLFence>)fence {
  metal::Pass* const pass = [self pass:"waitForFence:"];
  if (pass == nullptr || fence == nil) return;
  SimulatedMetalFence* const object = static_cast<SimulatedMetalFence*>(fence);
  if (![self isFenceOfQueue:object]) {
    metal::report("fence-queue", "waitForFence: a fence orders encoders of one queue only");
  }
  for (const auto& updated : pass->updates) {
    if (updated != object->fence_) continue;
    metal::report("fence-order",
                  "waitForFence: after updateFence: of the same fence in one encoder");
  }
  [commands_ keep:fence];
  pass->waits.push_back(object->fence_);
}
@end

@implementation SimulatedMetalBlitEncoder
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)source_offset
              toBuffer:(id<MTLBuffer>)target
     destinationOffset:(NSUInteger)target_offset
                  size:(NSUInteger)size {
  metal::Pass* const pass = [self pass:"copyFromBuffer:"];
  if (pass == nullptr) return;
  const metal::ResourcePointer& from = metal::resource_of(source);
  const metal::ResourcePointer& to = metal::resource_of(target);
  if (from == nullptr || to == nullptr) {
    metal::fail_assertion("blit-nil", "copyFromBuffer: a buffer is nil");
    return;
  }
  if (!is_inside(*from, source_offset, size, "copyFromBuffer: source") ||
      !is_inside(*to, target_offset, size, "copyFromBuffer: destination")) {
    return;
  }
  if (size == 0) {
    metal::report("empty-copy", "copyFromBuffer: size is 0, which Metal's validation rejects");
    return;
  }
  check_multiple_of_4(source_offset, "copyFromBuffer: sourceOffset");
  check_multiple_of_4(target_offset, "copyFromBuffer: destinationOffset");
  check_multiple_of_4(size, "copyFromBuffer: size");
  if (from == to && source_offset < target_offset + size && target_offset < source_offset + size) {
    metal::report("copy-overlap", "copyFromBuffer: the ranges of " + from->text() + " overlap");
  }
  [commands_ keep:source];
  [commands_ keep:target];
  pass->commands.emplace_back(metal::Copy{from, source_offset, to, target_offset, size});
}
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  metal::Pass* const pass = [self pass:"fillBuffer:"];
  if (pass == nullptr) return;
  const metal::ResourcePointer& target = metal::resource_of(buffer);
  if (target == nullptr) {
    metal::fail_assertion("blit-nil", "fillBuffer: the buffer is nil");
    return;
  }
  if (!is_inside(*target, range.location, range.length, "fillBuffer:")) return;
  if (range.length == 0) {
    metal::report("empty-fill", "fillBuffer: the range is empty, which Metal's validation rejects");
    return;
  }
  check_multiple_of_4(range.location, "fillBuffer: location");
  check_multiple_of_4(range.length, "fillBuffer: length");
  [commands_ keep:buffer];
  pass->commands.emplace_back(metal::Fill{target, range.location, range.length, value});
}
- (void)synchronizeResource:(id<MTLResource>)resource {
  metal::Pass* const pass = [self pass:"synchronizeResource:"];
  const metal::ResourcePointer& what = metal::resource_of(resource);
  if (pass == nullptr || what == nullptr) return;
  if (what->storage() != metal::Storage::kManaged) {
    metal::report("synchronize-resource",
                  "synchronizeResource: of " + what->text() + ", which is not managed");
    return;
  }
  [commands_ keep:resource];
  pass->commands.emplace_back(metal::Synchronize{what});
}
- (void)resetCommandsInBuffer:(id<MTLIndirectCommandBuffer>)buffer withRange:(NSRange)range {
  // Reset at once: passes in flight have copies of the commands, made when they were encoded.
  if ([self pass:"resetCommandsInBuffer:"] != nullptr) [buffer resetWithRange:range];
}
- (void)optimizeIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)buffer
                            withRange:(NSRange)range {
  (void)buffer;
  (void)range;
  (void)[self pass:"optimizeIndirectCommandBuffer:"];
}
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)buffer
                 atSampleIndex:(NSUInteger)index
                   withBarrier:(BOOL)barrier {
  (void)buffer;
  (void)index;
  (void)barrier;
  metal::fail_assertion("counter-sampling", "sampleCountersInBuffer: this device samples counters "
                                            "at stage boundaries only");
}
- (void)barrierAfterQueueStages:(MTLStages)after beforeStages:(MTLStages)before {
  (void)after;
  (void)before;
  if (metal::Pass* const pass = [self pass:"barrierAfterQueueStages:"]) pass->is_barrier = true;
}
@end
