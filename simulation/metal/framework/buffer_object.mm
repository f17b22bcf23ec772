// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLBuffer and MTLHeap.
#include <algorithm>
#include <cstring>

#include "simulation/metal/framework/objects.h"

namespace {

using halyard::sim::gpu::Lock;

metal::Storage storage_of(MTLResourceOptions options) {
  return static_cast<metal::Storage>((options >> 4) & 3);
}
NSUInteger hazard_mode(MTLResourceOptions options) { return (options >> 8) & 3; }

// The alignment of buffers in heaps on Apple GPUs.
constexpr std::size_t kHeapAlignment = 256;

}  // namespace

@implementation SimulatedMetalResource
- (void)setLabel:(NSString*)label {
  [super setLabel:label];
  resource_->set_label(metal::text(label));
}
- (MTLCPUCacheMode)cpuCacheMode {
  return static_cast<MTLCPUCacheMode>(options_ & 15);
}
- (MTLStorageMode)storageMode {
  return static_cast<MTLStorageMode>(resource_->storage());
}
- (MTLHazardTrackingMode)hazardTrackingMode {
  return resource_->is_tracked() ? MTLHazardTrackingModeTracked : MTLHazardTrackingModeUntracked;
}
- (MTLResourceOptions)resourceOptions {
  return options_;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  const MTLPurgeableState before = purgeable_;
  if (state == MTLPurgeableStateKeepCurrent) return before;
  purgeable_ = state;
  if (state == MTLPurgeableStateEmpty) {
    if (resource_->in_flight.load() != 0) {
      metal::report("purged-in-flight", resource_->text() + " was emptied while a command buffer "
                                                            "that uses it had not completed");
    }
    std::memset(resource_->gpu(), 0x9a, resource_->length());
  }
  return before;
}
- (NSUInteger)allocatedSize {
  return (resource_->length() + 16383) / 16384 * 16384;
}
@end

@implementation SimulatedMetalBuffer
+ (SimulatedMetalBuffer*)newWithDevice:(SimulatedMetalDevice*)device
                                length:(NSUInteger)length
                               options:(MTLResourceOptions)options
                                memory:(void*)memory
                                  heap:(SimulatedMetalHeap*)heap
                                offset:(std::size_t)offset {
  if (metal::is_nil(metal::Class::kBuffer)) return nil;
  if (metal::state().is_child.load() || device->device_->is_removed.load()) return nil;
  if (length == 0) {
    metal::report("empty-buffer", "a buffer of length 0 is nil");
    return nil;
  }
  if (length > metal::options().max_buffer_bytes) return nil;
  const metal::Storage storage = storage_of(options);
  if (storage == metal::Storage::kMemoryless) {
    metal::report("storage-mode", "a buffer cannot be memoryless");
    return nil;
  }
  bool is_tracked = hazard_mode(options) != MTLHazardTrackingModeUntracked;
  if (heap != nil) {
    // Default means untracked in a heap (objc2 MTLHeap).
    is_tracked = heap->resource_->is_tracked();
  }
  const std::shared_ptr<metal::Resource> resource =
      metal::Resource::create({.device = device->device_,
                               .length = length,
                               .storage = storage,
                               .is_tracked = is_tracked,
                               .is_heap = false,
                               .host_memory = static_cast<std::byte*>(memory),
                               .heap = heap != nil ? heap->resource_ : nullptr,
                               .heap_offset = offset});
  if (resource == nullptr) return nil;
  SimulatedMetalBuffer* const made = [[SimulatedMetalBuffer alloc] init];
  made->device_ = [device retain];
  made->resource_ = resource;
  made->options_ = options;
  made->purgeable_ = MTLPurgeableStateNonVolatile;
  made->heap_ = [heap retain];
  made->length_ = length;
  metal::count_created(metal::Class::kBuffer);
  return made;
}
- (void)dealloc {
  metal::count_destroyed(metal::Class::kBuffer);
  resource_->free_object();
  if (heap_ != nil) {
    if (!is_aliasable_) [heap_ release:resource_->heap_offset() length:length_];
    [heap_ release];
  }
  if (deallocator_ != nil) {
    void* const memory = resource_->host();
    resource_.reset();
    deallocator_(memory, length_);
    [deallocator_ release];
  }
  [super dealloc];
}
- (NSUInteger)length {
  return length_;
}
- (void*)contents {
  return resource_->host();
}
- (void)didModifyRange:(NSRange)range {
  if (resource_->storage() != metal::Storage::kManaged) {
    metal::report("did-modify-range",
                  "didModifyRange: of " + resource_->text() + ", which is not managed");
    return;
  }
  if (range.location > length_ || range.length > length_ - range.location) {
    metal::report("did-modify-range",
                  "didModifyRange: of " + resource_->text() + " is outside of the buffer");
  }
  resource_->did_modify({range.location, range.location + range.length});
}
- (void)addDebugMarker:(NSString*)marker range:(NSRange)range {
  (void)marker;
  (void)range;
}
- (void)removeAllDebugMarkers {
}
- (id<MTLHeap>)heap {
  return heap_;
}
- (NSUInteger)heapOffset {
  return resource_->heap_offset();
}
- (void)makeAliasable {
  if (heap_ == nil || std::exchange(is_aliasable_, true)) return;
  resource_->is_aliasable.store(true);
  [heap_ release:resource_->heap_offset() length:length_];
}
- (BOOL)isAliasable {
  return is_aliasable_;
}
- (uint64_t)gpuAddress {
  if (!metal::options().has_metal3) {
    metal::report("gpu-address", "gpuAddress needs Metal 3, which this device does not support");
    return 0;
  }
  return resource_->address();
}
- (MTLBufferSparseTier)sparseBufferTier {
  return MTLBufferSparseTierNone;
}
- (id<MTLBuffer>)remoteStorageBuffer {
  return nil;
}
- (id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device {
  (void)device;
  return nil;  // no devices of a peer group
}
@end

@implementation SimulatedMetalHeap
- (void)dealloc {
  metal::count_destroyed(metal::Class::kHeap);
  resource_->free_object();
  [super dealloc];
}
- (MTLHeapType)type {
  return type_;
}
- (NSUInteger)size {
  return resource_->length();
}
- (NSUInteger)usedSize {
  const Lock lock(space_mutex_);
  return space_ != nullptr ? space_->used() : placed_;
}
- (NSUInteger)currentAllocatedSize {
  return resource_->length();
}
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
  const Lock lock(space_mutex_);
  if (space_ == nullptr) return 0;
  return space_->largest(std::max<std::size_t>(alignment, 1));
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  if (space_ == nullptr) {
    metal::report("heap-type", "newBufferWithLength:options: of a placement heap is nil");
    return nil;
  }
  if (![self hasOptions:options]) return nil;
  std::size_t offset = 0;
  {
    const Lock lock(space_mutex_);
    if (length == 0 || !space_->allocate(length, kHeapAlignment, &offset)) return nil;
  }
  SimulatedMetalBuffer* const made = [SimulatedMetalBuffer newWithDevice:device_
                                                                  length:length
                                                                 options:options
                                                                  memory:nullptr
                                                                    heap:self
                                                                  offset:offset];
  if (made == nil) [self release:offset length:0];
  return made;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options
                              offset:(NSUInteger)offset {
  if (space_ != nullptr) {
    metal::report("heap-type", "newBufferWithLength:options:offset: needs a placement heap");
    return nil;
  }
  if (![self hasOptions:options]) return nil;
  const std::size_t size = resource_->length();
  if (offset % kHeapAlignment != 0 || offset > size || length > size - offset) {
    metal::report("heap-offset", "a buffer of " + std::to_string(length) + " bytes at offset " +
                                     std::to_string(offset) + " of " + resource_->text() +
                                     " is outside of it or not aligned to 256");
    return nil;
  }
  SimulatedMetalBuffer* const made = [SimulatedMetalBuffer newWithDevice:device_
                                                                  length:length
                                                                 options:options
                                                                  memory:nullptr
                                                                    heap:self
                                                                  offset:offset];
  if (made != nil) {
    const Lock lock(space_mutex_);
    placed_ += length;
  }
  return made;
}
// A heap's resources have its storage and cache mode.
- (bool)hasOptions:(MTLResourceOptions)options {
  if ((options & 0xff) == (options_ & 0xff)) return true;
  metal::report("heap-options", "the options of a buffer differ in storage or cache mode from "
                                "those of " +
                                    resource_->text());
  return false;
}
- (void)release:(std::size_t)offset length:(std::size_t)length {
  const Lock lock(space_mutex_);
  if (space_ != nullptr) {
    space_->release(offset);
  } else {
    placed_ -= length;
  }
}
@end
