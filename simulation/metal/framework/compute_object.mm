// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLComputeCommandEncoder.
#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/metal/framework/library_objects.h"
#include "simulation/metal/framework/objects.h"

namespace {

// Apple, "Metal Feature Set Tables": maximum length of inline constant data.
constexpr NSUInteger kLongestBytes = 4096;

bool is_slot(NSUInteger index, std::size_t slots, const char* what) {
  if (index < slots) return true;
  metal::fail_assertion("slot-index", std::string(what) + ": index " + std::to_string(index) +
                                          " is not below " + std::to_string(slots));
  return false;
}

metal::Size3 size_of(MTLSize size) { return {size.width, size.height, size.depth}; }

}  // namespace

@implementation SimulatedMetalComputeEncoder
- (MTLDispatchType)dispatchType {
  return pass_ != nullptr && pass_->is_concurrent ? MTLDispatchTypeConcurrent
                                                  : MTLDispatchTypeSerial;
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  if ([self pass:"setComputePipelineState:"] == nullptr) return;
  if (state == nil) {
    metal::fail_assertion("nil-pipeline", "setComputePipelineState: the pipeline state is nil");
    return;
  }
  [commands_ keep:state];
  pipeline_ = static_cast<SimulatedMetalPipeline*>(state)->pipeline_;
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  if ([self pass:"setBytes:"] == nullptr) return;
  if (!is_slot(index, bindings_.size(), "setBytes:")) return;
  if (length == 0 || bytes == nullptr) {
    metal::report("set-bytes", "setBytes: of length 0");
    return;
  }
  if (length > kLongestBytes) {
    metal::report_tolerated(
        "set-bytes", "setBytes: of " + std::to_string(length) + " bytes: Apple's limit is 4096");
  }
  const auto* const begin = static_cast<const std::byte*>(bytes);
  bindings_[index] = {nullptr, 0,
                      std::make_shared<const std::vector<std::byte>>(begin, begin + length)};
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if ([self pass:"setBuffer:"] == nullptr) return;
  if (!is_slot(index, bindings_.size(), "setBuffer:")) return;
  const metal::ResourcePointer& resource = metal::resource_of(buffer);
  if (resource != nullptr && offset >= resource->length()) {
    metal::fail_assertion("buffer-offset", "setBuffer: offset " + std::to_string(offset) +
                                               " is outside of " + resource->text() + " of " +
                                               std::to_string(resource->length()) + " bytes");
    return;
  }
  [commands_ keep:buffer];
  bindings_[index] = {resource, offset, nullptr};
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if ([self pass:"setBufferOffset:"] == nullptr) return;
  if (!is_slot(index, bindings_.size(), "setBufferOffset:")) return;
  metal::Binding& binding = bindings_[index];
  if (binding.resource == nullptr || offset >= binding.resource->length()) {
    metal::fail_assertion("buffer-offset",
                          "setBufferOffset: no buffer is set there that contains the offset");
    return;
  }
  binding.offset = offset;
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers
           offsets:(const NSUInteger[])offsets
         withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
  }
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  if ([self pass:"setThreadgroupMemoryLength:"] == nullptr) return;
  if (!is_slot(index, metal::kThreadgroupSlots, "setThreadgroupMemoryLength:")) return;
  if (length % 16 != 0) {
    metal::report("threadgroup-length", "setThreadgroupMemoryLength: " + std::to_string(length) +
                                            " is not a multiple of 16");
  }
  if (threadgroup_lengths_.size() <= index) threadgroup_lengths_.resize(index + 1);
  threadgroup_lengths_[index] = static_cast<std::uint32_t>((length + 15) / 16 * 16);
}

- (void)add:(metal::Dispatch)dispatch what:(const char*)what {
  metal::Pass* const pass = [self pass:what];
  if (pass == nullptr) return;
  if (pipeline_ == nullptr) {
    metal::fail_assertion("nil-pipeline", std::string(what) + ": no compute pipeline state is set");
    return;
  }
  dispatch.pipeline = pipeline_;
  if (std::ranges::find(dispatched_, pipeline_) == dispatched_.end()) {
    dispatched_.push_back(pipeline_);
  }
  std::size_t count = bindings_.size();
  while (count > 0 && !bindings_[count - 1].is_set()) --count;
  dispatch.bindings.assign(bindings_.begin(),
                           bindings_.begin() + static_cast<std::ptrdiff_t>(count));
  dispatch.threadgroup_lengths = threadgroup_lengths_;
  if (dispatch.indirect == nullptr && dispatch.grid.product() == 0) {
    metal::report_tolerated("empty-dispatch", std::string(what) + ": the grid is empty");
    return;
  }
  if (!metal::check(dispatch, *commands_->queue_->device_->device_)) {
    // The dispatch cannot run; on a device its effect would be undefined.
    return;
  }
  pass->commands.emplace_back(std::move(dispatch));
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
  metal::Dispatch dispatch;
  dispatch.grid = size_of(groups);
  dispatch.group = size_of(threads);
  [self add:std::move(dispatch) what:"dispatchThreadgroups:"];
}
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads {
  metal::Dispatch dispatch;
  dispatch.grid = size_of(grid);
  dispatch.is_in_groups = false;
  dispatch.group = size_of(threads);
  [self add:std::move(dispatch) what:"dispatchThreads:"];
}
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)threads {
  constexpr NSUInteger kLength = 3 * sizeof(std::uint32_t);
  metal::Dispatch dispatch;
  dispatch.indirect = metal::resource_of(buffer);
  dispatch.indirect_offset = offset;
  dispatch.group = size_of(threads);
  if (dispatch.indirect == nullptr || offset % 4 != 0 || dispatch.indirect->length() < kLength ||
      offset > dispatch.indirect->length() - kLength) {
    metal::fail_assertion("indirect-offset",
                          "dispatchThreadgroupsWithIndirectBuffer: 12 bytes at offset " +
                              std::to_string(offset) +
                              " are outside of the buffer or not aligned to 4");
    return;
  }
  [commands_ keep:buffer];
  [self add:std::move(dispatch) what:"dispatchThreadgroupsWithIndirectBuffer:"];
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  metal::Pass* const pass = [self pass:"useResource:"];
  const metal::ResourcePointer& what = metal::resource_of(resource);
  if (pass == nullptr || what == nullptr) return;
  int access = metal::kNoAccess;
  if ((usage & (MTLResourceUsageRead | 4)) != 0) access |= metal::kReadAccess;  // 4: Sample
  if ((usage & MTLResourceUsageWrite) != 0) access |= metal::kWriteAccess;
  if (access == metal::kNoAccess) {
    metal::report("use-resource", "useResource: usage 0 of " + what->text());
    access = metal::kReadAccess;
  }
  [commands_ keep:resource];
  pass->uses.push_back({what, static_cast<metal::Access>(access), pass->commands.size()});
}
- (void)useResources:(const id<MTLResource>[])resources
               count:(NSUInteger)count
               usage:(MTLResourceUsage)usage {
  for (NSUInteger i = 0; i < count; ++i) [self useResource:resources[i] usage:usage];
}
- (void)useHeap:(id<MTLHeap>)heap {
  metal::Pass* const pass = [self pass:"useHeap:"];
  const metal::ResourcePointer& what = metal::resource_of(heap);
  if (pass == nullptr || what == nullptr) return;
  [commands_ keep:heap];
  // Apple: "You may only read or sample resources within the specified heap."
  pass->uses.push_back({what, metal::kReadAccess, pass->commands.size()});
}
- (void)useHeaps:(const id<MTLHeap>[])heaps count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self useHeap:heaps[i]];
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
  metal::Pass* const pass = [self pass:"memoryBarrierWithScope:"];
  if (pass == nullptr || (scope & MTLBarrierScopeBuffers) == 0) return;
  pass->commands.emplace_back(metal::Barrier{});
}
- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count {
  metal::Pass* const pass = [self pass:"memoryBarrierWithResources:"];
  if (pass == nullptr || count == 0) return;
  metal::Barrier barrier;
  for (NSUInteger i = 0; i < count; ++i) {
    if (const metal::ResourcePointer& one = metal::resource_of(resources[i])) {
      barrier.resources.push_back(one);
    }
  }
  pass->commands.emplace_back(std::move(barrier));
}

- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)buffer withRange:(NSRange)range {
  metal::Pass* const pass = [self pass:"executeCommandsInBuffer:"];
  if (pass == nullptr || buffer == nil) return;
  SimulatedMetalIndirectCommandBuffer* const commands =
      static_cast<SimulatedMetalIndirectCommandBuffer*>(buffer);
  if (range.location > commands->commands_->size() ||
      range.length > commands->commands_->size() - range.location) {
    metal::fail_assertion("indirect-range", "executeCommandsInBuffer: the range is outside of it");
    return;
  }
  [commands_ keep:buffer];
  for (NSUInteger i = 0; i < range.length; ++i) {
    const metal::IndirectCommand& one = (*commands->commands_)[range.location + i];
    if (one.has_barrier) pass->commands.emplace_back(metal::Barrier{});
    if (!one.has_dispatch) continue;
    metal::Dispatch dispatch = one.dispatch;
    if (commands->inherits_buffers_) {
      dispatch.bindings.assign(bindings_.begin(), bindings_.end());
    }
    if (commands->inherits_pipeline_) dispatch.pipeline = pipeline_;
    if (dispatch.pipeline == nullptr) {
      metal::fail_assertion("nil-pipeline", "executeCommandsInBuffer: a command has no pipeline");
      continue;
    }
    // Resources that an indirect command binds need useResource:, as pointers do.
    for (const metal::Binding& binding : dispatch.bindings) {
      if (binding.resource == nullptr || commands->inherits_buffers_) continue;
      bool is_used = false;
      for (const metal::Use& use : pass->uses) is_used |= use.resource == binding.resource;
      if (!is_used) {
        metal::report("missing-use-resource",
                      "executeCommandsInBuffer: no useResource: of this encoder names " +
                          binding.resource->text());
      }
    }
    dispatch.lacks_pipeline =
        metal::options().wants_direct_dispatch &&
        std::ranges::find(dispatched_, dispatch.pipeline) == dispatched_.end();
    if (metal::check(dispatch, *commands_->queue_->device_->device_)) {
      pass->commands.emplace_back(std::move(dispatch));
    }
  }
}
- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)buffer
                 indirectBuffer:(id<MTLBuffer>)range_buffer
           indirectBufferOffset:(NSUInteger)offset {
  (void)buffer;
  (void)range_buffer;
  (void)offset;
  metal::fail_assertion("not-simulated",
                        "executeCommandsInBuffer:indirectBuffer: is not simulated: give the range");
}
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)buffer
                 atSampleIndex:(NSUInteger)index
                   withBarrier:(BOOL)barrier {
  (void)buffer;
  (void)index;
  (void)barrier;
  // supportsCounterSampling: returns NO for these points.
  metal::fail_assertion("counter-sampling", "sampleCountersInBuffer: this device samples counters "
                                            "at stage boundaries only");
}
- (void)barrierAfterQueueStages:(MTLStages)after beforeStages:(MTLStages)before {
  (void)after;
  (void)before;
  if (metal::Pass* const pass = [self pass:"barrierAfterQueueStages:"]) pass->is_barrier = true;
}
@end
