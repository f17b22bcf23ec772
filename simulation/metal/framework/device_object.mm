// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLDevice: its properties, and the queues, memory and events that it makes.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulation/metal/framework/device_objects.h"

namespace {

bool is_usable(SimulatedMetalDevice* device) {
  return !metal::state().is_child.load() && !device->device_->is_removed.load();
}

std::size_t page_size() {
  const std::size_t size = metal::options().page_size;
  return size != 0 ? size : static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The name in MTLArchitecture.
std::string architecture_of(const metal::Device& device) {
  return device.is_unified() ? "applegpu_g13g" : "halyard_simulated_mac2";
}

halyard::base::Atomic<std::uint64_t> next_number{1};

}  // namespace

@interface MTLArchitecture () {
 @public
  NSString* name_;
}
@end
@implementation MTLArchitecture
- (void)dealloc {
  [name_ release];
  [super dealloc];
}
- (NSString*)name {
  return name_;
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}
@end

@implementation SimulatedMetalDevice
- (NSString*)name {
  return name_;
}
- (NSString*)description {
  return name_;
}
- (uint64_t)registryID {
  return device_->registry_id;
}
- (MTLArchitecture*)architecture {
  MTLArchitecture* const architecture = [[[MTLArchitecture alloc] init] autorelease];
  architecture->name_ = [metal::string(architecture_of(*device_)) retain];
  return architecture;
}
- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSize{1024, 1024, 1024};
}
- (BOOL)isLowPower {
  return NO;
}
- (BOOL)isHeadless {
  return YES;
}
- (BOOL)isRemovable {
  return device_->kind == metal::DeviceKind::kRemovable;
}
- (BOOL)hasUnifiedMemory {
  return device_->is_unified();
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return metal::options().memory_bytes / 4 * 3;
}
- (MTLDeviceLocation)location {
  switch (device_->kind) {
    case metal::DeviceKind::kUnified:
      return MTLDeviceLocationBuiltIn;
    case metal::DeviceKind::kDiscrete:
      return MTLDeviceLocationSlot;
    case metal::DeviceKind::kRemovable:
      break;
  }
  return MTLDeviceLocationExternal;
}
- (NSUInteger)locationNumber {
  return device_->index;
}
- (uint64_t)maxTransferRate {
  return device_->is_unified() ? 0 : 16'000'000'000;
}
- (uint64_t)peerGroupID {
  return 0;
}
- (uint32_t)peerIndex {
  return 0;
}
- (uint32_t)peerCount {
  return 0;
}
- (MTLArgumentBuffersTier)argumentBuffersSupport {
  // Apple, "Metal Feature Set Tables": tier 2 from Apple6 and on Mac2.
  const bool is_tier2 = device_->supports_family(1006) || device_->supports_family(2002);
  return is_tier2 ? MTLArgumentBuffersTier2 : MTLArgumentBuffersTier1;
}
- (NSUInteger)currentAllocatedSize {
  return device_->allocated.load();
}
- (NSUInteger)maxThreadgroupMemoryLength {
  // Apple, "Metal Feature Set Tables": 32 KiB from Apple4 and on Mac2; 16 KiB on Apple3.
  return device_->supports_family(1004) || !device_->is_unified() ? 32768 : 16384;
}
- (NSUInteger)maxArgumentBufferSamplerCount {
  return 0;
}
- (NSUInteger)maxBufferLength {
  return metal::options().max_buffer_bytes;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
  return device_->supports_family(static_cast<int>(family));
}
- (BOOL)supportsDynamicLibraries {
  return NO;
}
- (BOOL)supportsFunctionPointers {
  return NO;
}
- (BOOL)supportsPlacementSparse {
  return NO;
}
- (BOOL)shouldMaximizeConcurrentCompilation {
  return maximizes_compilation_;
}
- (void)setShouldMaximizeConcurrentCompilation:(BOOL)maximizes {
  maximizes_compilation_ = maximizes;
}
- (NSUInteger)maximumConcurrentCompilationTaskCount {
  return 1;
}
- (uint64_t)queryTimestampFrequency {
  return 1'000'000'000;
}

- (id<MTLCommandQueue>)newQueue:(NSUInteger)capacity {
  if (!is_usable(self) || capacity == 0 || metal::is_nil(metal::Class::kCommandQueue)) return nil;
  SimulatedMetalQueue* const made = [[SimulatedMetalQueue alloc] init];
  made->device_ = [self retain];
  made->queue_ = metal::Queue::create(*device_, capacity);
  metal::count_created(metal::Class::kCommandQueue);
  return made;
}
- (id<MTLCommandQueue>)newCommandQueue {
  return [self newQueue:64];
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count {
  return [self newQueue:count];
}
- (id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor*)descriptor {
  return [self newQueue:[descriptor maxCommandBufferCount]];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  return [SimulatedMetalBuffer newWithDevice:self
                                      length:length
                                     options:options
                                      memory:nullptr
                                        heap:nil
                                      offset:0];
}
- (id<MTLBuffer>)newBufferWithBytes:(const void*)bytes
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options {
  SimulatedMetalBuffer* const made =
      static_cast<SimulatedMetalBuffer*>([self newBufferWithLength:length options:options]);
  if (made == nil) return nil;
  metal::Resource& resource = *made->resource_;
  if (resource.host() == nullptr) {
    metal::report("private-bytes", "newBufferWithBytes: with private storage");
    [made release];
    return nil;
  }
  std::memcpy(resource.host(), bytes, length);
  // Host and device both get the bytes.
  if (resource.storage() == metal::Storage::kManaged) {
    resource.did_modify({0, length});
    resource.upload();
  }
  return made;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)memory
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void* pointer, NSUInteger length))deallocator {
  const std::size_t page = page_size();
  if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % page != 0 ||
      length % page != 0) {
    metal::report("no-copy-pages", "newBufferWithBytesNoCopy: pointer and length are whole pages "
                                   "of " +
                                       std::to_string(page) + " bytes");
    return nil;
  }
  if (((options >> 4) & 3) == static_cast<NSUInteger>(metal::Storage::kPrivate)) {
    metal::report("storage-mode", "newBufferWithBytesNoCopy: with private storage");
    return nil;
  }
  SimulatedMetalBuffer* const made = [SimulatedMetalBuffer newWithDevice:self
                                                                  length:length
                                                                 options:options
                                                                  memory:memory
                                                                    heap:nil
                                                                  offset:0];
  if (made != nil && deallocator != nil) made->deallocator_ = [deallocator copy];
  return made;
}
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length
                                            options:(MTLResourceOptions)options {
  (void)options;
  return MTLSizeAndAlign{(length + 255) / 256 * 256, 256};
}
- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor*)descriptor {
  if (!is_usable(self) || metal::is_nil(metal::Class::kHeap)) return nil;
  const MTLStorageMode mode = [descriptor storageMode];
  if (mode == MTLStorageModeManaged || mode == MTLStorageModeMemoryless) {
    metal::fail_assertion("heap-storage", "newHeapWithDescriptor: a heap can be neither managed "
                                          "nor memoryless");
    return nil;
  }
  if ([descriptor size] == 0) {
    metal::report("empty-heap", "newHeapWithDescriptor: the size is 0");
    return nil;
  }
  if ([descriptor type] != MTLHeapTypeAutomatic && [descriptor type] != MTLHeapTypePlacement) {
    metal::report("heap-type", "newHeapWithDescriptor: sparse heaps are not simulated");
    return nil;
  }
  const std::shared_ptr<metal::Resource> resource = metal::Resource::create(
      {.device = device_,
       .length = [descriptor size],
       .storage = static_cast<metal::Storage>(mode),
       .is_tracked = [descriptor hazardTrackingMode] == MTLHazardTrackingModeTracked,
       .is_heap = true,
       .host_memory = nullptr,
       .heap = nullptr,
       .heap_offset = 0});
  if (resource == nullptr) return nil;
  SimulatedMetalHeap* const made = [[SimulatedMetalHeap alloc] init];
  made->device_ = [self retain];
  made->resource_ = resource;
  made->options_ = [descriptor resourceOptions];
  made->purgeable_ = MTLPurgeableStateNonVolatile;
  made->type_ = [descriptor type];
  if (made->type_ == MTLHeapTypeAutomatic) {
    made->space_ = std::make_unique<metal::HeapSpace>([descriptor size]);
  }
  metal::count_created(metal::Class::kHeap);
  return made;
}

- (id<MTLFence>)newFence {
  if (!is_usable(self) || metal::is_nil(metal::Class::kFence)) return nil;
  SimulatedMetalFence* const made = [[SimulatedMetalFence alloc] init];
  made->device_ = [self retain];
  made->fence_ = std::make_shared<metal::Fence>();
  metal::count_created(metal::Class::kFence);
  return made;
}
- (id<MTLEvent>)newEvent {
  if (!is_usable(self) || metal::is_nil(metal::Class::kEvent)) return nil;
  SimulatedMetalEvent* const made = [[SimulatedMetalEvent alloc] init];
  made->device_ = [self retain];
  made->event_ = std::make_shared<metal::Event>();
  made->event_->number = next_number.fetch_add(1);
  made->event_->device = device_;
  made->event_->objects.store(1, std::memory_order_relaxed);
  metal::count_created(metal::Class::kEvent);
  return made;
}
- (id<MTLSharedEvent>)newSharedEvent {
  if (!is_usable(self) || metal::is_nil(metal::Class::kSharedEvent)) return nil;
  auto event = std::make_shared<metal::Event>();
  event->is_shared = true;
  event->number = next_number.fetch_add(1);
  return [[SimulatedMetalSharedEvent alloc] initWithEvent:std::move(event)];
}
- (id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle*)handle {
  std::shared_ptr<metal::Event> event = metal::event_of_handle(handle);
  if (!is_usable(self) || event == nullptr) return nil;
  if (metal::is_nil(metal::Class::kSharedEvent)) return nil;
  return [[SimulatedMetalSharedEvent alloc] initWithEvent:std::move(event)];
}

- (id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:
                                    (MTLIndirectCommandBufferDescriptor*)descriptor
                                                       maxCommandCount:(NSUInteger)count
                                                               options:(MTLResourceOptions)options {
  if (!is_usable(self) || count == 0) return nil;
  if (metal::is_nil(metal::Class::kIndirectCommandBuffer)) return nil;
  const NSUInteger kinds =
      MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads;
  if ([descriptor commandTypes] == 0 || ([descriptor commandTypes] & ~kinds) != 0) {
    metal::report("indirect-types", "an indirect command buffer of compute has only concurrent "
                                    "dispatches: draws are not simulated");
    return nil;
  }
  const std::shared_ptr<metal::Resource> resource =
      metal::Resource::create({.device = device_,
                               .length = count * 256,
                               .storage = metal::Storage::kPrivate,
                               .is_tracked = true,
                               .is_heap = false,
                               .host_memory = nullptr,
                               .heap = nullptr,
                               .heap_offset = 0});
  if (resource == nullptr) return nil;
  auto* const made = [[SimulatedMetalIndirectCommandBuffer alloc] init];
  made->device_ = [self retain];
  made->resource_ = resource;
  made->options_ = options;
  made->purgeable_ = MTLPurgeableStateNonVolatile;
  made->inherits_buffers_ = [descriptor inheritBuffers];
  made->inherits_pipeline_ = [descriptor inheritPipelineState];
  made->slots_ = std::min<NSUInteger>([descriptor maxKernelBufferBindCount], metal::kBufferSlots);
  made->commands_ = std::make_shared<std::vector<metal::IndirectCommand>>(count);
  metal::count_created(metal::Class::kIndirectCommandBuffer);
  return made;
}

- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor
                                               error:(NSError**)error {
  if (!is_usable(self) || metal::is_nil(metal::Class::kResidencySet)) {
    metal::set_error(error, metal::library_error(1, "the device makes no residency set"));
    return nil;
  }
  SimulatedMetalResidencySet* const made = [[SimulatedMetalResidencySet alloc] init];
  made->device_ = [self retain];
  made->label_ = [[descriptor label] copy];
  metal::count_created(metal::Class::kResidencySet);
  return made;
}

- (NSArray*)counterSets {
  return [NSArray arrayWithObject:[[[SimulatedMetalCounterSet alloc] init] autorelease]];
}
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)point {
  return point == MTLCounterSamplingPointAtStageBoundary;  // as Apple GPUs
}
- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:
                                  (MTLCounterSampleBufferDescriptor*)descriptor
                                                             error:(NSError**)error {
  if (!is_usable(self) || [descriptor counterSet] == nil || [descriptor sampleCount] == 0 ||
      metal::is_nil(metal::Class::kCounterSampleBuffer)) {
    metal::set_error(error, metal::library_error(1, "the descriptor lacks a counter set or count"));
    return nil;
  }
  auto* const made = [[SimulatedMetalCounterSampleBuffer alloc] init];
  made->device_ = [self retain];
  made->label_ = [[descriptor label] copy];
  made->samples_ = std::make_shared<CounterSamples>([descriptor sampleCount]);
  metal::count_created(metal::Class::kCounterSampleBuffer);
  return made;
}
- (void)sampleTimestamps:(MTLTimestamp*)cpu gpuTimestamp:(MTLTimestamp*)gpu {
  *cpu = *gpu = static_cast<MTLTimestamp>(halyard::sim::gpu::now());
}
@end
