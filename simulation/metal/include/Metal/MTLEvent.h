// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MTLEvent and MTLSharedEvent: values that only grow, which command buffers signal and wait for.
// Safe from any thread.
//
// Names and values: metal-cpp (Metal/MTLEvent.hpp) and objc2-generated (Metal/MTLEvent.rs).
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/MTLDefines.h>
#import <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;
@protocol MTLSharedEvent;
@class MTLSharedEventHandle;

typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent> event, uint64_t value);

// Orders command buffers of one device.
@protocol MTLEvent <NSObject>
// Nil for a shared event.
@property(readonly, nullable) id<MTLDevice> device;
@property(copy, nullable) NSString* label;
@end

// The dispatch queue on which notifications are called. init makes a new queue.
@interface MTLSharedEventListener : NSObject
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue;
@property(readonly) dispatch_queue_t dispatchQueue;
+ (MTLSharedEventListener*)sharedListener;
@end

// An event that the host also signals and reads.
@protocol MTLSharedEvent <MTLEvent>
// Calls a copy of the block on the queue of the listener once the event has at least `value`.
// Cannot be cancelled.
- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
- (MTLSharedEventHandle*)newSharedEventHandle;
// Blocks. Returns NO after the time.
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
// Setting a value that is not larger than the current one has no effect.
@property uint64_t signaledValue;
@end

// Names a shared event in another process.
@interface MTLSharedEventHandle : NSObject
@property(readonly, nullable) NSString* label;
@end

NS_ASSUME_NONNULL_END
