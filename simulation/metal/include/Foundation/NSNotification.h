// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSNotificationCenter: calls observers of a name. Safe from any thread. Observers are called on
// the posting thread, without locks.
#pragma once

#import <Foundation/NSObject.h>

NS_ASSUME_NONNULL_BEGIN

typedef NSString* NSNotificationName;
@class NSOperationQueue;

@interface NSNotification : NSObject <NSCopying>
+ (instancetype)notificationWithName:(NSNotificationName)name object:(nullable id)object;
+ (instancetype)notificationWithName:(NSNotificationName)name
                              object:(nullable id)object
                            userInfo:(nullable NSDictionary*)user_info;
@property(readonly, copy) NSNotificationName name;
@property(readonly, retain, nullable) id object;
@property(readonly, copy, nullable) NSDictionary* userInfo;
@end

@interface NSNotificationCenter : NSObject
@property(class, readonly, retain) NSNotificationCenter* defaultCenter;
// The observer is not retained. Nil for the name or the object means any.
- (void)addObserver:(id)observer
           selector:(SEL)selector
               name:(nullable NSNotificationName)name
             object:(nullable id)object;
// Copies the block. The returned observer is autoreleased. `queue` must be nil, because there are
// no operation queues.
- (id<NSObject>)addObserverForName:(nullable NSNotificationName)name
                            object:(nullable id)object
                             queue:(nullable NSOperationQueue*)queue
                        usingBlock:(void (^)(NSNotification* notification))block;
- (void)postNotification:(NSNotification*)notification;
- (void)postNotificationName:(NSNotificationName)name object:(nullable id)object;
- (void)postNotificationName:(NSNotificationName)name
                      object:(nullable id)object
                    userInfo:(nullable NSDictionary*)user_info;
- (void)removeObserver:(id)observer;
- (void)removeObserver:(id)observer
                  name:(nullable NSNotificationName)name
                object:(nullable id)object;
@end

NS_ASSUME_NONNULL_END
