// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSThread: sleeping, and new threads. Safe from any thread.
#pragma once

#import <Foundation/NSDate.h>
#import <Foundation/NSObject.h>

NS_ASSUME_NONNULL_BEGIN

@interface NSThread : NSObject
@property(class, readonly) BOOL isMainThread;
// Returns at once if the time is not positive.
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds;
+ (void)sleepUntilDate:(NSDate*)date;
// Runs a copy of the block on a new thread, inside an autorelease pool. Ends the process if the
// system starts no thread.
+ (void)detachNewThreadWithBlock:(void (^)(void))block;
@end

NS_ASSUME_NONNULL_END
