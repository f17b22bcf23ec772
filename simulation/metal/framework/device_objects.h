// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The classes of residency sets, binary archives, counters and capture scopes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulation/metal/framework/library_objects.h"

@interface SimulatedMetalResidencySet : SimulatedMetalObject <MTLResidencySet> {
 @public
  halyard::sim::gpu::Mutex mutex_;
  std::vector<id> pending_;  // retained; the program's view
  std::vector<metal::ResourcePointer> committed_;
}
@end

@interface SimulatedMetalBinaryArchive : SimulatedMetalLabelled <MTLBinaryArchive> {
 @public
  halyard::sim::gpu::Mutex mutex_;
  std::set<std::string> keys_;
}
- (bool)load:(NSURL*)url;
- (bool)contains:(SimulatedMetalFunction*)function;
@end

@interface SimulatedMetalCounter : NSObject <MTLCounter>
@end

@interface SimulatedMetalCounterSet : NSObject <MTLCounterSet>
@end

struct CounterSamples {
  explicit CounterSamples(std::size_t count) : values(count) {}
  std::vector<halyard::base::Atomic<std::uint64_t>> values;
};

@interface SimulatedMetalCounterSampleBuffer : SimulatedMetalObject <MTLCounterSampleBuffer> {
 @public
  std::shared_ptr<CounterSamples> samples_;
}
@end

@interface SimulatedMetalCaptureScope : SimulatedMetalLabelled <MTLCaptureScope> {
 @public
  SimulatedMetalQueue* queue_;
}
@end

namespace halyard::inline v0::sim::metal {

inline constexpr NSUInteger kSampleAttachments = 4;

// +0.
NSError* archive_error(NSInteger code, const std::string& description);
NSError* capture_error(NSInteger code, const std::string& description);
std::string archive_key(SimulatedMetalFunction* function);

}  // namespace halyard::inline v0::sim::metal
