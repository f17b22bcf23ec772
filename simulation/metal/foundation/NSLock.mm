// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locks and conditions over base/, so that halyard-sim schedules them.
#include <climits>

#import <Foundation/Foundation.h>
#import <Foundation/NSLock.h>

#include "base/futex.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "halyard/base/clock.h"

namespace {

using namespace halyard;

// The time of the steady clock at which the wall clock reaches `limit`.
Nanoseconds deadline_of(NSDate* limit) {
  const double seconds = [limit timeIntervalSinceNow];
  if (seconds > 1e9) return Deadline::kForeverTime;
  return Clock::steady().now() + static_cast<Nanoseconds>(seconds * 1e9);
}

}  // namespace

@implementation NSLock {
  base::Mutex mutex_;
}
@synthesize name = name_;
- (void)dealloc {
  [name_ release];
  [super dealloc];
}
- (void)lock {
  mutex_.lock();
}
- (void)unlock {
  mutex_.unlock();
}
- (BOOL)tryLock {
  return mutex_.try_lock();
}
- (BOOL)lockBeforeDate:(NSDate*)limit {
  return mutex_.try_lock_until(deadline_of(limit));
}
@end

@implementation NSRecursiveLock {
  base::Mutex mutex_;
  base::Atomic<std::uint64_t> owner_;  // no thread has the number ~0
  NSUInteger depth_;
}
@synthesize name = name_;
- (instancetype)init {
  owner_.store(~std::uint64_t{0}, std::memory_order_relaxed);
  return self;
}
- (void)dealloc {
  [name_ release];
  [super dealloc];
}
// Only the owner stores its own number, so a thread can test its ownership with a relaxed load.
- (void)lock {
  const std::uint64_t self_number = base::this_thread();
  if (owner_.load(std::memory_order_relaxed) != self_number) {
    mutex_.lock();
    owner_.store(self_number, std::memory_order_relaxed);
  }
  ++depth_;
}
- (BOOL)tryLock {
  const std::uint64_t self_number = base::this_thread();
  if (owner_.load(std::memory_order_relaxed) != self_number) {
    if (!mutex_.try_lock()) return NO;
    owner_.store(self_number, std::memory_order_relaxed);
  }
  ++depth_;
  return YES;
}
- (void)unlock {
  if (--depth_ != 0) return;
  owner_.store(~std::uint64_t{0}, std::memory_order_relaxed);
  mutex_.unlock();
}
@end

@implementation NSCondition {
  base::Mutex mutex_;
  base::Atomic<std::uint32_t> epoch_;
}
@synthesize name = name_;
- (void)dealloc {
  [name_ release];
  [super dealloc];
}
- (void)lock {
  mutex_.lock();
}
- (void)unlock {
  mutex_.unlock();
}
- (BOOL)wait_until:(Nanoseconds)deadline {
  const std::uint32_t seen = epoch_.load(std::memory_order_relaxed);
  mutex_.unlock();
  const bool in_time = base::futex_wait(epoch_, seen, deadline);
  mutex_.lock();
  return in_time || epoch_.load(std::memory_order_relaxed) != seen;
}
- (void)wait {
  [self wait_until:Deadline::kForeverTime];
}
- (BOOL)waitUntilDate:(NSDate*)limit {
  return [self wait_until:deadline_of(limit)];
}
- (void)signal {
  epoch_.fetch_add(1, std::memory_order_relaxed);
  base::futex_wake(epoch_, 1);
}
- (void)broadcast {
  epoch_.fetch_add(1, std::memory_order_relaxed);
  base::futex_wake(epoch_, INT_MAX);
}
@end
