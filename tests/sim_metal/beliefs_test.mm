// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beliefs of programs about Metal, and the facts, one test each: order, events, handlers, failures.
// A comment names the source. beliefs_memory_test.mm and beliefs_kernel_test.mm have the others.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "sim_metal/metal_test.h"

namespace metal_tests {
namespace {

class Beliefs : public MetalTest {};

void sleep_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// 1. Apple only documents that command buffers start in order (ppy/veldrid#39).
TEST_F(Beliefs, B01_Queue_CompletesOutOfOrder) {
  Options options;
  options.adversities.out_of_order = true;
  begin(options);
  bool was_reordered = false;
  for (int round = 0; round < 50 && !was_reordered; ++round) {
    std::atomic<int> ended = 0, first = -1;
    std::atomic<int>* const count = &ended;
    std::atomic<int>* const winner = &first;
    id<MTLCommandBuffer> const gate = [queue_ commandBuffer];
    [gate enqueue];  // the others wait until all are committed
    std::vector<id<MTLCommandBuffer>> all;
    for (int i = 0; i < 4; ++i) {
      id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
      id<MTLBuffer> const target = buffer(64);
      fill(commands, target, 1);
      [target release];
      [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
        if (count->fetch_add(1) == 0) winner->store(i);
      }];
      [commands commit];
      all.push_back(commands);
    }
    [gate commit];
    [gate waitUntilCompleted];
    for (id<MTLCommandBuffer> one : all) [one waitUntilCompleted];
    was_reordered = first != 0;
  }
  EXPECT_TRUE(was_reordered);
}

// 2. Apple, encodeWaitForEvent:value:: it pauses the later passes of that command buffer.
TEST_F(Beliefs, B02_WaitInABufferOfItsOwn_IsOvertaken) {
  Options options;
  options.adversities.overtaking_waits = true;
  begin(options);
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const waits = [queue_ commandBuffer];
  [waits encodeWaitForEvent:gate value:1];
  [waits commit];
  id<MTLCommandBuffer> const works = [queue_ commandBuffer];
  fill(works, target, 7);
  finish(works);
  EXPECT_EQ(bytes(target)[0], 7);
  EXPECT_EQ([waits status], MTLCommandBufferStatusScheduled);
  [gate setSignaledValue:1];
  [waits waitUntilCompleted];
  [target release];
  [gate release];
}

// 3. Apple, MTLCommandBuffer enqueue: it reserves the place in the queue.
TEST_F(Beliefs, B03_EnqueuedAndNeverCommitted_BlocksTheQueue) {
  begin();
  NSAutoreleasePool* const inner = [[NSAutoreleasePool alloc] init];
  id<MTLCommandBuffer> const first = [[queue_ commandBuffer] retain];
  [first enqueue];
  EXPECT_EQ([first status], MTLCommandBufferStatusEnqueued);
  id<MTLCommandBuffer> const second = [[queue_ commandBuffer] retain];
  [inner release];
  [second commit];
  sleep_a_little();
  EXPECT_LT([second status], MTLCommandBufferStatusCompleted);
  [first release];
  [second waitUntilCompleted];
  [second release];
  expect_misuse("enqueued-never-committed");
}

// 4. "commit an already committed command buffer" ends the process (pytorch#108996).
TEST_F(Beliefs, B04_CommitTwice_EndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        begin();
        id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
        [commands commit];
        [commands commit];
      },
      "commit an already committed command buffer");
}

TEST_F(Beliefs, B04_HandlerAfterCommit_IsRejected) {
  Options options;
  options.aborts = false;
  begin(options);
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  [commands commit];
  [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
    ADD_FAILURE();
  }];
  [commands waitUntilCompleted];
  expect_misuse("handler-after-commit");
}

// 5. The signal is inside of the command buffer: "submission isn't completed" (MoltenVK#2767).
TEST_F(Beliefs, B05_EventReached_BufferStillInFlight) {
  Options options;
  options.adversities.slow_completion = true;
  begin(options);
  bool was_in_flight = false;
  for (int round = 0; round < 100 && !was_in_flight; ++round) {
    id<MTLSharedEvent> const event = [device_ newSharedEvent];
    id<MTLBuffer> const target = buffer(64);
    id<MTLCommandBuffer> const commands = [queue_ commandBufferWithUnretainedReferences];
    fill(commands, target, 1);
    [commands encodeSignalEvent:event value:1];
    [commands commit];
    EXPECT_TRUE([event waitUntilSignaledValue:1 timeoutMS:10000]);
    was_in_flight = [commands status] < MTLCommandBufferStatusCompleted;
    [target release];  // too early
    [commands waitUntilCompleted];
    [event release];
  }
  EXPECT_TRUE(was_in_flight);
  expect_misuse("freed-in-flight");
}

// 13. Without retained references a command buffer keeps no event either.
TEST_F(Beliefs, B13_EventOfAnUnretainedBuffer_FreedInFlight) {
  begin();
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  for (const bool retains : {true, false}) {
    clear_misuse();
    id<MTLSharedEvent> const event = [device_ newSharedEvent];
    id<MTLCommandBuffer> const commands =
        retains ? [queue_ commandBuffer] : [queue_ commandBufferWithUnretainedReferences];
    [commands encodeWaitForEvent:gate value:retains ? 1 : 2];
    [commands encodeSignalEvent:event value:1];
    [commands commit];
    [event release];
    EXPECT_EQ(has_misuse("freed-in-flight"), !retains);
    [gate setSignaledValue:retains ? 1 : 2];
    [commands waitUntilCompleted];
  }
  [gate release];
  expect_misuse("freed-in-flight");
}

// 6. MLX sets the event in the handler of a failed command buffer (device.cpp:550).
TEST_F(Beliefs, B06_FailedBuffer_MayNeverSignal) {
  const auto signals = [&](FailedSignals what, std::uint64_t seed) {
    Options options;
    options.failed_signals = what;
    options.seed = seed;
    begin(options);
    id<MTLSharedEvent> const event = [device_ newSharedEvent];
    id<MTLBuffer> const target = buffer(64);
    fail_next(0, MTLCommandBufferErrorPageFault);
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    fill(commands, target, 1);
    [commands encodeSignalEvent:event value:1];
    finish(commands);
    EXPECT_EQ([commands status], MTLCommandBufferStatusError);
    const bool is_signalled = [event signaledValue] == 1;
    [target release];
    [event release];
    return is_signalled;
  };
  EXPECT_FALSE(signals(FailedSignals::kNever, 1));
  EXPECT_TRUE(signals(FailedSignals::kAlways, 1));
  int signalled = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const bool is_signalled = signals(FailedSignals::kBySeed, seed);
    EXPECT_EQ(signals(FailedSignals::kBySeed, seed), is_signalled) << "seed " << seed;
    signalled += is_signalled ? 1 : 0;
  }
  EXPECT_GT(signalled, 0);
  EXPECT_LT(signalled, 20);
}

// 6. A later command buffer may signal a larger value than the signal that never came. So the event
// does not show that the failed buffer has ended, or that it did its work.
TEST_F(Beliefs, B06_LaterBuffer_SignalsPastTheFailedOne) {
  begin();
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  id<MTLBuffer> const lost = buffer(64), target = buffer(64);
  bytes(lost)[0] = 0;
  fail_next(0, MTLCommandBufferErrorPageFault);
  id<MTLCommandBuffer> const failed = [queue_ commandBuffer], later = [queue_ commandBuffer];
  fill(failed, lost, 1);
  [failed encodeSignalEvent:event value:1];
  [failed commit];
  fill(later, target, 1);
  [later encodeSignalEvent:event value:2];
  finish(later);
  [failed waitUntilCompleted];
  EXPECT_EQ([failed status], MTLCommandBufferStatusError);
  EXPECT_EQ([later status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ([event signaledValue], 2U);
  EXPECT_EQ(bytes(lost)[0], 0);
  [target release];
  [lost release];
  [event release];
}

// 6. Work that waits for the failed buffer runs once a handler has set the value (MLX,
// device.cpp:550).
TEST_F(Beliefs, B06_Handler_SetsTheValueByHand) {
  begin();
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandQueue> const other = [device_ newCommandQueue];
  fail_next(0, MTLCommandBufferErrorPageFault);
  id<MTLCommandBuffer> const failed = [queue_ commandBuffer];
  fill(failed, target, 1);
  [failed encodeSignalEvent:event value:1];
  [failed addCompletedHandler:^(id<MTLCommandBuffer> completed) {
    if ([completed status] == MTLCommandBufferStatusError) [event setSignaledValue:1];
  }];
  id<MTLCommandBuffer> const waiting = [other commandBuffer];
  [waiting encodeWaitForEvent:event value:1];
  fill(waiting, target, 2);
  [failed commit];
  finish(waiting);
  EXPECT_EQ([waiting status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ(bytes(target)[0], 2);
  [failed waitUntilCompleted];
  [other release];
  [target release];
  [event release];
}

// 7. A store "does not reliably fire pending listeners" (iree, shared_event.m:190).
TEST_F(Beliefs, B07_StoreByTheHost_NotifiesListenersLate) {
  Options options;
  options.adversities.late_listeners = true;
  begin(options);
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  MTLSharedEventListener* const listener = [[MTLSharedEventListener alloc] init];
  std::atomic<bool> was_told = false;
  std::atomic<bool>* const told = &was_told;
  [event notifyListener:listener
                atValue:3
                  block:^(id<MTLSharedEvent>, uint64_t value) {
                    EXPECT_EQ(value, 3U);
                    told->store(true);
                  }];
  [event setSignaledValue:3];
  EXPECT_EQ([event signaledValue], 3U);
  EXPECT_FALSE(was_told);
  for (int i = 0; i < 1000 && !was_told; ++i) sleep_a_little();
  EXPECT_TRUE(was_told);
  sleep_a_little();  // the block is released after its call
  [listener release];
  [event release];
}

// 8. Apple, signaledValue: a value that is not larger is ignored.
TEST_F(Beliefs, B08_SmallerValue_IsIgnored) {
  begin();
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  [event setSignaledValue:5];
  [event setSignaledValue:2];
  EXPECT_EQ([event signaledValue], 5U);
  [event release];
  expect_misuse("event-not-larger");
}

// 9. Waiting before the signal is submitted is a GPU timeout on M1 (MoltenVK#1775).
TEST_F(Beliefs, B09_WaitBeforeSubmit_TimesOut) {
  Options options;
  options.wait_timeout = 30'000'000;
  begin(options);
  id<MTLSharedEvent> const event = [device_ newSharedEvent];
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  [commands encodeWaitForEvent:event value:1];
  finish(commands);
  EXPECT_EQ([[commands error] code], MTLCommandBufferErrorTimeout);
  [event release];
}

// 10. waitUntilCompleted returns for failed buffers as well (pytorch#193571).
TEST_F(Beliefs, B10_WaitUntilCompleted_SaysNothingOfErrors) {
  Options options;
  options.failed_buffers = {{1, MTLCommandBufferErrorOutOfMemory}};
  begin(options);
  MTLCommandBufferDescriptor* const descriptor = [[MTLCommandBufferDescriptor alloc] init];
  [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
  id<MTLCommandBuffer> const commands = [queue_ commandBufferWithDescriptor:descriptor];
  [descriptor release];
  id<MTLBuffer> const target = buffer(64);
  fill(commands, target, 1);
  finish(commands);
  EXPECT_EQ([commands status], MTLCommandBufferStatusError);
  NSError* const error = [commands error];
  EXPECT_EQ([error code], MTLCommandBufferErrorOutOfMemory);
  EXPECT_STREQ([[error domain] UTF8String], "MTLCommandBufferErrorDomain");
  NSArray* const encoders = [[error userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
  ASSERT_EQ([encoders count], 1U);
  id<MTLCommandBufferEncoderInfo> const info = [encoders objectAtIndex:0];
  EXPECT_EQ([info errorState], MTLCommandEncoderErrorStatePending);
  [target release];
}

// 11. Waits return after all handlers, which run on threads of the framework (pytorch#193464).
TEST_F(Beliefs, B11_Wait_ReturnsAfterHandlers) {
  Options options;
  options.adversities.late_handlers = true;
  begin(options);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> calls = 0;
    std::atomic<int>* const count = &calls;
    const std::thread::id self = std::this_thread::get_id();
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    [commands addScheduledHandler:^(id<MTLCommandBuffer>) {
      EXPECT_EQ(count->fetch_add(1), 0);
    }];
    for (int i = 0; i < 2; ++i) {
      [commands addCompletedHandler:^(id<MTLCommandBuffer> completed) {
        EXPECT_NE(std::this_thread::get_id(), self);
        EXPECT_EQ([completed status], MTLCommandBufferStatusCompleted);
        count->fetch_add(1);
      }];
    }
    finish(commands);
    EXPECT_EQ(calls, 3);
  }
}

// 11. A handler that needs a lock of the thread that waits for it deadlocks. The simulation reports
// it; this handler stops after the report, so that the test ends.
TEST_F(Beliefs, B11_WaitUnderALockOfAHandler_Deadlocks) {
  Options options;
  options.wait_timeout = 50'000'000;
  begin(options);
  std::mutex mutex;
  std::mutex* const lock = &mutex;
  std::atomic<bool> has_locked = false;
  std::atomic<bool>* const outcome = &has_locked;
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
    while (!has_misuse("wait-blocks-handler")) {
      if (!lock->try_lock()) continue;
      *outcome = true;
      lock->unlock();
      return;
    }
  }];
  {
    const std::lock_guard guard(mutex);
    finish(commands);
  }
  EXPECT_FALSE(has_locked);
  expect_misuse("wait-blocks-handler");
}

// 11. A handler may take a lock that no waiting thread holds, and may run long.
TEST_F(Beliefs, B11_HandlerThatLocks_IsNoMisuse) {
  Options options;
  options.adversities.late_handlers = true;
  begin(options);
  std::mutex mutex;
  std::mutex* const lock = &mutex;
  int calls = 0;
  int* const count = &calls;
  for (int round = 1; round <= 20; ++round) {
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    [commands addCompletedHandler:^(id<MTLCommandBuffer>) {
      const std::lock_guard guard(*lock);
      ++*count;
    }];
    finish(commands);
    const std::lock_guard guard(mutex);
    EXPECT_EQ(calls, round);
  }
}

// 33, 34. A watchdog ends long kernels and kernels that spin (mlx#3142).
// 35. A fault also fails innocent command buffers ("victim of GPU error/recovery").
TEST_F(Beliefs, B35_Fault_HasVictims) {
  Options options;
  options.adversities.victims = true;
  begin(options);
  id<MTLSharedEvent> const gate = [device_ newSharedEvent];
  id<MTLCommandQueue> const other = [device_ newCommandQueue];
  id<MTLBuffer> const target = buffer(64);
  id<MTLCommandBuffer> const innocent = [other commandBuffer];
  [innocent encodeWaitForEvent:gate value:1];
  [innocent commit];
  fail_next(0, MTLCommandBufferErrorPageFault);
  id<MTLCommandBuffer> const guilty = [queue_ commandBuffer];
  fill(guilty, target, 1);
  finish(guilty);
  [innocent waitUntilCompleted];
  EXPECT_EQ([[guilty error] code], MTLCommandBufferErrorPageFault);
  EXPECT_EQ([[innocent error] code], MTLCommandBufferErrorInternal);
  [target release];
  [other release];
  [gate release];
}

// 35. After too many faults the system ignores the submissions of the process (flutter#127151).
TEST_F(Beliefs, B35_ManyFaults_RevokeTheProcess) {
  Options options;
  options.faults_until_revoked = 2;
  begin(options);
  id<MTLBuffer> const target = buffer(64);
  NSInteger last = 0;
  for (int i = 0; i < 3; ++i) {
    if (i < 2) fail_next(0, MTLCommandBufferErrorPageFault);
    id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
    fill(commands, target, 1);
    finish(commands);
    last = [[commands error] code];
  }
  EXPECT_EQ(last, MTLCommandBufferErrorAccessRevoked);
  [target release];
}

// 40. Metal does not survive fork(2) (from memory of Apple's documents).
TEST_F(Beliefs, B40_ChildOfFork_HasNoDevices) {
  begin();
  id<MTLCommandBuffer> const commands = [queue_ commandBuffer];
  finish(commands);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_dead = MTLCreateSystemDefaultDevice() == nil && [queue_ commandBuffer] == nil &&
                         [device_ newBufferWithLength:64
                                              options:MTLResourceStorageModeShared] == nil;
    _exit(is_dead ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace metal_tests
