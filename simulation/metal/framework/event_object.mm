// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLEvent, MTLSharedEvent with its listeners, and MTLFence.
#include <dispatch/dispatch.h>

#include <utility>

#include "simulation/metal/framework/objects.h"

@implementation SimulatedMetalEvent
- (void)dealloc {
  metal::count_destroyed(metal::Class::kEvent);
  if (event_ != nullptr) event_->free_object();
  [super dealloc];
}
@end

@implementation SimulatedMetalSharedEvent
- (instancetype)initWithEvent:(std::shared_ptr<metal::Event>)event {
  self = [super init];
  if (self == nil) return nil;
  event_ = std::move(event);
  event_->objects.fetch_add(1);
  metal::count_created(metal::Class::kSharedEvent);
  return self;
}
- (void)dealloc {
  metal::count_destroyed(metal::Class::kSharedEvent);
  if (event_ != nullptr) event_->free_object();
  [super dealloc];
}
- (id<MTLDevice>)device {
  return nil;  // a shared event belongs to no device
}
- (uint64_t)signaledValue {
  return metal::event_value(*event_);
}
- (void)setSignaledValue:(uint64_t)value {
  const std::shared_ptr<metal::Event> event = event_;  // a listener may release this object
  metal::store_event(*event, value);
}
- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
  if (listener == nil || block == nil) return;
  // The block cannot be cancelled: it retains the event and the listener until it is called.
  struct Notification {
    Notification(SimulatedMetalSharedEvent* event, MTLSharedEventListener* listener,
                 MTLSharedEventNotificationBlock block)
        : event_([event retain]), listener_([listener retain]), block_([block copy]) {}
    Notification(const Notification&) = delete;
    Notification& operator=(const Notification&) = delete;
    ~Notification() {
      const metal::Pool pool;
      [block_ release];
      [listener_ release];
      [event_ release];
    }
    SimulatedMetalSharedEvent* const event_;
    MTLSharedEventListener* const listener_;
    const MTLSharedEventNotificationBlock block_;
  };
  const auto notification = std::make_shared<const Notification>(self, listener, block);
  metal::listen(*event_, value, [notification](std::uint64_t reached) {
    const std::shared_ptr<const Notification> held = notification;
    dispatch_async([held->listener_ dispatchQueue], ^{
      held->block_(held->event_, reached);
    });
  });
}
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds {
  constexpr std::uint64_t kForever = 1'000'000'000'000;  // MLX passes -1
  const halyard::Nanoseconds deadline =
      milliseconds >= kForever
          ? halyard::Deadline::kForeverTime
          : halyard::sim::gpu::now() + static_cast<halyard::Nanoseconds>(milliseconds) * 1'000'000;
  const std::shared_ptr<metal::Event> event = event_;
  return metal::wait_for_event(*event, value, deadline);
}
- (MTLSharedEventHandle*)newSharedEventHandle {
  return metal::new_handle(self);
}
@end

@implementation SimulatedMetalFence
- (void)dealloc {
  metal::count_destroyed(metal::Class::kFence);
  [super dealloc];
}
@end

@interface MTLSharedEventHandle () {
 @public
  SimulatedMetalSharedEvent* event_;
}
@end

@implementation MTLSharedEventHandle
- (void)dealloc {
  [event_ release];
  [super dealloc];
}
- (NSString*)label {
  return [event_ label];
}
@end

@interface MTLSharedEventListener () {
  dispatch_queue_t queue_;
}
@end

@implementation MTLSharedEventListener
+ (MTLSharedEventListener*)sharedListener {
  static MTLSharedEventListener* const one = [[MTLSharedEventListener alloc] init];
  return one;
}
- (instancetype)init {
  dispatch_queue_t const queue = dispatch_queue_create("halyard.metal.listener", nullptr);
  self = [self initWithDispatchQueue:queue];
  dispatch_release(queue);
  return self;
}
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)queue {
  self = [super init];
  if (self == nil) return nil;
  dispatch_retain(queue);
  queue_ = queue;
  metal::count_created(metal::Class::kSharedEventListener);
  return self;
}
- (void)dealloc {
  metal::count_destroyed(metal::Class::kSharedEventListener);
  if (queue_ != nullptr) dispatch_release(queue_);
  [super dealloc];
}
- (dispatch_queue_t)dispatchQueue {
  return queue_;
}
@end

namespace halyard::inline v0::sim::metal {

MTLSharedEventHandle* new_handle(SimulatedMetalSharedEvent* event) {
  MTLSharedEventHandle* const handle = [[MTLSharedEventHandle alloc] init];
  handle->event_ = [event retain];
  return handle;
}
std::shared_ptr<Event> event_of_handle(MTLSharedEventHandle* handle) {
  return handle == nil ? nullptr : handle->event_->event_;
}

}  // namespace halyard::inline v0::sim::metal
