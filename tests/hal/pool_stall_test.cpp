// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rule 30: allocations that wait for memory whose deallocations wait for such allocations.
#include "hal/pool_world.h"
#include "halyard/hal/pool.h"

namespace halyard::hal {
namespace {

using testing::kSlab;
using testing::PoolTest;

constexpr auto kStalled = "and all that is to come back waits for who waits here";

TEST_F(PoolTest, AnAllocationDoesNotWaitForADeallocationThatWaitsForIt) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore(), t = semaphore();
  const Buffer x = allocate(pool, 1024);
  run_all();
  const Semaphore go = semaphore();
  const Buffer y = allocate(pool, kSlab, {.wait = {{go, 1}}, .signal = {{s, 1}}});
  ASSERT_TRUE(queue.barrier({.wait = {{s, 1}}, .signal = {{t, 1}}}).ok());
  ASSERT_TRUE(queue.deallocate(y, {.wait = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{t, 1}}}).ok());
  ASSERT_TRUE(go.signal(1).ok());
  run_all();
  EXPECT_EQ(s.query().value(), 0u) << "the host may be about to submit a deallocation";
  run_until_patience_ends();
  EXPECT_ERROR(s.query().status(), StatusCode::kResourceExhausted, kStalled);
  EXPECT_ERROR(t.query().status(), StatusCode::kResourceExhausted, "1024 of 4096 bytes are used");
  EXPECT_TRUE(has_memory(x)) << "a deallocation that failed has not happened";
}

TEST_F(PoolTest, AnAllocationWaitsAsLongAsTheHostCanHaveSomethingGivenBack) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore(), t = semaphore();
  const Buffer x = allocate(pool, 1024);
  run_all();
  // t = 2 is the host's to signal, though t = 3 waits for y.
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{t, 2}}}).ok());
  const Buffer y = allocate(pool, kSlab, {.signal = {{s, 1}}});
  ASSERT_TRUE(queue.barrier({.wait = {{s, 1}}, .signal = {{t, 3}}}).ok());
  run_until_patience_ends();
  EXPECT_EQ(s.query().value(), 0u);
  ASSERT_TRUE(t.signal(2).ok());
  run_all();
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(t.query().value(), 3u);
}

TEST_F(PoolTest, AnAllocationWaitsForTheOneDeallocationThatDoesNotWaitForIt) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore(), go = semaphore();
  const Buffer x[] = {allocate(pool, kSlab / 4), allocate(pool, kSlab / 4)};
  run_all();
  ASSERT_TRUE(queue.deallocate(x[0], {.wait = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.deallocate(x[1], {.wait = {{go, 1}}}).ok());
  const Buffer y = allocate(pool, kSlab / 4 * 3, {.signal = {{s, 1}}});
  run_until_patience_ends();
  EXPECT_EQ(s.query().value(), 0u);
  ASSERT_TRUE(go.signal(1).ok());
  run_all();
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(s.query().value(), 1u);
}

TEST_F(PoolTest, AnAllocationFailsOnceALaterSubmissionMakesADeallocationWaitForIt) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore(), t = semaphore();
  const Buffer x = allocate(pool, 1024);
  run_all();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{t, 1}}}).ok());
  const Buffer y = allocate(pool, kSlab, {.signal = {{s, 1}}});
  run_all();
  EXPECT_EQ(s.query().value(), 0u);
  ASSERT_TRUE(queue.barrier({.wait = {{s, 1}}, .signal = {{t, 1}}}).ok());
  run_until_patience_ends();
  EXPECT_ERROR(s.query().status(), StatusCode::kResourceExhausted, kStalled);
  EXPECT_FALSE(t.query().ok());
}

TEST_F(PoolTest, AllocationsOfTwoPoolsDoNotWaitForEachOther) {
  const Pool pools[] = {one_slab(), one_slab()};
  const Buffer x[] = {allocate(pools[0], 1024), allocate(pools[1], 1024)};
  run_all();
  const Semaphore s[] = {semaphore(), semaphore()}, go = semaphore();
  Buffer y[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(queue.deallocate(x[i], {.wait = {{s[1 - i], 1}, {go, 1}}}).ok());
    y[i] = allocate(pools[i], kSlab, {.signal = {{s[i], 1}}});
  }
  run_until_patience_ends();
  for (const Semaphore& end : s) {
    EXPECT_FALSE(end.query().ok());
    EXPECT_EQ(end.query().status().code(), StatusCode::kResourceExhausted);
  }
}

TEST_F(PoolTest, AnAllocationWaitsForOneOfAnotherPoolThatGetsItsMemory) {
  const Pool pools[] = {one_slab(), one_slab()};
  const Buffer x[] = {allocate(pools[0], 1024), allocate(pools[1], 1024)};
  run_all();
  const Semaphore s[] = {semaphore(), semaphore()}, go = semaphore();
  ASSERT_TRUE(queue.deallocate(x[0], {.wait = {{s[1], 1}}}).ok());
  ASSERT_TRUE(queue.deallocate(x[1], {.wait = {{go, 1}}}).ok());
  const Buffer y[] = {allocate(pools[0], kSlab, {.signal = {{s[0], 1}}}),
                      allocate(pools[1], kSlab, {.signal = {{s[1], 1}}})};
  run_all();
  EXPECT_EQ(s[0].query().value(), 0u);
  ASSERT_TRUE(go.signal(1).ok());
  run_all();
  EXPECT_TRUE(has_memory(y[0]) && has_memory(y[1]));
}

TEST_F(PoolTest, ALaterSmallAllocationWaitsBehindALargeOne) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab / 2);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer large = allocate(pool, kSlab);
  const Buffer small = allocate(pool, 16);
  run_until_patience_ends();
  EXPECT_FALSE(has_memory(small)) << "there is room, but the large one is first";
  ASSERT_TRUE(s.signal(1).ok());
  step();
  EXPECT_TRUE(has_memory(large));
  ASSERT_TRUE(queue.deallocate(large, {}).ok());
  EXPECT_TRUE(has_memory(small));
}

TEST_F(PoolTest, ALaterSmallAllocationGoesFirstIfMemoryComesBackBehindItsWork) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore(), go = semaphore();
  const Buffer x = allocate(pool, kSlab / 2);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer large = allocate(pool, kSlab);
  const Buffer small = allocate(pool, 16, {.signal = {{s, 1}}});
  ASSERT_TRUE(queue.deallocate(small, {.wait = {{s, 1}, {go, 1}}}).ok());
  run_all();
  source.clock().ahead += PoolObject::kPatience;
  run_all();
  EXPECT_EQ(s.query().value(), 0u) << "the host may be about to submit";
  source.clock().ahead += PoolObject::kPatience;
  run_all();
  EXPECT_EQ(s.query().value(), 1u) << "the small one has gone first";
  EXPECT_FALSE(has_memory(large));
  ASSERT_TRUE(go.signal(1).ok());
  run_all();
  EXPECT_TRUE(has_memory(large));
}

TEST_F(PoolTest, WhoGivesWayDoesSoUntilTheNextHasItsSlab) {
  const Pool pool = make_pool({.max_size = kSlab + 256});
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab);
  run_all();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer large = allocate(pool, kSlab);
  const Buffer small = allocate(pool, 16, {.signal = {{s, 1}}});
  run_all();
  for (int i = 0; i < 2; ++i) {
    source.clock().ahead += PoolObject::kPatience;
    run_all();
  }
  EXPECT_EQ(pool.statistics().reserved_bytes, kSlab + 256);
  EXPECT_TRUE(has_memory(small));
  EXPECT_TRUE(has_memory(large)) << "the small one has let go of the other's block";
}

// The deallocation's lane waits for a lost device: it will neither run nor end.
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
  source.clock().ahead += PoolObject::kPatience;
  run_all();
  EXPECT_ERROR(t.query().status(), StatusCode::kResourceExhausted, "4096 bytes");
  EXPECT_FALSE(has_memory(y));
}

}  // namespace
}  // namespace halyard::hal
