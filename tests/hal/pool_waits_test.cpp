// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: allocations that wait for deallocations (rule 30).
#include "hal/pool_world.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::kSlab;
using testing::PoolTest;

TEST_F(PoolTest, AnAllocationWaitsForASubmittedDeallocation) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Semaphore t = semaphore();
  const Buffer y = allocate(pool, 300, {.signal = {{t, 1}}});
  step();
  EXPECT_FALSE(has_memory(y));
  EXPECT_THAT(device.dump_timelines(),
              HasSubstr("waits for 512 bytes of pool 'small' of fake://0 (4096 of 4096 bytes"));
  ASSERT_TRUE(s.signal(1).ok());
  EXPECT_TRUE(has_memory(y));
  run_all();
  EXPECT_EQ(t.query().value(), 1u);
  EXPECT_THAT(device.dump_timelines(), ::testing::Not(HasSubstr("pool")));
}

TEST_F(PoolTest, AnAllocationWaitsUntilTheHolderDropsItsBuffer) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  Buffer x = allocate(pool, 1024);
  const Buffer y = allocate(pool, kSlab, {.signal = {{s, 1}}});
  run_all();
  EXPECT_EQ(s.query().value(), 0u);
  x = {};
  source.clock().ahead += timeline::Engine::kCheckInterval;
  run_all();
  EXPECT_EQ(s.query().value(), 1u);
  EXPECT_ERROR(
      queue.allocate(pool, {.size = kSlab + 1, .memory = MemoryType::kHostVisible}, {}).status(),
      StatusCode::kResourceExhausted, "which has at most 4096");
}

// The allocating thread holds its queue's role, so another thread that checks the queue may find
// the role taken, time after time.
TEST_F(PoolTest, AnAllocationLooksItselfForADroppedBufferOfItsQueue) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  {
    const Buffer x = allocate(pool, kSlab, {.signal = {{s, 1}}});
    step();
    ASSERT_TRUE(queue.fill(x, 0, 4, {.wait = {{s, 1}}}).ok());
  }
  const Buffer y = allocate(pool, kSlab);
  step();
  EXPECT_FALSE(has_memory(y));
  compute_lane.run();
  source.clock().ahead += timeline::Engine::kCheckInterval;
  while (registry.step(base::Shell::kCompletion) || registry.step(base::Shell::kIssue)) {
  }
  EXPECT_TRUE(has_memory(y));
}

TEST_F(PoolTest, AWaitThatIsOverSaysWhatThePoolHolds) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore(), gate = semaphore();
  const Buffer x = allocate(pool, 1024), z = allocate(pool, 256);
  run_all();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{gate, 1}}}).ok());
  const Buffer y = allocate(pool, kSlab, {.signal = {{s, 1}}});
  run_all();
  const auto held =
      "waits for 4096 bytes of pool 'small' of fake://0 (1280 of 4096 bytes are used, in 2 "
      "blocks; 1 deallocation outstanding)";
  EXPECT_THAT(device.dump_timelines(), HasSubstr(held));
  const Status status = s.wait(1, 1ns);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("that is not issued, ") + held));
  ASSERT_TRUE(gate.signal(1).ok());
}

TEST_F(PoolTest, AnAllocationGoesOnWaitingWhenADeallocationHasFailed) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer y = allocate(pool, kSlab);
  s.fail(Status(StatusCode::kInternal, "no"));
  step();
  EXPECT_FALSE(has_memory(y));
  x = {};
  run_all();
  source.clock().ahead += timeline::Engine::kCheckInterval;
  step();
  EXPECT_TRUE(has_memory(y));
}

TEST_F(PoolTest, ALaterSmallAllocationWaitsBehindALargeOne) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab / 2);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer large = allocate(pool, kSlab);
  const Buffer small = allocate(pool, 16);
  run_all();
  EXPECT_FALSE(has_memory(small)) << "there is room, but the large one is first";
  ASSERT_TRUE(s.signal(1).ok());
  step();
  EXPECT_TRUE(has_memory(large));
  ASSERT_TRUE(queue.deallocate(large, {}).ok());
  EXPECT_TRUE(has_memory(small));
}

// The deallocation is queued after a wait for a lost device, so it never completes.
TEST_F(PoolTest, AnAllocationDoesNotWaitForADeallocationInAQuarantinedLane) {
  Device other = registry.open("fake://").value();
  const Pool pool = one_slab(/*hidden_waits=*/false);
  const Semaphore s = semaphore(), t = semaphore();
  const Buffer x = allocate(pool, kSlab);
  run_all();
  ASSERT_TRUE(other.queue().barrier({.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.barrier({.wait = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  ASSERT_EQ(compute_lane.pending(), 2u);
  const Buffer y = allocate(copy, pool, kSlab, {.signal = {{t, 1}}});
  step();
  EXPECT_EQ(t.query().value(), 0u);
  other.object()->timeline().lose(Status(StatusCode::kInternal, "fell off the bus"));
  source.clock().ahead += timeline::Engine::kCheckInterval;
  run_all();
  EXPECT_ERROR(t.query().status(), StatusCode::kResourceExhausted, "4096 bytes");
  EXPECT_FALSE(has_memory(y));
}

TEST_F(PoolTest, AnAllocationFailsWithTheDriversReason) {
  const Pool pool = make_pool();
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "the card is full");
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
  step();
  EXPECT_ERROR(s.query().status(), StatusCode::kResourceExhausted, "the card is full");
  control->fail_allocate = {};
  const Buffer y = allocate(pool, 16);
  step();
  EXPECT_TRUE(has_memory(y)) << "the next allocation requests a slab again";
}

// The holder of the remaining memory may itself wait for this allocation.
TEST_F(PoolTest, ARefusedAllocationWaitsForIssuedDeallocationsOnly) {
  const Pool pool = make_pool({.max_size = 3 * kSlab, .hidden_waits = false});
  const Semaphore s = semaphore(), t = semaphore(), gate = semaphore();
  const Buffer x = allocate(pool, 1024), z = allocate(pool, kSlab);
  run_all();
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "the card is full");
  ASSERT_TRUE(queue.deallocate(z, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab, {.signal = {{s, 1}}});
  step();
  EXPECT_EQ(s.query().value(), 0u) << "the deallocation is issued";
  run_all();
  EXPECT_EQ(s.query().value(), 1u);
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{gate, 1}}}).ok());
  const Buffer none = allocate(pool, kSlab, {.signal = {{t, 1}}});
  run_all();
  EXPECT_ERROR(t.query().status(), StatusCode::kResourceExhausted,
               "pool 'small' of fake://0: no block of 4096 bytes: 5120 of 8192 bytes are used, "
               "12288 allowed; the card is full");
  ASSERT_TRUE(gate.signal(1).ok());
}

// The default max_size is not a limit that the caller chose.
TEST_F(PoolTest, AnUnlimitedPoolWithoutMemory_SaysThatItHasNoLimit) {
  const Pool pool = make_pool();
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "the card is full");
  const Semaphore done = semaphore();
  const Buffer none = allocate(pool, kSlab, {.signal = {{done, 1}}});
  run_all();
  EXPECT_ERROR(done.query().status(), StatusCode::kResourceExhausted,
               "no block of 4096 bytes: 0 of 0 bytes are used, without a limit; the card is full");
}

TEST_F(PoolTest, ACancelledAllocationLetsTheNextGo) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab / 4);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  Submission submission;
  const Buffer large = allocate(pool, kSlab, {.submission = &submission});
  std::vector<Buffer> small;
  for (int i = 0; i < 8; ++i) small.push_back(allocate(pool, 16));
  const Buffer next = allocate(copy, pool, 16);
  EXPECT_FALSE(has_memory(next));
  EXPECT_TRUE(submission.cancel());
  step();
  EXPECT_TRUE(has_memory(next));
  EXPECT_FALSE(has_memory(large));
  s.fail(Status(StatusCode::kInternal, "over"));
}

TEST_F(PoolTest, AnAllocationThatWasGivenUpWaitsNoLonger) {
  const Pool pool = one_slab();
  const Semaphore lost = semaphore();
  const Semaphore kept = semaphore();
  const Buffer x = allocate(pool, kSlab / 2);
  const Buffer large = allocate(pool, kSlab, {.signal = {{lost, 2}}});
  const Buffer both = allocate(pool, kSlab, {.signal = {{lost, 3}, {kept, 1}}});
  const Buffer small = allocate(pool, 16);
  run_all();
  lost.give_up(1);
  step();
  EXPECT_FALSE(has_memory(small)) << "the large one signals 2";
  lost.give_up(2);
  step();
  EXPECT_ERROR(lost.query().status(), StatusCode::kCancelled,
               "no block of 4096 bytes, and no one waits for it");
  lost.give_up(3);
  step();
  EXPECT_FALSE(has_memory(small)) << "someone waits for the other signal";
  kept.give_up(1);
  step();
  EXPECT_EQ(kept.query().status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(has_memory(small));
}

TEST_F(PoolTest, AnAllocationThatWasGivenUpLeavesTheLineBehindOneThatWasNot) {
  const Pool pool = one_slab();
  const Semaphore given_up = semaphore();
  const Buffer x = allocate(pool, kSlab / 2);
  const Buffer large = allocate(pool, kSlab);
  const Buffer small = allocate(pool, 16, {.signal = {{given_up, 1}}});
  run_all();
  given_up.give_up(1);
  step();
  EXPECT_EQ(given_up.query().status().code(), StatusCode::kCancelled);
}

TEST_F(PoolTest, AnAllocationThatWasGivenUpStaysWhileThePoolGrows) {
  const Pool pool = one_slab();
  const Semaphore done = semaphore();
  done.give_up(1);
  const Buffer x = allocate(pool, kSlab, {.signal = {{done, 1}}});
  run_all();
  EXPECT_EQ(done.query().value(), 1u);
}

TEST_F(PoolTest, AnAllocationThatWasGivenUpStaysWhileADeallocationIsUnderWay) {
  const Pool pool = one_slab(/*hidden_waits=*/false);
  const Semaphore done = semaphore();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab, {.signal = {{done, 1}}});
  done.give_up(1);
  step();
  EXPECT_FALSE(has_memory(y));
  run_all();
  EXPECT_EQ(done.query().value(), 1u);
}

}  // namespace
}  // namespace halyard::hal
