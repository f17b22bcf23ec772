// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of Apple's Dispatch that programs of Metal use, declared where Apple's header is
// missing: queues, groups, semaphores, data, times. Names, values and meaning: Apple's
// documentation of Dispatch. Objects are Objective-C objects with reference counts:
// dispatch_..._create() returns a reference, and dispatch_release() releases it.
//
// Absent: sources, I/O, work items with identity, the main queue.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __OBJC__
#import <Foundation/NSObject.h>
#define HALYARD_DISPATCH_OBJECT(name)    \
  @protocol OS_##name <NSObject>         \
  @end                                   \
  typedef NSObject<OS_##name>* name##_t
#else
#define HALYARD_DISPATCH_OBJECT(name) typedef struct name##_s* name##_t
#endif
HALYARD_DISPATCH_OBJECT(dispatch_queue);
HALYARD_DISPATCH_OBJECT(dispatch_group);
HALYARD_DISPATCH_OBJECT(dispatch_semaphore);
HALYARD_DISPATCH_OBJECT(dispatch_data);
HALYARD_DISPATCH_OBJECT(dispatch_queue_attr);
#ifdef __OBJC__
typedef NSObject* dispatch_object_t;
#else
typedef void* dispatch_object_t;
#endif
typedef dispatch_queue_t dispatch_queue_global_t;
typedef dispatch_queue_t dispatch_queue_serial_t;

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t dispatch_time_t;  // in nanoseconds of this library's clock
typedef intptr_t dispatch_once_t;
typedef void (*dispatch_function_t)(void* context);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#endif

#define DISPATCH_TIME_NOW ((dispatch_time_t)0)
#define DISPATCH_TIME_FOREVER (~(dispatch_time_t)0)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define USEC_PER_SEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
extern dispatch_queue_attr_t _halyard_dispatch_queue_concurrent;
#define DISPATCH_QUEUE_CONCURRENT _halyard_dispatch_queue_concurrent
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define DISPATCH_QUEUE_PRIORITY_BACKGROUND INT16_MIN
#define QOS_CLASS_USER_INTERACTIVE 0x21
#define QOS_CLASS_USER_INITIATED 0x19
#define QOS_CLASS_DEFAULT 0x15
#define QOS_CLASS_UTILITY 0x11
#define QOS_CLASS_BACKGROUND 0x09
typedef unsigned dispatch_qos_class_t;

void dispatch_retain(dispatch_object_t object);
void dispatch_release(dispatch_object_t object);

// DISPATCH_TIME_NOW or a time, and nanoseconds added to it.
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);

// --- queues. Any thread may call; work runs on threads of this library, in order on a serial queue.

dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t attributes);
dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes,
                                                              dispatch_qos_class_t qos, int relative);
// One concurrent queue, whatever the priority; counting it does nothing.
dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags);
const char* dispatch_queue_get_label(dispatch_queue_t queue);
void dispatch_async_f(dispatch_queue_t queue, void* context, dispatch_function_t work);
// Returns when the work is done, perhaps by the calling thread. On the serial queue that the caller runs
// on it ends the process, as it would never return.
void dispatch_sync_f(dispatch_queue_t queue, void* context, dispatch_function_t work);
// After all that was submitted before it, and before all that is submitted later.
void dispatch_barrier_async_f(dispatch_queue_t queue, void* context, dispatch_function_t work);
void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void* context,
                      dispatch_function_t work);
void dispatch_apply_f(size_t iterations, dispatch_queue_t queue, void* context,
                      void (*work)(void* context, size_t iteration));
void dispatch_once_f(dispatch_once_t* predicate, void* context, dispatch_function_t function);

// --- semaphores and groups. 0: in time; else the time was over.

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);
dispatch_group_t dispatch_group_create(void);
void dispatch_group_enter(dispatch_group_t group);
void dispatch_group_leave(dispatch_group_t group);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout);
void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void* context,
                            dispatch_function_t work);
void dispatch_group_notify_f(dispatch_group_t group, dispatch_queue_t queue, void* context,
                             dispatch_function_t work);

// --- data

#ifdef __BLOCKS__
void dispatch_async(dispatch_queue_t queue, dispatch_block_t work);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t work);
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t work);
void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t work);
void dispatch_apply(size_t iterations, dispatch_queue_t queue, void (^work)(size_t iteration));
void dispatch_once(dispatch_once_t* predicate, dispatch_block_t function);
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work);
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work);

// Without a destructor the bytes are copied. The destructor runs on `queue`, or on any if that is null;
// DISPATCH_DATA_DESTRUCTOR_FREE: free(3).
extern const dispatch_block_t _dispatch_data_destructor_free;
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)
#define DISPATCH_DATA_DESTRUCTOR_FREE (_dispatch_data_destructor_free)
dispatch_data_t dispatch_data_create(const void* bytes, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor);
size_t dispatch_data_get_size(dispatch_data_t data);
// The same bytes as one contiguous block.
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void** bytes, size_t* size);
#endif

#ifdef __cplusplus
}
#endif
