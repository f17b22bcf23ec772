// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: full lanes, lost devices, lifetimes, and many threads.
#include "hal/pool_world.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using testing::kSlab;
using testing::PoolTest;

// ---- Full lanes, and lost devices

TEST_F(PoolTest, AnAllocationThatAFullLaneRefusesKeepsNoBlock) {
  const Pool pool = one_slab();
  const Buffer x = allocate(pool, 16);
  run_all();
  control->lane_capacity = 1;
  ASSERT_TRUE(copy.barrier({}).ok());
  const Buffer y = allocate(copy, pool, 16);
  EXPECT_FALSE(has_memory(y));
  EXPECT_EQ(pool.statistics().blocks, 1u);
  run_all();
  EXPECT_TRUE(has_memory(y));
}

TEST_F(PoolTest, ALossReachesWorkWithAHiddenWait) {
  Device lost = registry.open("fake://").value();
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Semaphore freed = semaphore();
  const Semaphore given = semaphore();
  const Buffer x = allocate(pool, kSlab);
  run_all();
  ASSERT_TRUE(lost.queue().barrier({.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}, .signal = {{freed, 1}}}).ok());
  const Buffer y = allocate(copy, pool, kSlab, {.signal = {{given, 1}}});
  EXPECT_EQ(copy_lane.pending(), 1u);
  lost.object()->timeline().lose(Status(StatusCode::kInternal, "fell off the bus"));
  step();
  EXPECT_ERROR(freed.query().status(), StatusCode::kDeviceLost, "fell off the bus");
  EXPECT_ERROR(given.query().status(), StatusCode::kUnavailable, "fell off the bus");
}

TEST_F(PoolTest, ALossFailsWhatWaitsInThePool) {
  const Device other = registry.open("fake://").value();
  const Semaphore s = other.create_semaphore().value();
  const Pool pool = one_slab();
  const Buffer x = allocate(pool, kSlab);
  run_all();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer y = allocate(pool, kSlab, {.signal = {{s, 2}}});
  device.object()->timeline().lose(Status(StatusCode::kInternal, "fell off the bus"));
  step();
  EXPECT_ERROR(s.query().status(), StatusCode::kDeviceLost, "fell off the bus");
}

TEST_F(PoolTest, AFaultWhileASlabIsAllocatedIsALossOfTheDevice) {
  const Pool pool = make_pool();
  control->fail_allocate = Status(StatusCode::kDeviceLost, "fell off the bus");
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
  step();
  EXPECT_ERROR(s.query().status(), StatusCode::kDeviceLost, "fell off the bus");
  EXPECT_ERROR(device.status(), StatusCode::kDeviceLost, "fell off the bus");
}

// Calls a function the first time that a thread enters the driver from then on.
class OnEntry final : public timeline::EntryGuard {
 public:
  void enter(Saved&, timeline::Calls) noexcept override {
    if (const auto run = std::exchange(next, nullptr)) run();
  }
  void leave(const Saved&) noexcept override {}
  std::function<void()> next;
};

// The queue checks for a loss, then calls the pool, which checks the lane: there the slab fails.
TEST_F(PoolTest, AFaultBetweenTheQueuesLookAndThePoolsIsALossToo) {
  const auto guard = Ref<OnEntry>::adopt(new OnEntry);
  control->guard = guard;
  Device guarded = registry.open("fake://").value();
  testing::FakeLane& lane = *control->lanes.at(2);
  const Queue its = guarded.queue();
  const Pool pool =
      guarded.create_pool({.memory = MemoryType::kHostVisible, .slab_size = kSlab}).value();
  const Semaphore s = guarded.create_semaphore().value();
  const Buffer x = allocate(its, pool, kSlab);
  run_all();
  ASSERT_TRUE(its.deallocate(x, {}).ok());
  const Buffer y = allocate(its, pool, 2 * kSlab, {.signal = {{s, 1}}});
  control->fail_allocate = Status(StatusCode::kDeviceLost, "fell off the bus");
  bool between = false;
  guard->next = [&] {
    between = !guarded.object()->timeline().lost();
    lane.run();
    (void)registry.step(base::Shell::kReclaim);
  };
  {
    timeline::EffectScope scope(registry.engine(), timeline::EffectScope::Mode::kRun);
    guarded.object()->retry_queues();
  }
  step();
  EXPECT_TRUE(between);
  EXPECT_ERROR(s.query().status(), StatusCode::kDeviceLost, "fell off the bus");
  control->guard = {};
}

// ---- Lifetimes

TEST_F(PoolTest, ADroppedBufferReturnsItsBlockWithItsLastSubmission) {
  const Pool pool = make_pool();
  {
    const Semaphore s = semaphore();
    const Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
    ASSERT_TRUE(queue.fill(x, 0, 4, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  }
  step();
  EXPECT_EQ(pool.statistics().blocks, 1u);
  run_all();
  ASSERT_TRUE(pool.trim().ok());
  step();
  EXPECT_EQ(pool.statistics().blocks, 0u);
  EXPECT_EQ(control->live_memories, 0);
}

TEST_F(PoolTest, AnAllocationWhoseBufferIsDroppedReturnsItsBlock) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  (void)allocate(pool, 16, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  ASSERT_TRUE(s.signal(1).ok());
  run_all();
  EXPECT_EQ(s.query().value(), 2u);
  EXPECT_EQ(pool.statistics().blocks, 0u);
}

TEST_F(PoolTest, TrimKeepsUsedSlabsAndTheGivenBytes) {
  const Pool pool = make_pool();
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(allocate(pool, kSlab));
  step();
  EXPECT_EQ(pool.statistics().slabs, 4u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.deallocate(buffers[i], {}).ok());
  ASSERT_TRUE(pool.trim().ok());
  step();
  EXPECT_EQ(pool.statistics().slabs, 4u) << "the device has not run the deallocations";
  run_all();
  buffers.erase(buffers.begin(), buffers.begin() + 3);
  ASSERT_TRUE(pool.trim(2 * kSlab).ok());
  EXPECT_EQ(control->live_memories, 4) << "not by the caller";
  step();
  EXPECT_EQ(pool.statistics().reserved_bytes, 2 * kSlab);
  EXPECT_EQ(control->live_memories, 2);
  ASSERT_TRUE(pool.trim().ok());
  step();
  EXPECT_EQ(pool.statistics().slabs, 1u);
  EXPECT_TRUE(has_memory(buffers[0]));
}

TEST_F(PoolTest, NoSlabIsAllocatedForAnAllocationThatNoLongerWaits) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  Buffer x = allocate(pool, kSlab, {.signal = {{s, 1}}});
  run_all();
  ASSERT_EQ(s.query().value(), 1u);
  const Buffer y = allocate(pool, kSlab);  // requests a second slab,
  x = {};                                  // and gets the first one
  ASSERT_TRUE(registry.step(base::Shell::kCompletion));
  ASSERT_TRUE(has_memory(y));
  step();
  EXPECT_EQ(pool.statistics().slabs, 1u);
}

TEST_F(PoolTest, AFreeSlabMakesRoomForALargerOne) {
  const Pool pool = make_pool({.slab_size = 1024, .max_size = kSlab});
  const Buffer x = allocate(pool, 1024);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  run_all();
  const Buffer y = allocate(pool, kSlab);
  step();
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(pool.statistics().reserved_bytes, kSlab);
}

TEST_F(PoolTest, APoolWithoutHandlesAndBuffersReturnsItsSlabs) {
  Pool pool = make_pool();
  const Semaphore s = semaphore();
  Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
  run_all();
  EXPECT_EQ(s.query().value(), 1u);
  pool = {};
  step();
  EXPECT_TRUE(has_memory(x));
  x = {};
  EXPECT_EQ(control->live_memories, 1) << "not by the caller";
  step();
  EXPECT_EQ(control->live_memories, 0);
}

TEST_F(PoolTest, TheDeviceClosesWhileAllocationsWait) {
  const Device other = registry.open("fake://").value();
  const Semaphore s = other.create_semaphore().value();
  const Semaphore t = other.create_semaphore().value();
  {
    const Pool pool = one_slab();
    const Buffer x = allocate(pool, kSlab);
    step();
    ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
    (void)allocate(pool, kSlab, {.signal = {{t, 1}}});
  }
  queue = copy = {};
  device = {};
  run_all();
  EXPECT_ERROR(t.query().status(), StatusCode::kCancelled, "device fake://0: closed");
  EXPECT_EQ(control->open_devices, 1);
  EXPECT_EQ(control->live_memories, 0);
}

TEST_F(PoolTest, AnotherDevicesWorkOutlivesThePoolsDevice) {
  const Device other = registry.open("fake://").value();
  const Semaphore s = other.create_semaphore().value();
  {
    const Pool pool = make_pool();
    const Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
    run_all();
    ASSERT_TRUE(other.queue().fill(x, 0, 4, {.wait = {{s, 2}}, .signal = {{s, 3}}}).ok());
  }
  queue = copy = {};
  device = {};
  run_all();
  EXPECT_EQ(control->open_devices, 1);
  EXPECT_EQ(control->live_memories, 1);
  ASSERT_TRUE(s.signal(2).ok());
  run_all();
  EXPECT_EQ(s.query().value(), 3u);
  EXPECT_EQ(control->live_memories, 0);
}

TEST_F(PoolTest, RefusesWrongArguments) {
  const Pool pool = make_pool();
  const BufferInfo info{.size = 8, .memory = MemoryType::kHostVisible};
  EXPECT_ERROR(queue.allocate({}, info, {}).status(), StatusCode::kInvalidArgument, "pool");
  EXPECT_ERROR(Queue().allocate(pool, info, {}).status(), StatusCode::kInvalidArgument, "queue");
  EXPECT_ERROR(queue.allocate(pool, {.size = 8}, {}).status(), StatusCode::kInvalidArgument,
               "queue fake://0 compute: allocate: device-local memory of pool 'small'");
  EXPECT_ERROR(queue.allocate(pool, {8, MemoryType::kHostVisible, 3}, {}).status(),
               StatusCode::kInvalidArgument, "alignment 3");
  EXPECT_ERROR(
      queue.allocate(pool, {.size = 8, .memory = MemoryType::kHostVisible, .exportable = true}, {})
          .status(),
      StatusCode::kInvalidArgument, "exportable");
  EXPECT_ERROR(Queue().deallocate({}, {}), StatusCode::kInvalidArgument, "queue");
  EXPECT_ERROR(queue.deallocate({}, {}), StatusCode::kInvalidArgument, "buffer");
  EXPECT_ERROR(queue.deallocate(device.allocate({.size = 8}).value(), {}),
               StatusCode::kInvalidArgument, "not of a pool");
  const Device other = registry.open("fake://").value();
  EXPECT_ERROR(other.queue().allocate(pool, info, {}).status(), StatusCode::kPermissionDenied,
               "of another device");
  EXPECT_ERROR(other.queue().deallocate(allocate(pool, 8), {}), StatusCode::kPermissionDenied,
               "pool 'small'");
  EXPECT_ERROR(device.create_pool({.slab_size = 0}).status(), StatusCode::kInvalidArgument,
               "create_pool: slabs of 0 bytes; a slab has at least 256 bytes");
  EXPECT_ERROR(device.create_pool({.max_size = 1}).status(), StatusCode::kInvalidArgument,
               "create_pool: max_size of 1 byte; a slab has at least 256 bytes");
  EXPECT_ERROR(device.create_pool({.memory = static_cast<MemoryType>(9)}).status(),
               StatusCode::kInvalidArgument, "memory type 9");
  EXPECT_ERROR(Pool().trim(), StatusCode::kInvalidArgument, "pool");
  EXPECT_ERROR(Device().create_pool({}).status(), StatusCode::kInvalidArgument, "device");
  EXPECT_FALSE(Device().default_pool());
  EXPECT_FALSE(device.default_pool(static_cast<MemoryType>(9)));
}

TEST_F(PoolTest, EveryMemoryTypeHasADefaultPool) {
  for (const auto type :
       {MemoryType::kDeviceLocal, MemoryType::kHostVisible, MemoryType::kHostLocal}) {
    const Pool pool = device.default_pool(type);
    EXPECT_EQ(pool.memory_type(), type);
    EXPECT_EQ(pool, device.default_pool(type));
    const Buffer x = queue.allocate(pool, {.size = 8, .memory = type}, {}).value();
    step();
    EXPECT_EQ(pool.statistics().blocks, 1u);
  }
}

class ThreadedPool : public testing::FakeWorld {};

TEST_F(ThreadedPool, ManyThreadsShareATightPool) {
  const Pool pool =
      device
          .create_pool(
              {.memory = MemoryType::kHostVisible, .slab_size = 4096, .max_size = 16 * 4096})
          .value();
  const auto work = [&](std::uint8_t id) {
    const Queue on = device.queue(id % 2 == 0 ? QueueKind::kCompute : QueueKind::kCopy);
    const Semaphore s = device.create_semaphore().value();
    for (std::uint64_t i = 0, at = 0; i < 300; ++i, at += 3) {
      const std::uint64_t size = 256 * (1 + i * 7 % 12);
      const Buffer x = on.allocate(pool, {.size = size, .memory = MemoryType::kHostVisible},
                                   {.wait = {{s, at}}, .signal = {{s, at + 1}}})
                           .value();
      ASSERT_TRUE(on.fill(x, id, 1, {.wait = {{s, at + 1}}, .signal = {{s, at + 2}}}).ok());
      if (i % 5 == 0) {
        const Status status = s.wait(at + 2, 20s);
        ASSERT_TRUE(status.ok()) << status.to_string();
        for (const std::byte byte : x.map().value().bytes()) ASSERT_EQ(byte, std::byte{id});
      }
      ASSERT_TRUE(on.deallocate(x, {.wait = {{s, at + 2}}, .signal = {{s, at + 3}}}).ok());
    }
    const Status status = s.wait(900, 20s);
    ASSERT_TRUE(status.ok()) << status.to_string();
  };
  std::vector<std::thread> threads;
  for (std::uint8_t id = 1; id <= 4; ++id) threads.emplace_back(work, id);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().used_bytes, 0u);
  EXPECT_GT(pool.statistics().reuses, 100u);
}

}  // namespace
}  // namespace halyard::hal
