// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLArgumentEncoder and MTLIndirectCommandBuffer.
#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/metal/framework/library_objects.h"

@implementation SimulatedMetalArgumentEncoder
+ (SimulatedMetalArgumentEncoder*)newWithDevice:(SimulatedMetalDevice*)device
                                        members:(std::vector<EncodedMember>)members
                                         length:(std::size_t)length
                                      alignment:(std::size_t)alignment {
  if (metal::is_nil(metal::Class::kArgumentEncoder)) return nil;
  // Apple, "Metal Feature Set Tables": an argument buffer of tier 1 has up to 64 buffers.
  const auto pointers = std::ranges::count_if(members, &EncodedMember::is_pointer);
  if ([device argumentBuffersSupport] == MTLArgumentBuffersTier1 && pointers > 64) {
    metal::report("argument-count", "an argument buffer of tier 1 has at most 64 buffers, not " +
                                        std::to_string(pointers));
  }
  SimulatedMetalArgumentEncoder* const made = [[SimulatedMetalArgumentEncoder alloc] init];
  made->device_ = [device retain];
  made->members_ = std::move(members);
  // Offsets of argument buffers are those of `constant` buffers.
  made->alignment_ = std::max<std::size_t>(alignment, device->device_->is_unified() ? 16 : 256);
  made->length_ = (length + 15) / 16 * 16;
  metal::count_created(metal::Class::kArgumentEncoder);
  return made;
}
- (void)dealloc {
  metal::count_destroyed(metal::Class::kArgumentEncoder);
  [super dealloc];
}
- (NSUInteger)encodedLength {
  return length_;
}
- (NSUInteger)alignment {
  return alignment_;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset {
  target_ = metal::resource_of(buffer);
  target_offset_ = offset;
  if (target_ == nullptr) return;
  if (offset % alignment_ != 0) {
    metal::report("argument-buffer", "setArgumentBuffer: offset " + std::to_string(offset) +
                                         " is not a multiple of the encoder's alignment " +
                                         std::to_string(alignment_));
  }
  if (offset > target_->length() || length_ > target_->length() - offset) {
    metal::fail_assertion("argument-buffer", "setArgumentBuffer: " + std::to_string(length_) +
                                                 " bytes at offset " + std::to_string(offset) +
                                                 " are outside of " + target_->text());
    target_ = nullptr;
  } else if (target_->host() == nullptr) {
    metal::report("argument-buffer", "setArgumentBuffer: " + target_->text() +
                                         " is private: the host cannot write it");
    target_ = nullptr;
  }
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer
              startOffset:(NSUInteger)start
             arrayElement:(NSUInteger)element {
  const NSUInteger stride = (length_ + alignment_ - 1) / alignment_ * alignment_;
  [self setArgumentBuffer:buffer offset:start + element * stride];
}
// The member's address in the host's copy; null after a report.
- (std::byte*)memberAt:(NSUInteger)index pointer:(bool)is_pointer what:(const char*)what {
  if (target_ == nullptr) {
    metal::report("argument-buffer", std::string(what) + " without an argument buffer");
    return nullptr;
  }
  const auto found = std::ranges::find(members_, index, &EncodedMember::id);
  if (found == members_.end()) {
    metal::fail_assertion("argument-index",
                          std::string(what) + ": no member has id " + std::to_string(index));
    return nullptr;
  }
  if (found->is_pointer != is_pointer) {
    metal::report("argument-index", std::string(what) + ": member \"" + found->name +
                                        (is_pointer ? "\" is no buffer" : "\" is a buffer"));
    return nullptr;
  }
  // Other blocks of the buffer may be in use, but no command in flight may bind this block.
  if (target_->in_flight.load() != 0 &&
      metal::Queue::is_bound_in_flight(*target_, target_offset_, target_offset_ + length_)) {
    metal::report("argument-in-flight", std::string(what) + ": " + target_->text() +
                                            " is written while a command buffer that uses it had "
                                            "not completed");
  }
  return target_->host() + target_offset_ + found->offset;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  std::byte* const place = [self memberAt:index pointer:true what:"setBuffer:"];
  if (place == nullptr) return;
  const metal::ResourcePointer& resource = metal::resource_of(buffer);
  if (resource != nullptr && offset >= resource->length()) {
    metal::report("buffer-offset", "setBuffer: of an argument encoder: offset " +
                                       std::to_string(offset) + " is outside of " +
                                       resource->text());
  }
  const std::uint64_t address = resource == nullptr ? 0 : resource->address() + offset;
  std::memcpy(place, &address, sizeof(address));
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers
           offsets:(const NSUInteger[])offsets
         withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
  }
}
- (void*)constantDataAtIndex:(NSUInteger)index {
  return [self memberAt:index pointer:false what:"constantDataAtIndex:"];
}
@end

@implementation SimulatedMetalIndirectCommand
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  command_->dispatch.pipeline = static_cast<SimulatedMetalPipeline*>(state)->pipeline_;
  if (!command_->dispatch.pipeline->supports_indirect_command_buffers) {
    metal::report("indirect-pipeline",
                  "setComputePipelineState: of an indirect command: the pipeline was made without "
                  "supportIndirectCommandBuffers");
  }
}
- (void)setKernelBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if (index >= slots_) {
    metal::fail_assertion("slot-index", "setKernelBuffer: index " + std::to_string(index) +
                                            " is not below maxKernelBufferBindCount");
    return;
  }
  if (offset >> 32 != 0) {
    // tinygrad, graph/metal.py:117: offsets of indirect commands are cut to 32 bits.
    metal::report("indirect-offset", "setKernelBuffer: an offset beyond 32 bits is cut");
    offset &= 0xffffffff;
  }
  if (command_->dispatch.bindings.size() <= index) command_->dispatch.bindings.resize(index + 1);
  command_->dispatch.bindings[index] = {metal::resource_of(buffer), offset, nullptr};
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  if (index >= metal::kThreadgroupSlots) return;
  if (command_->dispatch.threadgroup_lengths.size() <= index) {
    command_->dispatch.threadgroup_lengths.resize(index + 1);
  }
  command_->dispatch.threadgroup_lengths[index] =
      static_cast<std::uint32_t>((length + 15) / 16 * 16);
}
- (void)concurrentDispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
  command_->dispatch.grid = {groups.width, groups.height, groups.depth};
  command_->dispatch.group = {threads.width, threads.height, threads.depth};
  command_->dispatch.is_in_groups = true;
  command_->has_dispatch = true;
}
- (void)concurrentDispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads {
  command_->dispatch.grid = {grid.width, grid.height, grid.depth};
  command_->dispatch.group = {threads.width, threads.height, threads.depth};
  command_->dispatch.is_in_groups = false;
  command_->has_dispatch = true;
}
- (void)setBarrier {
  command_->has_barrier = true;
}
- (void)clearBarrier {
  command_->has_barrier = false;
}
- (void)reset {
  *command_ = {};
}
@end

@implementation SimulatedMetalIndirectCommandBuffer
- (void)dealloc {
  metal::count_destroyed(metal::Class::kIndirectCommandBuffer);
  [super dealloc];
}
- (NSUInteger)size {
  return commands_->size();
}
- (MTLResourceID)gpuResourceID {
  return MTLResourceID{resource_->number()};
}
- (void)resetWithRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length && range.location + i < commands_->size(); ++i) {
    (*commands_)[range.location + i] = {};
  }
}
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)index {
  if (index >= commands_->size()) {
    metal::fail_assertion("indirect-range", "indirectComputeCommandAtIndex: " +
                                                std::to_string(index) + " is outside of it");
    return nil;
  }
  SimulatedMetalIndirectCommand* const made =
      [[[SimulatedMetalIndirectCommand alloc] init] autorelease];
  made->command_ = {commands_, &(*commands_)[index]};
  made->slots_ = slots_;
  return made;
}
@end
