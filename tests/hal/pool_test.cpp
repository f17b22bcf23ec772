// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: which memory an allocation gets, and when.
#include "halyard/hal/pool.h"

#include "hal/memory/buffer.h"
#include "hal/pool_world.h"
#include "hal/recording/command.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::kSlab;
using testing::PoolTest;

TEST_F(PoolTest, ABufferExistsAtOnceAndItsMemoryOnceTheWaitsAreReached) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 100, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  EXPECT_EQ(x.size(), 100u);
  EXPECT_EQ(x.memory_type(), MemoryType::kHostVisible);
  step();
  EXPECT_ERROR(x.map().status(), StatusCode::kFailedPrecondition, "has no memory yet");
  EXPECT_EQ(pool.statistics().reserved_bytes, 0u);
  ASSERT_TRUE(s.signal(1).ok());
  EXPECT_EQ(control->live_memories, 0) << "the caller of signal allocates nothing";
  step();
  EXPECT_EQ(control->live_memories, 1);
  EXPECT_EQ(x.map().value().bytes().size(), 100u);
  EXPECT_EQ(pool.statistics().used_bytes, 256u);
  EXPECT_EQ(pool.statistics().reserved_bytes, kSlab);
}

TEST_F(PoolTest, MemoryResolvesToItsSlabFromTheIssueOfItsAllocationOn) {
  const Pool pool = make_pool();
  const Buffer x = allocate(pool, 100);
  const Buffer y = allocate(pool, 100);
  step();
  ASSERT_TRUE(has_memory(y));
  const Memory& of_x = x.object()->memory();
  const Memory& of_y = y.object()->memory();
  Memory& slab = of_x.root();
  EXPECT_FALSE(slab.of_pool());
  EXPECT_EQ(slab.size(), kSlab);
  EXPECT_EQ(&slab.root(), &slab);
  EXPECT_EQ(slab.root_offset(), 0u);
  EXPECT_EQ(&of_y.root(), &slab);
  EXPECT_NE(of_x.root_offset(), of_y.root_offset());
  for (const Memory* memory : {&of_x, &of_y}) {
    EXPECT_EQ(memory->host_pointer(), slab.host_pointer() + memory->root_offset());
    EXPECT_EQ(memory->device_address(), slab.device_address() + memory->root_offset());
  }
  const BoundRange bytes = at_root({&y.object()->memory(), 8, 16});
  EXPECT_EQ(bytes.memory, &slab);
  EXPECT_EQ(bytes.offset, of_y.root_offset() + 8);
  EXPECT_EQ(bytes.length, 16u);
}

TEST_F(PoolTest, WorkIsSubmittedBeforeTheMemoryExists) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 8, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  const Buffer kept = device.allocate({.size = 8, .memory = MemoryType::kHostVisible}).value();
  ASSERT_TRUE(queue.fill(x, 0x07070707, 4, {.wait = {{s, 2}}, .signal = {{s, 3}}}).ok());
  ASSERT_TRUE(copy.copy(x, kept, {.wait = {{s, 3}}, .signal = {{s, 4}}}).ok());
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 4}}, .signal = {{s, 5}}}).ok());
  ASSERT_TRUE(s.signal(1).ok());
  run_all();
  EXPECT_EQ(s.query().value(), 5u);
  EXPECT_EQ(kept.map().value().bytes()[7], std::byte{7});
  EXPECT_EQ(pool.statistics().used_bytes, 0u);
}

TEST_F(PoolTest, UseThatDidNotWaitForTheAllocationFails) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Semaphore done = semaphore();
  const Buffer x = allocate(pool, 8, {.wait = {{s, 1}}});
  ASSERT_TRUE(queue.fill(x, 0, 4, {.signal = {{done, 1}}}).ok());
  EXPECT_ERROR(done.query().status(), StatusCode::kFailedPrecondition, "has no memory yet");
  ASSERT_TRUE(s.signal(1).ok());
  run_all();
  EXPECT_TRUE(has_memory(x)) << "the allocation is unharmed";
}

TEST_F(PoolTest, EveryOperationFailsWithoutTheMemory) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 1024, {.wait = {{s, 1}}});
  const Buffer other = device.allocate({.size = 1024}).value();
  const Function saxpy =
      device.load(testing::sample_hyx(), "sample.hyx").value().function(0).value();
  Recorder recorder(device);
  const CommandBuffer commands = recorder.fill(slot(0), 0).finish().value();
  const std::byte data[4] = {};
  const std::pair<const char*, std::function<Status(const SubmitInfo&)>> uses[] = {
      {"copy from", [&](const SubmitInfo& info) { return queue.copy(x, other, info); }},
      {"copy to", [&](const SubmitInfo& info) { return queue.copy(other, x, info); }},
      {"update", [&](const SubmitInfo& info) { return queue.update(x, 0, data, info); }},
      {"dispatch",
       [&](const SubmitInfo& info) {
         return queue.dispatch(saxpy, {.items = 1}, {other, x}, {1.f, 1u}, info);
       }},
      {"execute",
       [&](const SubmitInfo& info) {
         return queue.execute(commands, {.bindings = {x}, .signal = info.signal});
       }},
      {"deallocate", [&](const SubmitInfo& info) { return queue.deallocate(x, info); }},
  };
  for (const auto& [name, submit] : uses) {
    const Semaphore done = semaphore();
    ASSERT_TRUE(submit({.signal = {{done, 1}}}).ok()) << name;
    EXPECT_ERROR(done.query().status(), StatusCode::kFailedPrecondition, "has no memory yet");
  }
  ASSERT_TRUE(s.signal(1).ok());
  run_all();
  EXPECT_TRUE(has_memory(x)) << "a deallocation that failed has not happened";
}

TEST_F(PoolTest, ADeallocatedBufferIsRefused) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
  const Buffer part = x.subspan(4, 4).value();
  EXPECT_ERROR(queue.deallocate(part, {}), StatusCode::kInvalidArgument,
               "4 bytes at offset 4, a part of 16");
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  EXPECT_ERROR(x.map().status(), StatusCode::kFailedPrecondition, "was deallocated");
  EXPECT_ERROR(queue.fill(part, 0, 4, {}), StatusCode::kFailedPrecondition, "was deallocated");
  EXPECT_ERROR(queue.deallocate(x, {}), StatusCode::kFailedPrecondition, "deallocated already");
  run_all();
  EXPECT_EQ(s.query().value(), 2u);
  EXPECT_EQ(pool.statistics().used_bytes, 0u);
}

TEST_F(PoolTest, AUseThatIsIssuedAfterTheDeallocationFails) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Semaphore late = semaphore();
  const Buffer x = allocate(pool, 16, {.signal = {{s, 1}}});
  ASSERT_TRUE(queue.fill(x, 0, 4, {.wait = {{late, 1}}, .signal = {{late, 2}}}).ok());
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  run_all();
  ASSERT_TRUE(late.signal(1).ok());
  EXPECT_ERROR(late.query().status(), StatusCode::kFailedPrecondition, "no memory any more");
}

TEST_F(PoolTest, ADeallocationWhoseWaitFailsHasNoEffect) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16);
  run_all();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  s.fail(Status(StatusCode::kInternal, "no"));
  step();
  EXPECT_TRUE(has_memory(x));
  EXPECT_EQ(pool.statistics().blocks, 1u);
  EXPECT_TRUE(queue.deallocate(x, {}).ok());
  EXPECT_EQ(pool.statistics().blocks, 0u);
}

TEST_F(PoolTest, AnAllocationWhoseWaitFailsTakesNothing) {
  const Pool pool = make_pool();
  const Semaphore gate = semaphore();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16, {.wait = {{gate, 1}}, .signal = {{s, 1}}});
  gate.fail(Status(StatusCode::kDataLoss, "broken"));
  step();
  EXPECT_ERROR(s.query().status(), StatusCode::kDataLoss, "broken");
  EXPECT_FALSE(has_memory(x));
  EXPECT_EQ(pool.statistics().reserved_bytes, 0u);
}

TEST_F(PoolTest, ARecordingMayReferToMemoryAllocatedLater) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  const Buffer y = device.allocate({.size = 16, .memory = MemoryType::kHostVisible}).value();
  const Function saxpy =
      device.load(testing::sample_hyx(), "sample.hyx").value().function(0).value();
  Recorder recorder(device);
  const std::byte nine[] = {std::byte{9}};
  recorder.fill(x.subspan(4).value(), 0x01010101)
      .update(BufferRange(x, 8, 1), nine)
      .copy(x, slot(1))
      .copy(slot(2, 0, 4), BufferRange(x, 0, 4))
      .dispatch(saxpy, {.items = 1}, {x, slot(1)}, {1.f, 1u});
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(commands.slot_count(), 3u) << "the caller's slots";
  const Buffer fives = device.allocate({.size = 4, .memory = MemoryType::kHostVisible}).value();
  std::ranges::fill(fives.map().value().bytes(), std::byte{5});
  ASSERT_TRUE(
      queue.execute(commands, {.bindings = {{}, y, fives}, .wait = {{s, 2}}, .signal = {{s, 3}}})
          .ok());
  ASSERT_TRUE(s.signal(1).ok());
  run_all();
  EXPECT_EQ(s.query().value(), 3u);
  const Mapping mapping = x.map().value();
  EXPECT_EQ(mapping.bytes()[0], std::byte{5});
  EXPECT_EQ(mapping.bytes()[4], std::byte{1});
  EXPECT_EQ(mapping.bytes()[8], std::byte{9});
  EXPECT_EQ(y.map().value().bytes()[8], std::byte{9});
  ASSERT_EQ(control->launches.size(), 1u);
  EXPECT_EQ(control->launches[0].bindings[0].length, 16u);

  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  EXPECT_ERROR(queue.execute(commands, {.bindings = {{}, y, fives}}),
               StatusCode::kFailedPrecondition, "a recorded buffer of 16 bytes was deallocated");
  EXPECT_ERROR(Recorder(device).fill(x, 0).finish().status(), StatusCode::kFailedPrecondition,
               "was deallocated");
}

TEST_F(PoolTest, ARecordingThatIsExecutedTooEarlyFails) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, 16, {.wait = {{s, 1}}});
  const CommandBuffer commands = Recorder(device).fill(x, 0).finish().value();
  const Semaphore done = semaphore();
  ASSERT_TRUE(queue.execute(commands, {.signal = {{done, 1}}}).ok());
  EXPECT_ERROR(done.query().status(), StatusCode::kFailedPrecondition, "has no memory yet");
}

// ---- Rule 31: the choice of a block

TEST_F(PoolTest, TheSameQueueReusesABlockBeforeTheDeviceHasRun) {
  const Pool pool = one_slab();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(pool, kSlab);
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(compute_lane.pending(), 3u) << "nothing has run";
  EXPECT_EQ(pool.statistics().reuses, 1u);
}

TEST_F(PoolTest, MemoryThatABusyLaneDidNotTakeHasNotBeenUsed) {
  const Pool pool = one_slab();
  control->lane_capacity = 1;
  ASSERT_TRUE(queue.barrier({}).ok());
  const Buffer x = allocate(pool, kSlab);
  step();
  EXPECT_EQ(compute_lane.pending(), 1u) << "the barrier alone";
  EXPECT_EQ(pool.statistics().reuses, 0u);
  run_all();
  EXPECT_TRUE(has_memory(x));
  EXPECT_EQ(pool.statistics().reuses, 0u);
}

TEST_F(PoolTest, AnotherQueueGetsAHiddenWait) {
  const Pool pool = one_slab();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab);
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(copy_lane.pending(), 1u);
  EXPECT_EQ(copy_lane.run(), 0) << "it waits for the other lane";
  EXPECT_EQ(compute_lane.run(), 2);
  EXPECT_EQ(copy_lane.run(), 1);
}

TEST_F(PoolTest, WithoutHiddenWaitsAnotherQueueWaitsInThePool) {
  const Pool pool = one_slab(false);
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab);
  step();
  EXPECT_FALSE(has_memory(y));
  EXPECT_EQ(copy_lane.pending(), 0u);
  compute_lane.run();  // only the pool waits for the deallocation
  step();
  EXPECT_TRUE(has_memory(y));
}

// A waiting allocation is retried when the deallocation ends, perhaps before the lane has retired
// the other work that ended at the same time.
TEST_F(PoolTest, AReturnedBlockIsFreeBeforeTheLaneHasRetiredIt) {
  const Pool pool = one_slab(false);
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab);
  step();
  EXPECT_FALSE(has_memory(y));
  // The payload is destroyed before the lane has retired the work that ended.
  ASSERT_TRUE(queue.fill(device.allocate({.size = 4}).value(), 0, 4, {}).ok());
  control->on_free = [&] { std::jthread([&] { EXPECT_TRUE(copy.barrier({}).ok()); }).join(); };
  compute_lane.run();
  step();
  EXPECT_FALSE(control->on_free) << "the allocation was not retried meanwhile";
  EXPECT_TRUE(has_memory(y));
}

TEST_F(PoolTest, WithoutHiddenWaitsAnotherQueueGetsASlabWhereThereIsRoom) {
  const Pool pool = make_pool({.max_size = 2 * kSlab, .hidden_waits = false});
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab);
  step();
  EXPECT_TRUE(has_memory(y)) << "though the other lane has not run";
  EXPECT_EQ(pool.statistics().slabs, 2u);
  EXPECT_EQ(copy_lane.run(), 1) << "it waits for no lane";
}

TEST_F(PoolTest, AnotherQueueWaitsAlsoWhereNothingButTheDeallocationIsLeft) {
  const Pool pool = one_slab(false);
  const Buffer x = allocate(pool, kSlab);
  compute_lane.run();
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  const Buffer y = allocate(copy, pool, kSlab);
  step();
  EXPECT_FALSE(has_memory(y));
  compute_lane.run();
  step();
  EXPECT_TRUE(has_memory(y));
}

TEST_F(PoolTest, AnotherQueueWhoseSubmissionWaitsNeedsNoHiddenWait) {
  const Pool pool = one_slab(false);
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.signal = {{s, 1}}}).ok());
  const Buffer y = allocate(copy, pool, kSlab, {.wait = {{s, 1}}});
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(copy_lane.pending(), 1u);
}

TEST_F(PoolTest, AnotherQueueThatHasWaitedBeforeNeedsNoHiddenWait) {
  const Pool pool = one_slab(false);
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(copy.barrier({.wait = {{s, 1}}}).ok());
  const Buffer y = allocate(copy, pool, kSlab);
  EXPECT_TRUE(has_memory(y));
  EXPECT_EQ(copy_lane.pending(), 2u);
}

TEST_F(PoolTest, ADeallocationFollowsItsAllocationAlsoWithoutAWait) {
  const Pool pool = one_slab();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(copy.deallocate(x, {}).ok());
  EXPECT_EQ(copy_lane.pending(), 1u);
  EXPECT_EQ(copy_lane.run(), 0);
  compute_lane.run();
  EXPECT_EQ(copy_lane.run(), 1);
}

TEST_F(PoolTest, AHiddenWaitIsTheLastResort) {
  const Pool pool = make_pool({.max_size = 2 * kSlab});
  const Buffer x = allocate(pool, kSlab);
  const Buffer y = allocate(copy, pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {}).ok());
  ASSERT_TRUE(copy.deallocate(y, {}).ok());
  compute_lane.run();
  const Buffer z = allocate(queue, pool, kSlab);
  EXPECT_EQ(compute_lane.run(), 1) << "the block of its own lane, without a wait";
}

TEST_F(PoolTest, NeighboursAreJoined) {
  const Pool pool = one_slab();
  std::vector<Buffer> quarters;
  for (int i = 0; i < 4; ++i) quarters.push_back(allocate(pool, kSlab / 4));
  step();
  EXPECT_EQ(pool.statistics().blocks, 4u);
  for (const int i : {1, 3, 0, 2}) ASSERT_TRUE(queue.deallocate(quarters[i], {}).ok());
  const Buffer whole = allocate(pool, kSlab);
  EXPECT_TRUE(has_memory(whole));
  EXPECT_EQ(pool.statistics().slabs, 1u);
}

TEST_F(PoolTest, NeighboursOfDifferentQueuesAreJoinedOncePassed) {
  const Pool pool = one_slab();
  const Buffer low = allocate(pool, kSlab / 2);
  const Buffer high = allocate(copy, pool, kSlab / 2);
  step();
  ASSERT_TRUE(queue.deallocate(low, {}).ok());
  ASSERT_TRUE(copy.deallocate(high, {}).ok());
  const Buffer whole = allocate(pool, kSlab);
  step();
  EXPECT_FALSE(has_memory(whole));
  run_all();
  EXPECT_TRUE(has_memory(whole));
}

TEST_F(PoolTest, JoinedNeighboursAreReusedBehindTheLaterOne) {
  const Pool pool = one_slab(false);
  const Buffer low = allocate(pool, kSlab / 2);
  const Buffer high = allocate(pool, kSlab / 2);
  step();
  ASSERT_TRUE(queue.deallocate(low, {}).ok());
  compute_lane.run();
  ASSERT_TRUE(queue.deallocate(high, {}).ok());
  const Buffer whole = allocate(copy, pool, kSlab);
  step();
  EXPECT_FALSE(has_memory(whole));
  compute_lane.run();
  step();
  EXPECT_TRUE(has_memory(whole));
}

TEST_F(PoolTest, FlushAndInvalidateReachTheSlabAtTheBlocksOffset) {
  const Pool pool = make_pool();
  const Buffer first = allocate(pool, 256);
  const Buffer second = allocate(pool, 256);
  step();
  const Mapping mapping = second.map(16, 32).value();
  ASSERT_TRUE(mapping.flush(8, 4).ok());
  ASSERT_TRUE(mapping.invalidate().ok());
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(control->flushed, (std::vector<Range>{{256 + 16 + 8, 4}}));
  EXPECT_EQ(control->invalidated, (std::vector<Range>{{256 + 16, 32}}));
}

TEST_F(PoolTest, BlocksHaveTheRequestedAlignment) {
  const Pool pool = make_pool({.slab_size = 1 << 20});
  std::vector<Buffer> buffers;
  const auto offset = [&](const Buffer& buffer) {
    return buffer.map().value().bytes().data() - buffers[0].map().value().bytes().data();
  };
  for (const std::uint64_t alignment : {1u, 64u, 4096u, 512u, 4096u, 0u, 1024u}) {
    const Buffer made =
        queue.allocate(pool, {100, MemoryType::kHostVisible, alignment}, {}).value();
    step();
    buffers.push_back(made);
    EXPECT_EQ(static_cast<std::uint64_t>(offset(made)) % std::max<std::uint64_t>(alignment, 256),
              0u);
  }
}

TEST_F(PoolTest, BlocksOfAnyAlignmentLieApart) {
  const Pool pool = make_pool({.slab_size = 1 << 20});
  std::vector<Buffer> buffers;
  std::vector<std::pair<std::byte*, std::byte*>> ranges;
  for (const std::uint64_t alignment : {0u, 512u, 0u, 1024u, 0u, 4096u, 512u, 0u}) {
    buffers.push_back(queue.allocate(pool, {768, MemoryType::kHostVisible, alignment}, {}).value());
    step();
    const auto bytes = buffers.back().map().value().bytes();
    ranges.emplace_back(bytes.data(), bytes.data() + bytes.size());
  }
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    EXPECT_LE(ranges[i - 1].second, ranges[i].first) << i;
  }
}

}  // namespace
}  // namespace halyard::hal
