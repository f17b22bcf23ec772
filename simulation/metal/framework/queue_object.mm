// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLCommandQueue and MTLCommandBuffer.
#include <algorithm>
#include <utility>

#include "simulation/metal/framework/objects.h"

namespace {

// Residency sets of a queue or a command buffer (Apple, "Simplifying GPU resource management with
// residency sets"; mlx resident.h:80).
constexpr std::size_t kResidencySets = 32;

void add_set(std::vector<id>& sets, id set, const char* owner) {
  if (std::ranges::find(sets, set) != sets.end()) return;
  if (sets.size() >= kResidencySets) {
    metal::report("residency-sets", std::string(owner) + " has 32 residency sets already");
    return;
  }
  sets.push_back([set retain]);
}

void remove_set(std::vector<id>& sets, id set) {
  const auto found = std::ranges::find(sets, set);
  if (found == sets.end()) return;
  sets.erase(found);
  [set release];
}

}  // namespace

@implementation SimulatedMetalQueue
- (void)dealloc {
  metal::count_destroyed(metal::Class::kCommandQueue);
  if (queue_ != nullptr) queue_->close();
  for (id set : residency_sets_) [set release];
  [super dealloc];
}
- (id<MTLCommandBuffer>)bufferThatRetains:(bool)is_retaining options:(NSUInteger)error_options {
  if (metal::state().is_child.load() || metal::is_nil(metal::Class::kCommandBuffer)) return nil;
  SimulatedMetalCommandBuffer* const made = [[SimulatedMetalCommandBuffer alloc] init];
  made->queue_ = [self retain];
  made->commands_ = queue_->make_command_buffer(is_retaining);
  made->error_options_ = error_options;
  made->commands_->reports_encoders = (error_options & 1) != 0;
  metal::count_created(metal::Class::kCommandBuffer);
  return [made autorelease];
}
- (id<MTLCommandBuffer>)commandBuffer {
  return [self bufferThatRetains:true options:0];
}
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  return [self bufferThatRetains:false options:0];
}
- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor*)descriptor {
  return [self bufferThatRetains:[descriptor retainedReferences] options:[descriptor errorOptions]];
}
- (void)insertDebugCaptureBoundary {
}
- (void)addResidencySet:(id<MTLResidencySet>)set {
  add_set(residency_sets_, set, "a queue");
}
- (void)addResidencySets:(const id<MTLResidencySet>[])sets count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self addResidencySet:sets[i]];
}
- (void)removeResidencySet:(id<MTLResidencySet>)set {
  remove_set(residency_sets_, set);
}
- (void)removeResidencySets:(const id<MTLResidencySet>[])sets count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self removeResidencySet:sets[i]];
}
@end

@implementation SimulatedMetalCommandBuffer
- (void)dealloc {
  metal::count_destroyed(metal::Class::kCommandBuffer);
  if (!is_committed_) {
    commands_->items.clear();
    commands_->discard();
    [self releaseReferences];
  }
  for (id set : residency_sets_) [set release];
  [error_ release];
  [queue_ release];
  [super dealloc];
}
- (void)releaseReferences {
  std::unordered_set<id> released;
  released.swap(references_);
  for (id reference : released) [reference release];
}
- (void)keep:(id)object {
  if (object == nil || !commands_->is_retaining) return;
  if (references_.insert(object).second) [object retain];
}
- (bool)mayEncode:(const char*)what {
  if (is_committed_) {
    metal::fail_assertion("encode-after-commit",
                          std::string(what) + " on a command buffer that is already committed");
    return false;
  }
  if (open_encoder_ != nil) {
    metal::fail_assertion("encoder-open", std::string(what) +
                                              " while an encoder of the command buffer is open: a "
                                              "command encoder is already encoding to this command "
                                              "buffer");
    return false;
  }
  return true;
}
- (void)addPass:(std::unique_ptr<metal::Pass>)pass {
  pass->end();
  commands_->items.push_back({std::move(pass), false});
}

- (id<MTLDevice>)device {
  return queue_->device_;
}
- (id<MTLCommandQueue>)commandQueue {
  return queue_;
}
- (BOOL)retainedReferences {
  return commands_->is_retaining;
}
- (MTLCommandBufferErrorOption)errorOptions {
  return static_cast<MTLCommandBufferErrorOption>(error_options_);
}
- (id<MTLLogContainer>)logs {
  return nil;
}
- (CFTimeInterval)timeAt:(double metal::CommandBuffer::*)member {
  const halyard::sim::gpu::Lock lock(metal::state().mutex);
  return commands_.get()->*member;
}
- (CFTimeInterval)kernelStartTime {
  return [self timeAt:&metal::CommandBuffer::kernel_start];
}
- (CFTimeInterval)kernelEndTime {
  return [self timeAt:&metal::CommandBuffer::kernel_end];
}
- (CFTimeInterval)GPUStartTime {
  return [self timeAt:&metal::CommandBuffer::gpu_start];
}
- (CFTimeInterval)GPUEndTime {
  // 0 until the completion is visible to the host.
  return [self status] < MTLCommandBufferStatusCompleted
             ? 0
             : [self timeAt:&metal::CommandBuffer::gpu_end];
}
- (MTLCommandBufferStatus)status {
  return static_cast<MTLCommandBufferStatus>(commands_->current_status());
}
- (NSError*)error {
  if ([self status] != MTLCommandBufferStatusError) return nil;
  const halyard::sim::gpu::Lock lock(metal::state().mutex);
  if (error_ == nil) error_ = [[self makeError] retain];
  return error_;
}
- (NSError*)makeError {
  NSMutableDictionary* const information = [NSMutableDictionary dictionary];
  if (commands_->reports_encoders) {
    NSMutableArray* const encoders = [NSMutableArray array];
    for (const metal::Item& item : commands_->items) {
      const auto* const pass = std::get_if<std::unique_ptr<metal::Pass>>(&item.what);
      if (pass == nullptr) continue;
      SimulatedMetalEncoderInfo* const info = [[SimulatedMetalEncoderInfo alloc] init];
      info->label_ = [metal::string((*pass)->label) retain];
      NSMutableArray* const signposts = [[NSMutableArray alloc] init];
      for (const std::string& signpost : (*pass)->signposts) {
        [signposts addObject:metal::string(signpost)];
      }
      info->signposts_ = signposts;
      info->state_ = (*pass)->state;
      [encoders addObject:info];
      [info release];
    }
    [information setObject:encoders forKey:MTLCommandBufferEncoderInfoErrorKey];
  }
  return metal::error_of(commands_->error, information);
}

- (void)enqueue {
  if (is_committed_ || [self status] != MTLCommandBufferStatusNotEnqueued) {
    metal::report("enqueue-twice", "enqueue of a command buffer that is already enqueued");
    return;
  }
  commands_->enqueue();
}
- (void)commit {
  if (is_committed_) {
    metal::fail_assertion("commit-twice", "commit an already committed command buffer");
    return;
  }
  if (open_encoder_ != nil) {
    metal::fail_assertion("encoder-open",
                          "commit of a command buffer whose encoder has not ended encoding");
    return;
  }
  is_committed_ = true;
  metal::add_resident(residency_sets_, commands_->resident);
  metal::add_resident(queue_->residency_sets_, commands_->resident);
  [self retain];
  commands_->release_references = [self] {
    const metal::Pool pool;
    [self releaseReferences];
    [self release];
  };
  // The queue's thread may end the buffer, and this object be deallocated, before commit() returns.
  const std::shared_ptr<metal::CommandBuffer> commands = commands_;
  commands->commit();
}
- (bool)mayAddHandler:(const char*)what {
  if (!is_committed_) return true;
  metal::fail_assertion("handler-after-commit",
                        std::string(what) + " on a command buffer that is already committed");
  return false;
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  if (block == nil || ![self mayAddHandler:"addScheduledHandler:"]) return;
  commands_->scheduled_handlers.emplace_back(
      [self, held = metal::Held<MTLCommandBufferHandler>(block)] { held.get()(self); });
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  if (block == nil || ![self mayAddHandler:"addCompletedHandler:"]) return;
  commands_->completed_handlers.emplace_back(
      [self, held = metal::Held<MTLCommandBufferHandler>(block)] { held.get()(self); });
}
- (bool)mayWait:(const char*)what {
  if (is_committed_) return true;
  metal::fail_assertion("wait-before-commit",
                        std::string(what) + " on a command buffer that is not committed");
  return false;
}
- (void)waitUntilScheduled {
  if ([self mayWait:"waitUntilScheduled"]) commands_->wait_until_scheduled();
}
- (void)waitUntilCompleted {
  if ([self mayWait:"waitUntilCompleted"]) commands_->wait_until_completed();
}

- (SimulatedMetalComputeEncoder*)computeEncoder:(bool)is_concurrent {
  if (![self mayEncode:"computeCommandEncoder"]) return nil;
  if (metal::is_nil(metal::Class::kComputeEncoder)) return nil;
  return [[[SimulatedMetalComputeEncoder alloc] initWithCommandBuffer:self
                                                              compute:true
                                                           concurrent:is_concurrent] autorelease];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [self computeEncoder:false];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type {
  return [self computeEncoder:type == MTLDispatchTypeConcurrent];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:
    (MTLComputePassDescriptor*)descriptor {
  SimulatedMetalComputeEncoder* const encoder =
      [self computeEncoder:[descriptor dispatchType] == MTLDispatchTypeConcurrent];
  if (encoder != nil) metal::add_samples(*encoder->pass_, descriptor);
  return encoder;
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  if (![self mayEncode:"blitCommandEncoder"]) return nil;
  if (metal::is_nil(metal::Class::kBlitEncoder)) return nil;
  return [[[SimulatedMetalBlitEncoder alloc] initWithCommandBuffer:self
                                                           compute:false
                                                        concurrent:false] autorelease];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor*)descriptor {
  SimulatedMetalBlitEncoder* const encoder =
      static_cast<SimulatedMetalBlitEncoder*>([self blitCommandEncoder]);
  if (encoder != nil) metal::add_samples(*encoder->pass_, descriptor);
  return encoder;
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  if (event == nil || ![self mayEncode:"encodeWaitForEvent:value:"]) return;
  [self keep:event];
  commands_->items.push_back({metal::EventWait{metal::event_of(event), value}, false});
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  if (event == nil || ![self mayEncode:"encodeSignalEvent:value:"]) return;
  [self keep:event];
  commands_->items.push_back({metal::EventSignal{metal::event_of(event), value}, false});
}
- (void)pushDebugGroup:(NSString*)name {
  (void)name;
}
- (void)popDebugGroup {
}
- (void)useResidencySet:(id<MTLResidencySet>)set {
  add_set(residency_sets_, set, "a command buffer");
}
- (void)useResidencySets:(const id<MTLResidencySet>[])sets count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self useResidencySet:sets[i]];
}
@end

@implementation SimulatedMetalEncoderInfo
- (void)dealloc {
  [label_ release];
  [signposts_ release];
  [super dealloc];
}
- (NSString*)label {
  return label_;
}
- (NSArray*)debugSignposts {
  return signposts_;
}
- (MTLCommandEncoderErrorState)errorState {
  return static_cast<MTLCommandEncoderErrorState>(state_);
}
@end
