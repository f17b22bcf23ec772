// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sleeping and new threads. A thread is known by the number that base/ gives it.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <new>

#import <Foundation/Foundation.h>
#import <Foundation/NSThread.h>

#include <Block.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/thread.h"
#include "simulation/gpu/mutex.h"

namespace {

using namespace halyard;

struct NewThread {
  base::Thread thread;
  void (^block)();
  base::Atomic<std::uint32_t> is_detached{0};
  static void run(void* self) {
    const std::unique_ptr<NewThread> thread(static_cast<NewThread*>(self));
    @autoreleasepool {
      thread->block();
    }
    Block_release(thread->block);
    // `thread` must outlive detach().
    while (thread->is_detached.load(std::memory_order_acquire) == 0) {
      base::futex_wait(thread->is_detached, 0, Deadline::kForeverTime);
    }
  }
};

}  // namespace

@implementation NSThread
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds {
  if (seconds > 0) sim::gpu::sleep_for(static_cast<Nanoseconds>(seconds * 1e9));
}
+ (void)sleepUntilDate:(NSDate*)date {
  [self sleepForTimeInterval:[date timeIntervalSinceNow]];
}
+ (BOOL)isMainThread {
  return gettid() == getpid();
}
+ (void)detachNewThreadWithBlock:(void (^)(void))block {
  auto* const made = new NewThread;
  made->block = Block_copy(block);
  if (made->thread.start("NSThread", &NewThread::run, made) != 0) {
    Block_release(made->block);
    delete made;
    NSLog(@"NSThread: the system starts no further thread");
    std::abort();
  }
  made->thread.detach();
  made->is_detached.store(1, std::memory_order_release);
  base::futex_wake(made->is_detached, 1);  // uses the address only
}
@end
