// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locks and conditions. Safe from any thread. A lock is not recursive unless its name says so.
#pragma once

#import <Foundation/NSDate.h>
#import <Foundation/NSObject.h>

NS_ASSUME_NONNULL_BEGIN

@protocol NSLocking
- (void)lock;
- (void)unlock;
@end

@interface NSLock : NSObject <NSLocking>
- (BOOL)tryLock;
- (BOOL)lockBeforeDate:(NSDate*)limit;
@property(copy, nullable) NSString* name;
@end

@interface NSRecursiveLock : NSObject <NSLocking>
- (BOOL)tryLock;
@property(copy, nullable) NSString* name;
@end

@interface NSCondition : NSObject <NSLocking>
- (void)wait;
// Returns NO at the limit.
- (BOOL)waitUntilDate:(NSDate*)limit;
- (void)signal;
- (void)broadcast;
@property(copy, nullable) NSString* name;
@end

NS_ASSUME_NONNULL_END
