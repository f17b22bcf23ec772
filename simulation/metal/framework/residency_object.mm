// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLResidencySet, MTLBinaryArchive, and counters.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "simulation/metal/framework/device_objects.h"

@implementation SimulatedMetalResidencySet
- (void)dealloc {
  metal::count_destroyed(metal::Class::kResidencySet);
  for (id one : pending_) [one release];
  [super dealloc];
}
- (uint64_t)allocatedSize {
  const halyard::sim::gpu::Lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const metal::ResourcePointer& one : committed_) sum += one->length();
  return sum;
}
- (void)requestResidency {
}
- (void)endResidency {
}
- (void)addAllocation:(id<MTLAllocation>)allocation {
  const halyard::sim::gpu::Lock lock(mutex_);
  if (allocation == nil || std::ranges::find(pending_, allocation) != pending_.end()) return;
  pending_.push_back([allocation retain]);
}
- (void)addAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self addAllocation:allocations[i]];
}
- (void)removeAllocation:(id<MTLAllocation>)allocation {
  {
    const halyard::sim::gpu::Lock lock(mutex_);
    const auto found = std::ranges::find(pending_, allocation);
    if (found == pending_.end()) return;
    pending_.erase(found);
  }
  [allocation release];
}
- (void)removeAllocations:(const id<MTLAllocation>[])allocations count:(NSUInteger)count {
  for (NSUInteger i = 0; i < count; ++i) [self removeAllocation:allocations[i]];
}
- (void)removeAllAllocations {
  std::vector<id> removed;
  {
    const halyard::sim::gpu::Lock lock(mutex_);
    removed.swap(pending_);
  }
  for (id one : removed) [one release];
}
- (BOOL)containsAllocation:(id<MTLAllocation>)allocation {
  const halyard::sim::gpu::Lock lock(mutex_);
  return std::ranges::find(pending_, allocation) != pending_.end();
}
- (NSArray*)allAllocations {
  NSMutableArray* const all = [NSMutableArray array];
  const halyard::sim::gpu::Lock lock(mutex_);
  for (id one : pending_) [all addObject:one];
  return all;
}
- (NSUInteger)allocationCount {
  const halyard::sim::gpu::Lock lock(mutex_);
  return pending_.size();
}
- (void)commit {
  const halyard::sim::gpu::Lock lock(mutex_);
  committed_.clear();
  for (id one : pending_) committed_.push_back(metal::resource_of(one));
}
@end

namespace halyard::inline v0::sim::metal {

void add_resident(const std::vector<id>& sets, std::vector<ResourcePointer>& resident) {
  for (id one : sets) {
    auto* const set = static_cast<SimulatedMetalResidencySet*>(one);
    const gpu::Lock lock(set->mutex_);
    resident.insert(resident.end(), set->committed_.begin(), set->committed_.end());
  }
}

}  // namespace halyard::inline v0::sim::metal

// An archive holds only keys of functions, because the simulated compiler has its own cache. Its
// file is text: a first line, then one key in each line.
namespace {
constexpr char kFirstLine[] = "halyard simulated binary archive 1\n";
}

@implementation SimulatedMetalBinaryArchive
- (void)dealloc {
  metal::count_destroyed(metal::Class::kBinaryArchive);
  [super dealloc];
}
- (bool)load:(NSURL*)url {
  const std::string path = metal::text([url path]);
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  char line[1024];
  const bool is_archive =
      std::fgets(line, sizeof(line), file) != nullptr && std::string(line) == kFirstLine;
  while (is_archive && std::fgets(line, sizeof(line), file) != nullptr) {
    std::string key = line;
    if (!key.empty() && key.back() == '\n') key.pop_back();
    keys_.insert(std::move(key));
  }
  std::fclose(file);
  return is_archive;
}
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                            error:(NSError**)error {
  SimulatedMetalFunction* const function =
      static_cast<SimulatedMetalFunction*>([descriptor computeFunction]);
  if (function == nil) {
    metal::set_error(error, metal::archive_error(MTLBinaryArchiveErrorUnexpectedElement,
                                                 "the descriptor has no compute function"));
    return NO;
  }
  const halyard::sim::gpu::Lock lock(mutex_);
  keys_.insert(metal::archive_key(function));
  return YES;
}
- (BOOL)serializeToURL:(NSURL*)url error:(NSError**)error {
  const std::string path = metal::text([url path]);
  std::FILE* const file = std::fopen(path.c_str(), "we");
  bool is_written = file != nullptr;
  if (file != nullptr) {
    const halyard::sim::gpu::Lock lock(mutex_);
    is_written = std::fputs(kFirstLine, file) >= 0;
    for (const std::string& key : keys_) is_written &= std::fprintf(file, "%s\n", key.c_str()) > 0;
    is_written &= std::fclose(file) == 0;
  }
  if (!is_written) {
    metal::set_error(
        error, metal::archive_error(MTLBinaryArchiveErrorInvalidFile, "cannot write " + path));
  }
  return is_written;
}
- (bool)contains:(SimulatedMetalFunction*)function {
  const halyard::sim::gpu::Lock lock(mutex_);
  return keys_.contains(metal::archive_key(function));
}
@end

@implementation SimulatedMetalCounter
- (NSString*)name {
  return MTLCommonCounterTimestamp;
}
@end

@implementation SimulatedMetalCounterSet
- (NSString*)name {
  return MTLCommonCounterSetTimestamp;
}
- (NSArray*)counters {
  return [NSArray arrayWithObject:[[[SimulatedMetalCounter alloc] init] autorelease]];
}
@end

@implementation SimulatedMetalCounterSampleBuffer
- (void)dealloc {
  metal::count_destroyed(metal::Class::kCounterSampleBuffer);
  [super dealloc];
}
- (NSUInteger)sampleCount {
  return samples_->values.size();
}
- (NSData*)resolveCounterRange:(NSRange)range {
  const std::size_t count = samples_->values.size();
  if (range.location > count || range.length > count - range.location) {
    metal::report("counter-range", "resolveCounterRange: the range is outside of the buffer");
    return nil;
  }
  std::vector<std::uint64_t> values;
  for (NSUInteger i = 0; i < range.length; ++i) {
    values.push_back(samples_->values[range.location + i].load());
  }
  return [NSData dataWithBytes:values.data() length:values.size() * sizeof(std::uint64_t)];
}
@end

namespace halyard::inline v0::sim::metal {
namespace {

void add_sample(std::vector<std::function<void(std::uint64_t)>>& to, id buffer, NSUInteger index) {
  if (buffer == nil || index == MTLCounterDontSample) return;
  const auto samples = static_cast<SimulatedMetalCounterSampleBuffer*>(buffer)->samples_;
  if (index >= samples->values.size()) {
    report("counter-range", "a sample index is outside of the counter sample buffer");
    return;
  }
  to.emplace_back([samples, index](std::uint64_t time) { samples->values[index].store(time); });
}

}  // namespace

void add_samples(Pass& pass, MTLComputePassDescriptor* descriptor) {
  for (NSUInteger i = 0; i < kSampleAttachments; ++i) {
    MTLComputePassSampleBufferAttachmentDescriptor* const one =
        [[descriptor sampleBufferAttachments] objectAtIndexedSubscript:i];
    add_sample(pass.begin_samples, [one sampleBuffer], [one startOfEncoderSampleIndex]);
    add_sample(pass.end_samples, [one sampleBuffer], [one endOfEncoderSampleIndex]);
  }
}
void add_samples(Pass& pass, MTLBlitPassDescriptor* descriptor) {
  for (NSUInteger i = 0; i < kSampleAttachments; ++i) {
    MTLBlitPassSampleBufferAttachmentDescriptor* const one =
        [[descriptor sampleBufferAttachments] objectAtIndexedSubscript:i];
    add_sample(pass.begin_samples, [one sampleBuffer], [one startOfEncoderSampleIndex]);
    add_sample(pass.end_samples, [one sampleBuffer], [one endOfEncoderSampleIndex]);
  }
}

}  // namespace halyard::inline v0::sim::metal
