// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools: who gets which memory, when, and who waits for it. Everything is stepped: the lanes run
// when a test says so, and so do the threads of the runtime.
#include "halyard/hal/pool.h"

#include <thread>

#include "hal/device.h"
#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::uint64_t kSlab = 4096;

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() { control->automatic = false; }
  ~PoolTest() override {
    queue = copy = {};
    device = {};
    for (int i = 0; i < 100 && control->open_devices != 0; ++i) {
      run_all();
      (void)registry.step(base::Shell::kReclaim);
    }
    EXPECT_EQ(control->open_devices, 0);
    EXPECT_EQ(control->live_memories, 0);
  }

  // The shells, until they have nothing to do.
  void step() {
    for (bool ran = true; ran;) {
      ran = false;
      for (const auto shell : {base::Shell::kIssue, base::Shell::kCompletion, base::Shell::kHost,
                               base::Shell::kReclaim}) {
        ran |= registry.step(shell);
      }
    }
  }
  // The lanes too.
  void run_all() {
    for (int i = 0; i < 8; ++i) {
      step();
      for (testing::FakeLane* lane : control->lanes) {
        if (lane != nullptr) lane->run();
      }
    }
    step();
  }
  Pool make_pool(PoolInfo info = {}) {
    info.memory = MemoryType::kHostVisible;
    if (info.slab_size == PoolInfo().slab_size) info.slab_size = kSlab;
    if (info.name.empty()) info.name = "small";
    return device.create_pool(info).value();
  }
  // At most one slab.
  Pool one_slab(bool hidden_waits = true) {
    return make_pool({.max_size = kSlab, .hidden_waits = hidden_waits});
  }
  Buffer allocate(const Pool& pool, std::uint64_t size, const SubmitInfo& info = {}) {
    return allocate(queue, pool, size, info);
  }
  Buffer allocate(const Queue& on, const Pool& pool, std::uint64_t size,
                  const SubmitInfo& info = {}) {
    return on.allocate(pool, {.size = size, .memory = MemoryType::kHostVisible}, info).value();
  }
  Semaphore semaphore() { return device.create_semaphore().value(); }
  bool has_memory(const Buffer& buffer) { return buffer.map().ok(); }

  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  testing::StepSource source;
  DriverRegistry registry{source};
  Device device = [this] {
    check(registry.add(std::make_unique<testing::FakeDriver>(control)));
    return registry.open("fake://").value();
  }();
  Queue queue = device.queue();
  Queue copy = device.queue(QueueKind::kCopy);
  testing::FakeLane& compute_lane = *control->lanes.at(0);
  testing::FakeLane& copy_lane = *control->lanes.at(1);
};

TEST_F(PoolTest, ABufferIsThereAtOnceAndItsMemoryWhenTheWaitsHold) {
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

TEST_F(PoolTest, WorkIsSubmittedBeforeTheMemoryIsThere) {
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
               "4 bytes at offset 4 are a part of 16");
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

TEST_F(PoolTest, ADeallocationWhoseWaitFailsHasNotHappened) {
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

TEST_F(PoolTest, ARecordingMayReferToMemoryThatComesLater) {
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

// ---- Rule 31: which block

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
  compute_lane.run();  // nobody waits for the deallocation but the pool
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

TEST_F(PoolTest, ADeallocationStandsBehindItsAllocationAlsoWithoutAWait) {
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

TEST_F(PoolTest, BlocksHaveTheAlignmentAskedFor) {
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

// ---- Rule 30: who waits

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

TEST_F(PoolTest, AnAllocationWithNothingToWaitForFailsWithTheSizes) {
  const Pool pool = one_slab();
  const Buffer x = allocate(pool, 1024);
  const Semaphore s = semaphore();
  const Buffer y = allocate(pool, kSlab, {.signal = {{s, 1}}});
  run_all();
  EXPECT_ERROR(
      s.query().status(), StatusCode::kResourceExhausted,
      "pool 'small' of fake://0: no block of 4096 bytes: 1024 of 4096 bytes are used, 4096 "
      "allowed");
  EXPECT_TRUE(has_memory(x));
  EXPECT_ERROR(
      queue.allocate(pool, {.size = kSlab + 1, .memory = MemoryType::kHostVisible}, {}).status(),
      StatusCode::kResourceExhausted, "which has at most 4096");
}

TEST_F(PoolTest, AnAllocationFailsWhenTheLastDeallocationHasFailed) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Semaphore t = semaphore();
  const Buffer x = allocate(pool, kSlab);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer y = allocate(pool, kSlab, {.signal = {{t, 1}}});
  s.fail(Status(StatusCode::kInternal, "no"));
  step();
  EXPECT_ERROR(t.query().status(), StatusCode::kResourceExhausted, "4096 of 4096 bytes are used");
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
  EXPECT_TRUE(has_memory(y)) << "the next one tries again";
}

TEST_F(PoolTest, ALaterSmallAllocationPassesAFewTimesOnly) {
  const Pool pool = one_slab();
  const Semaphore s = semaphore();
  const Buffer x = allocate(pool, kSlab / 2);
  step();
  ASSERT_TRUE(queue.deallocate(x, {.wait = {{s, 1}}}).ok());
  const Buffer large = allocate(pool, kSlab);
  std::vector<Buffer> small;
  for (int i = 0; i < 20; ++i) {
    small.push_back(allocate(pool, 16));
    if (i < 8) {
      ASSERT_TRUE(queue.deallocate(small.back(), {}).ok());
    }
  }
  EXPECT_FALSE(has_memory(large));
  EXPECT_FALSE(has_memory(small[8])) << "there is room, but the large one is first now";
  EXPECT_EQ(pool.statistics().reuses, 7u);
  ASSERT_TRUE(s.signal(1).ok());
  step();
  EXPECT_TRUE(has_memory(large));
  ASSERT_TRUE(queue.deallocate(large, {}).ok());
  for (int i = 8; i < 20; ++i) EXPECT_TRUE(has_memory(small[i])) << i;
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

// ---- Lanes that are full, and lost devices

TEST_F(PoolTest, AnAllocationThatAFullLaneSendsBackKeepsNoBlock) {
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

TEST_F(PoolTest, ALossReachesWhatHasAHiddenWait) {
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

TEST_F(PoolTest, AnAllocationWhoseBufferIsDroppedGivesBackWhatItGets) {
  const Pool pool = make_pool();
  const Semaphore s = semaphore();
  (void)allocate(pool, 16, {.wait = {{s, 1}}, .signal = {{s, 2}}});
  ASSERT_TRUE(s.signal(1).ok());
  run_all();
  EXPECT_EQ(s.query().value(), 2u);
  EXPECT_EQ(pool.statistics().blocks, 0u);
}

TEST_F(PoolTest, TrimKeepsWhatIsUsedAndWhatItIsTold) {
  const Pool pool = make_pool();
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(allocate(pool, kSlab));
  step();
  EXPECT_EQ(pool.statistics().slabs, 4u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.deallocate(buffers[i], {}).ok());
  ASSERT_TRUE(pool.trim().ok());
  step();
  EXPECT_EQ(pool.statistics().slabs, 4u) << "the device has not come so far";
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

TEST_F(PoolTest, APoolThatNobodyRefersToGivesItsSlabsBack) {
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

TEST_F(PoolTest, RefusesWhatIsWrong) {
  const Pool pool = make_pool();
  const BufferInfo info{.size = 8, .memory = MemoryType::kHostVisible};
  EXPECT_ERROR(queue.allocate({}, info, {}).status(), StatusCode::kInvalidArgument, "pool");
  EXPECT_ERROR(Queue().allocate(pool, info, {}).status(), StatusCode::kInvalidArgument, "queue");
  EXPECT_ERROR(queue.allocate(pool, {.size = 8}, {}).status(), StatusCode::kInvalidArgument,
               "queue fake://0 compute: allocate: device-local memory of pool 'small'");
  EXPECT_ERROR(queue.allocate(pool, {8, MemoryType::kHostVisible, 3}, {}).status(),
               StatusCode::kInvalidArgument, "alignment 3");
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
               "0 bytes");
  EXPECT_ERROR(device.create_pool({.max_size = 0}).status(), StatusCode::kInvalidArgument,
               "0 bytes");
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
