// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifications. A post takes the observers of its name under the lock and calls them without it.
#include <mutex>
#include <vector>

#import <Foundation/Foundation.h>
#import <Foundation/NSNotification.h>

#include <Block.h>

#include "base/mutex.h"

@interface HalyardNotificationObserver : NSObject {
 @public
  id observer;  // not retained; null: the block is called
  SEL selector;
  void (^block)(NSNotification*);
  NSString* name;  // nil: any
  id object;       // nil: any; not retained
}
@end
@implementation HalyardNotificationObserver
- (void)dealloc {
  if (block != nil) Block_release(block);
  [name release];
  [super dealloc];
}
@end

@implementation NSNotification
@synthesize name = name_;
@synthesize object = object_;
@synthesize userInfo = user_info_;
+ (instancetype)notificationWithName:(NSNotificationName)name object:(id)object {
  return [self notificationWithName:name object:object userInfo:nil];
}
+ (instancetype)notificationWithName:(NSNotificationName)name
                              object:(id)object
                            userInfo:(NSDictionary*)user_info {
  NSNotification* const made = [[[self alloc] init] autorelease];
  made->name_ = [name copy];
  made->object_ = [object retain];
  made->user_info_ = [user_info copy];
  return made;
}
- (void)dealloc {
  [name_ release];
  [object_ release];
  [user_info_ release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
@end

@implementation NSNotificationCenter {
  halyard::base::Mutex mutex_;
  std::vector<HalyardNotificationObserver*> observers_;
}
+ (NSNotificationCenter*)defaultCenter {
  static NSNotificationCenter* const only = [[NSNotificationCenter alloc] init];
  return only;
}
- (void)dealloc {
  for (HalyardNotificationObserver* const one : observers_) [one release];
  [super dealloc];
}
- (HalyardNotificationObserver*)add_name:(NSString*)name object:(id)object {
  HalyardNotificationObserver* const made = [[HalyardNotificationObserver alloc] init];
  made->name = [name copy];
  made->object = object;
  return made;
}
- (void)append:(HalyardNotificationObserver*)made {
  const std::lock_guard lock(mutex_);
  observers_.push_back(made);
}
- (void)addObserver:(id)observer
           selector:(SEL)selector
               name:(NSNotificationName)name
             object:(id)object {
  HalyardNotificationObserver* const made = [self add_name:name object:object];
  made->observer = observer;
  made->selector = selector;
  [self append:made];
}
- (id<NSObject>)addObserverForName:(NSNotificationName)name
                            object:(id)object
                             queue:(NSOperationQueue*)queue
                        usingBlock:(void (^)(NSNotification*))block {
  HalyardNotificationObserver* const made = [self add_name:name object:object];
  made->block = Block_copy(block);
  [made retain];
  [self append:made];
  return [made autorelease];
}
- (void)postNotification:(NSNotification*)notification {
  std::vector<HalyardNotificationObserver*> called;
  {
    const std::lock_guard lock(mutex_);
    for (HalyardNotificationObserver* const one : observers_) {
      if (one->name != nil && ![one->name isEqual:[notification name]]) continue;
      if (one->object != nil && one->object != [notification object]) continue;
      called.push_back([one retain]);
    }
  }
  for (HalyardNotificationObserver* const one : called) {
    if (one->block != nil) {
      one->block(notification);
    } else {
      [one->observer performSelector:one->selector withObject:notification];
    }
    [one release];
  }
}
- (void)postNotificationName:(NSNotificationName)name object:(id)object {
  [self postNotificationName:name object:object userInfo:nil];
}
- (void)postNotificationName:(NSNotificationName)name
                      object:(id)object
                    userInfo:(NSDictionary*)user_info {
  [self postNotification:[NSNotification notificationWithName:name
                                                       object:object
                                                     userInfo:user_info]];
}
- (void)removeObserver:(id)observer {
  [self removeObserver:observer name:nil object:nil];
}
- (void)removeObserver:(id)observer name:(NSNotificationName)name object:(id)object {
  std::vector<HalyardNotificationObserver*> removed;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(observers_, [&](HalyardNotificationObserver* one) {
      if ((one != observer && one->observer != observer) ||
          (name != nil && ![name isEqual:one->name]) || (object != nil && object != one->object)) {
        return false;
      }
      removed.push_back(one);
      return true;
    });
  }
  for (HalyardNotificationObserver* const one : removed) [one release];
}
@end
