// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// <dispatch/dispatch.h>. Its objects are Objective-C objects, so dispatch_release() and -release do
// the same.
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>

#import <dispatch/dispatch.h>

#include "simulation/gpu/mutex.h"
#include "simulation/metal/dispatch/queue.h"

using namespace halyard::sim;

extern "C" {
void* _Block_copy(const void* block);
void _Block_release(const void* block);
}

// Times count from an arbitrary start; DISPATCH_TIME_FOREVER never comes.
static bool is_over(dispatch_time_t when) {
  return when != DISPATCH_TIME_FOREVER && static_cast<dispatch_time_t>(gpu::now()) >= when;
}

// A condition that waits until a time.
struct TimedCondition {
  gpu::Mutex mutex;
  halyard::base::Atomic<std::uint32_t> epoch{0};

  void notify_all() {
    epoch.fetch_add(1, std::memory_order_relaxed);
    halyard::base::futex_wake(epoch, INT_MAX);
  }
  // Returns false after the time.
  template <class Holds>
  bool wait(gpu::Lock& lock, dispatch_time_t until, Holds holds) {
    while (!holds()) {
      if (until == DISPATCH_TIME_NOW || is_over(until)) return false;
      const std::uint32_t seen = epoch.load(std::memory_order_relaxed);
      lock.unlock();
      halyard::base::futex_wait(epoch, seen,
                                until == DISPATCH_TIME_FOREVER
                                    ? halyard::Deadline::kForeverTime
                                    : static_cast<halyard::Nanoseconds>(until));
      lock.lock();
    }
    return true;
  }
};

@interface OS_dispatch_queue_object : NSObject <OS_dispatch_queue> {
 @public
  dispatch::Queue* queue;
}
@end
@implementation OS_dispatch_queue_object
- (void)dealloc {
  queue->release();
  [super dealloc];
}
@end

@interface OS_dispatch_queue_attr_object : NSObject <OS_dispatch_queue_attr>
@end
@implementation OS_dispatch_queue_attr_object
- (id)retain {
  return self;
}
- (oneway void)release {
}
@end

@interface OS_dispatch_semaphore_object : NSObject <OS_dispatch_semaphore> {
 @public
  TimedCondition changed;
  intptr_t value;
}
@end
@implementation OS_dispatch_semaphore_object
@end

struct Notification {
  dispatch::Queue* queue;
  void* context;
  dispatch_function_t work;
  Notification* next;
};

@interface OS_dispatch_group_object : NSObject <OS_dispatch_group> {
 @public
  TimedCondition changed;
  std::size_t inside;
  Notification* notifications;
}
@end
@implementation OS_dispatch_group_object
@end

@interface OS_dispatch_data_object : NSObject <OS_dispatch_data> {
 @public
  const void* bytes;
  size_t size;
  OS_dispatch_queue_object* queue;
  dispatch_block_t destructor;
}
@end
@implementation OS_dispatch_data_object
- (void)dealloc {
  if (destructor == DISPATCH_DATA_DESTRUCTOR_FREE) {
    std::free(const_cast<void*>(bytes));
  } else if (destructor != nullptr) {
    dispatch_async(queue != nil ? static_cast<dispatch_queue_t>(queue) : dispatch_get_global_queue(0, 0),
                   destructor);
    _Block_release(destructor);
  }
  [queue release];
  [super dealloc];
}
@end

static dispatch::Queue& queue_of(dispatch_queue_t queue) {
  return *static_cast<OS_dispatch_queue_object*>(queue)->queue;
}
static void call_block(void* block) {
  ((dispatch_block_t)block)();
  _Block_release(block);
}

#pragma GCC visibility push(default)

dispatch_queue_attr_t _halyard_dispatch_queue_concurrent = nil;
const dispatch_block_t _dispatch_data_destructor_free = ^{
};

// Runs before any code of the program, and after the registration of this library's classes.
__attribute__((constructor(102))) static void make_attributes() {
  _halyard_dispatch_queue_concurrent = [OS_dispatch_queue_attr_object new];
}

extern "C" {

void dispatch_retain(dispatch_object_t object) { [object retain]; }
void dispatch_release(dispatch_object_t object) { [object release]; }

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
  if (when == DISPATCH_TIME_FOREVER) return when;
  if (when == DISPATCH_TIME_NOW) when = static_cast<dispatch_time_t>(gpu::now());
  if (delta > 0 && when > DISPATCH_TIME_FOREVER - static_cast<dispatch_time_t>(delta)) {
    return DISPATCH_TIME_FOREVER;
  }
  const auto sum = static_cast<int64_t>(when) + delta;
  return sum > 0 ? static_cast<dispatch_time_t>(sum) : 1;
}

// --- queues

dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t attributes) {
  OS_dispatch_queue_object* const made = [OS_dispatch_queue_object new];
  made->queue = dispatch::Queue::create(label != nullptr ? label : "", attributes != nil);
  return made;
}
dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes,
                                                              dispatch_qos_class_t, int) {
  return attributes;
}
dispatch_queue_t dispatch_get_global_queue(intptr_t, uintptr_t) {
  static const dispatch_queue_t queue =
      dispatch_queue_create("com.apple.root.default-qos", DISPATCH_QUEUE_CONCURRENT);
  return queue;
}
const char* dispatch_queue_get_label(dispatch_queue_t queue) {
  return queue_of(queue).label().c_str();
}

void dispatch_async_f(dispatch_queue_t queue, void* context, dispatch_function_t work) {
  queue_of(queue).async(context, work);
}
void dispatch_async(dispatch_queue_t queue, dispatch_block_t work) {
  queue_of(queue).async(_Block_copy(work), call_block);
}
void dispatch_sync_f(dispatch_queue_t queue, void* context, dispatch_function_t work) {
  queue_of(queue).sync(context, work);
}
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t work) {
  queue_of(queue).sync(static_cast<void*>(work),
                       [](void* block) { ((dispatch_block_t)block)(); });
}
void dispatch_barrier_async_f(dispatch_queue_t queue, void* context, dispatch_function_t work) {
  queue_of(queue).async(context, work, true);
}
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t work) {
  queue_of(queue).async(_Block_copy(work), call_block, true);
}

// A thread of the pool waits for the time.
void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void* context,
                      dispatch_function_t work) {
  dispatch_after(when, queue, ^{
    work(context);
  });
}
void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t work) {
  if (when == DISPATCH_TIME_FOREVER) return;
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    const auto now = static_cast<dispatch_time_t>(gpu::now());
    if (when > now) gpu::sleep_for(static_cast<halyard::Nanoseconds>(when - now));
    dispatch_async(queue, work);
  });
}

void dispatch_apply_f(size_t iterations, dispatch_queue_t, void* context,
                      void (*work)(void* context, size_t iteration)) {
  for (size_t i = 0; i < iterations; ++i) work(context, i);
}
void dispatch_apply(size_t iterations, dispatch_queue_t, void (^work)(size_t iteration)) {
  for (size_t i = 0; i < iterations; ++i) work(i);
}

// 0: not yet; 1: a thread runs it; all bits: done, which Apple's header tests without a call.
void dispatch_once_f(dispatch_once_t* predicate, void* context, dispatch_function_t function) {
  static auto& changed = *new TimedCondition;
  std::atomic_ref state(*predicate);
  if (state.load(std::memory_order_acquire) == ~dispatch_once_t{0}) return;
  gpu::Lock lock(changed.mutex);
  if (state.load(std::memory_order_relaxed) == 1) {
    changed.wait(lock, DISPATCH_TIME_FOREVER,
                 [&] { return state.load(std::memory_order_relaxed) != 1; });
  }
  if (state.load(std::memory_order_relaxed) != 0) return;
  state.store(1, std::memory_order_relaxed);
  lock.unlock();
  function(context);
  lock.lock();
  state.store(~dispatch_once_t{0}, std::memory_order_release);
  changed.notify_all();
}
void dispatch_once(dispatch_once_t* predicate, dispatch_block_t function) {
  dispatch_once_f(predicate, static_cast<void*>(function),
                  [](void* block) { ((dispatch_block_t)block)(); });
}

// --- semaphores

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
  if (value < 0) return nil;
  OS_dispatch_semaphore_object* const made = [OS_dispatch_semaphore_object new];
  made->value = value;
  return made;
}
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore) {
  auto* const one = static_cast<OS_dispatch_semaphore_object*>(semaphore);
  [one retain];  // a released waiter may drop the last reference
  {
    const gpu::Lock lock(one->changed.mutex);
    ++one->value;
    one->changed.notify_all();
  }
  [one release];
  return 0;
}
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout) {
  auto* const one = static_cast<OS_dispatch_semaphore_object*>(semaphore);
  gpu::Lock lock(one->changed.mutex);
  if (!one->changed.wait(lock, timeout, [&] { return one->value > 0; })) return 49;
  --one->value;
  return 0;
}

// --- groups

dispatch_group_t dispatch_group_create(void) { return [OS_dispatch_group_object new]; }
void dispatch_group_enter(dispatch_group_t group) {
  auto* const one = static_cast<OS_dispatch_group_object*>(group);
  [one retain];
  const gpu::Lock lock(one->changed.mutex);
  ++one->inside;
}
void dispatch_group_leave(dispatch_group_t group) {
  auto* const one = static_cast<OS_dispatch_group_object*>(group);
  Notification* notifications = nullptr;
  {
    const gpu::Lock lock(one->changed.mutex);
    if (one->inside == 0) std::abort();  // Apple: unbalanced calls end the process
    if (--one->inside == 0) {
      notifications = one->notifications;
      one->notifications = nullptr;
      one->changed.notify_all();
    }
  }
  while (notifications != nullptr) {
    auto* const next = notifications->next;
    notifications->queue->async(notifications->context, notifications->work);
    notifications->queue->release();
    delete notifications;
    notifications = next;
  }
  [one release];
}
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout) {
  auto* const one = static_cast<OS_dispatch_group_object*>(group);
  gpu::Lock lock(one->changed.mutex);
  return one->changed.wait(lock, timeout, [&] { return one->inside == 0; }) ? 0 : 49;
}
void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void* context,
                            dispatch_function_t work) {
  dispatch_group_async(group, queue, ^{
    work(context);
  });
}
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work) {
  dispatch_group_enter(group);
  dispatch_async(queue, ^{
    work();
    dispatch_group_leave(group);
  });
}
void dispatch_group_notify_f(dispatch_group_t group, dispatch_queue_t queue, void* context,
                             dispatch_function_t work) {
  auto* const one = static_cast<OS_dispatch_group_object*>(group);
  {
    const gpu::Lock lock(one->changed.mutex);
    if (one->inside != 0) {
      queue_of(queue).retain();
      one->notifications = new Notification{&queue_of(queue), context, work,
                                                                      one->notifications};
      return;
    }
  }
  dispatch_async_f(queue, context, work);
}
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work) {
  dispatch_group_notify_f(group, queue, _Block_copy(work), call_block);
}

// --- data

dispatch_data_t dispatch_data_create(const void* bytes, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor) {
  OS_dispatch_data_object* const made = [OS_dispatch_data_object new];
  made->size = size;
  made->queue = [static_cast<OS_dispatch_queue_object*>(queue) retain];
  if (destructor == DISPATCH_DATA_DESTRUCTOR_DEFAULT) {
    void* const copy = std::malloc(size != 0 ? size : 1);
    if (size != 0) std::memcpy(copy, bytes, size);
    made->bytes = copy;
    made->destructor = DISPATCH_DATA_DESTRUCTOR_FREE;
  } else {
    made->bytes = bytes;
    made->destructor = (dispatch_block_t)_Block_copy(destructor);
  }
  return made;
}
size_t dispatch_data_get_size(dispatch_data_t data) {
  return static_cast<OS_dispatch_data_object*>(data)->size;
}
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void** bytes, size_t* size) {
  auto* const one = static_cast<OS_dispatch_data_object*>(data);
  if (bytes != nullptr) *bytes = one->bytes;
  if (size != nullptr) *size = one->size;
  return [data retain];
}

}  // extern "C"
#pragma GCC visibility pop
