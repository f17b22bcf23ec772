// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Metal's functions: the list of devices, observers of removals, and captures.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "simulation/metal/dispatch/queue.h"
#include "simulation/metal/framework/device_objects.h"
#include "simulation/metal/objc/accounting.h"

namespace {

// Objects by Device. Never destroyed, because Metal's devices are never freed.
struct Objects {
  halyard::sim::gpu::Mutex mutex;
  std::vector<SimulatedMetalDevice*> all;
};
Objects& objects() {
  static Objects* const one = new Objects;
  return *one;
}

// Puts misuse that the Objective-C runtime detects into the same report. Sends no messages.
void report_object_misuse(halyard::sim::objc::Misuse misuse, const std::string& text) {
  using halyard::sim::objc::Misuse;
  switch (misuse) {
    case Misuse::kMissingPool:
      return metal::report("missing-pool", text);
    case Misuse::kOverRelease:
      return metal::report("over-release", text);
    case Misuse::kMessageToDestroyed:
      return metal::report("message-to-destroyed", text);
    case Misuse::kUnrecognized:
      break;
  }
  metal::fail_assertion("unrecognized-selector", text);
}

}  // namespace

namespace halyard::inline v0::sim::metal {

SimulatedMetalDevice* object_of(Device& device) {
  const gpu::Lock lock(objects().mutex);
  for (SimulatedMetalDevice* const object : objects().all) {
    if (object->device_ == &device) return object;
  }
  state().forget_objects = &forget_device_objects;
  objc::set_misuse_handler(&report_object_misuse);
  SimulatedMetalDevice* const made = [[SimulatedMetalDevice alloc] init];
  made->device_ = &device;
  made->name_ = [string(device.name) retain];
  objects().all.push_back(made);
  return made;
}

void forget_device_objects() {
  // Ends the listeners' threads, which release their references.
  dispatch::end_threads();
  const gpu::Lock lock(objects().mutex);
  for (SimulatedMetalDevice* const object : objects().all) {
    [object->name_ release];
    [object release];
  }
  objects().all.clear();
}

}  // namespace halyard::inline v0::sim::metal

extern "C" {

HALYARD_SIM_METAL_EXPORT id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  for (metal::Device* const device : metal::all_devices()) {
    if (!device->is_removed.load()) return [metal::object_of(*device) retain];
  }
  return nil;
}

HALYARD_SIM_METAL_EXPORT NSArray<id<MTLDevice>>* MTLCopyAllDevices(void) {
  NSMutableArray* const all = [[NSMutableArray alloc] init];
  for (metal::Device* const device : metal::all_devices()) {
    if (!device->is_removed.load()) [all addObject:metal::object_of(*device)];
  }
  return all;
}

HALYARD_SIM_METAL_EXPORT NSArray<id<MTLDevice>>* MTLCopyAllDevicesWithObserver(
    id<NSObject>* observer, MTLDeviceNotificationHandler handler) {
  NSArray* const all = MTLCopyAllDevices();
  metal::RemovalObserver added;
  {
    const halyard::sim::gpu::Lock lock(metal::state().mutex);
    added.number = ++metal::state().observers_made;
  }
  added.function = [held = metal::Held<MTLDeviceNotificationHandler>(handler)](
                       metal::Device& device, metal::RemovalNotice notice) {
    MTLDeviceNotificationName name = MTLDeviceWasAddedNotification;
    if (notice == metal::RemovalNotice::kRequested) name = MTLDeviceRemovalRequestedNotification;
    if (notice == metal::RemovalNotice::kRemoved) name = MTLDeviceWasRemovedNotification;
    held.get()(metal::object_of(device), name);
  };
  NSNumber* const number = [[NSNumber alloc] initWithUnsignedLongLong:added.number];
  {
    const halyard::sim::gpu::Lock lock(metal::state().mutex);
    metal::state().removal_observers.push_back(std::move(added));
  }
  if (observer != nullptr) *observer = number;
  return all;
}

HALYARD_SIM_METAL_EXPORT void MTLRemoveDeviceObserver(id<NSObject> observer) {
  const std::uint64_t number = [static_cast<NSNumber*>(observer) unsignedLongLongValue];
  std::vector<metal::RemovalObserver> removed;
  {
    const halyard::sim::gpu::Lock lock(metal::state().mutex);
    std::erase_if(metal::state().removal_observers, [&](metal::RemovalObserver& one) {
      if (one.number != number) return false;
      removed.push_back(std::move(one));
      return true;
    });
  }
}

}  // extern "C"

@implementation MTLCaptureDescriptor
- (instancetype)init {
  self = [super init];
  if (self != nil) _destination = MTLCaptureDestinationDeveloperTools;
  return self;
}
- (void)dealloc {
  [_captureObject release];
  [_outputURL release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  MTLCaptureDescriptor* const copy = [[MTLCaptureDescriptor alloc] init];
  copy.captureObject = _captureObject;
  copy.destination = _destination;
  copy.outputURL = _outputURL;
  return copy;
}
@end

@implementation SimulatedMetalCaptureScope
- (void)dealloc {
  metal::count_destroyed(metal::Class::kCaptureScope);
  [queue_ release];
  [super dealloc];
}
- (id<MTLCommandQueue>)commandQueue {
  return queue_;
}
- (void)beginScope {
}
- (void)endScope {
}
@end

@interface MTLCaptureManager () {
  halyard::base::Atomic<bool> is_capturing_;
  id<MTLCaptureScope> scope_;
}
@end

@implementation MTLCaptureManager
+ (MTLCaptureManager*)sharedCaptureManager {
  static MTLCaptureManager* const one = [[MTLCaptureManager alloc] init];
  return one;
}
- (id<MTLCaptureScope>)newScope:(SimulatedMetalDevice*)device queue:(SimulatedMetalQueue*)queue {
  if (device == nil || metal::is_nil(metal::Class::kCaptureScope)) return nil;
  SimulatedMetalCaptureScope* const made = [[SimulatedMetalCaptureScope alloc] init];
  made->device_ = [device retain];
  made->queue_ = [queue retain];
  metal::count_created(metal::Class::kCaptureScope);
  return made;
}
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device {
  return [self newScope:static_cast<SimulatedMetalDevice*>(device) queue:nil];
}
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue {
  SimulatedMetalQueue* const object = static_cast<SimulatedMetalQueue*>(queue);
  return [self newScope:object == nil ? nil : object->device_ queue:object];
}
- (BOOL)supportsDestination:(MTLCaptureDestination)destination {
  // Apple: METAL_CAPTURE_ENABLED=1 or a key of Info.plist.
  const char* const enabled = std::getenv("METAL_CAPTURE_ENABLED");
  return destination == MTLCaptureDestinationGPUTraceDocument && enabled != nullptr &&
         std::strcmp(enabled, "1") == 0;
}
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor*)descriptor error:(NSError**)error {
  if (![self supportsDestination:[descriptor destination]]) {
    metal::set_error(error, metal::capture_error(MTLCaptureErrorNotSupported,
                                                 "capture needs METAL_CAPTURE_ENABLED=1"));
    return NO;
  }
  if ([descriptor captureObject] == nil || [descriptor outputURL] == nil) {
    metal::set_error(error, metal::capture_error(MTLCaptureErrorInvalidDescriptor,
                                                 "the descriptor has no object or no URL"));
    return NO;
  }
  if (is_capturing_.exchange(true)) {
    metal::set_error(error, metal::capture_error(MTLCaptureErrorAlreadyCapturing,
                                                 "a capture is already in progress"));
    return NO;
  }
  return YES;
}
- (void)stopCapture {
  if (!is_capturing_.exchange(false)) {
    metal::report("capture", "stopCapture without a capture in progress");
  }
}
- (BOOL)isCapturing {
  return is_capturing_.load();
}
- (id<MTLCaptureScope>)defaultCaptureScope {
  return scope_;
}
- (void)setDefaultCaptureScope:(id<MTLCaptureScope>)scope {
  [scope retain];
  [scope_ release];
  scope_ = scope;
}
@end
