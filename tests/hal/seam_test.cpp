// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The HAL's guarantees to a GPU driver: calls within its entry guard, frees on the reclaim thread,
// and an instance of a recording serves only one submission at a time.
#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "base/failing_calls.h"
#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

// Counts how deep each thread is inside the driver.
class DepthGuard final : public timeline::EntryGuard {
 public:
  void enter(Saved&, timeline::Calls) noexcept override { ++depth; }
  void leave(const Saved&) noexcept override { --depth; }
  static thread_local int depth;
};
thread_local int DepthGuard::depth = 0;

// A runtime whose device the test opens, after it has set up the driver.
class Seam : public ::testing::Test {
 protected:
  void open() {
    check(registry.add(std::make_unique<testing::FakeDriver>(control)));
    device = registry.open("fake://").value();
    queue = device.queue();
  }
  void end() {
    queue = {};
    device = {};
    check(registry.shutdown(20s));
  }
  Buffer buffer(std::uint64_t size) {
    return device.allocate({.size = size, .memory = MemoryType::kHostVisible}).value();
  }
  CommandBuffer recording(RecordingUse use = RecordingUse::kOften) {
    Recorder recorder(device, use);
    recorder.fill(slot(0), 1);
    return recorder.finish().value();
  }

  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  DriverRegistry registry;
  Device device;
  Queue queue;
};

TEST_F(Seam, EveryCallToADriverIsMadeWithinItsGuard) {
  std::mutex mutex;
  std::set<std::string> seen, outside;
  control->guard = Ref<DepthGuard>::adopt(new DepthGuard);
  control->inside = [&](const char* call) {
    std::lock_guard lock(mutex);
    seen.insert(call);
    if (DepthGuard::depth == 0) outside.insert(call);
  };
  open();
  {
    const Buffer host = buffer(64);
    const Mapping mapping = host.map().value();
    EXPECT_TRUE(mapping.flush().ok());
    EXPECT_TRUE(mapping.invalidate().ok());
    alignas(64) static std::byte bytes[64];
    const Buffer imported = device.import_memory(bytes, [] {}).value();
    const Executable executable = device.load(testing::sample_hyx(), "sample.hyx").value();
    const CommandBuffer commands = recording();
    EXPECT_TRUE(queue.execute_and_wait(commands, {.bindings = {host}}, 20s).ok());
    EXPECT_TRUE(device.create_queue({}).ok());
  }
  end();
  EXPECT_EQ(seen, (std::set<std::string>{"allocate", "import", "load", "prepare", "open lane",
                                         "flush", "invalidate", "free memory", "unload",
                                         "destroy recording", "close"}));
  EXPECT_TRUE(outside.empty()) << *outside.begin();
  EXPECT_EQ(DepthGuard::depth, 0);
}

TEST_F(Seam, FreesThatMayBlockAreNotMadeOnTheThreadThatDrops) {
  control->frees_may_block = true;
  std::mutex mutex;
  std::multiset<std::string> elsewhere, here;
  const auto me = std::this_thread::get_id();
  control->inside = [&](const char* call) {
    std::lock_guard lock(mutex);
    (std::this_thread::get_id() == me ? here : elsewhere).insert(call);
  };
  open();
  {
    const Buffer host = buffer(64);
    const Executable executable = device.load(testing::sample_hyx(), "sample.hyx").value();
    EXPECT_TRUE(queue.execute_and_wait(recording(), {.bindings = {host}}, 20s).ok());
  }
  end();
  for (const char* call : {"free memory", "unload", "destroy recording"}) {
    EXPECT_EQ(here.count(call), 0u) << call;
    EXPECT_GE(elsewhere.count(call), 1u) << call;
  }
  EXPECT_EQ(control->live_memories, 0) << "the device closes behind its frees";
}

TEST(Reclaimer, ClosesBehindWhatItHasPostedAndThenFreesAtOnce) {
  struct Object final : Reclaimed {
    explicit Object(int& live) : live_(live) { ++live_; }
    ~Object() override { --live_; }
    int& live_;
  };
  testing::StepSource source;
  timeline::Engine engine(source, {});
  PendingFrees pending;
  const auto reclaimer = Ref<Reclaimer>::adopt(new Reclaimer(engine, pending, {}, true));
  int live = 0;
  const auto drop_one = [&] {
    const auto object = Ref<Object>::adopt(new Object(live));
    object->reclaim_by(reclaimer);
  };
  drop_one();
  EXPECT_EQ(live, 1) << "posted";
  EXPECT_FALSE(reclaimer->close());
  EXPECT_TRUE(engine.step_reclaim());
  EXPECT_EQ(live, 0);
  EXPECT_TRUE(reclaimer->close());
  drop_one();
  EXPECT_EQ(live, 0);
}

TEST(PendingFrees, WaitsForWhatWasPostedBeforeTheCall) {
  PendingFrees pending;
  EXPECT_FALSE(pending.wait(0)) << "nothing was posted";
  pending.posted();
  pending.posted();
  std::atomic<int> freed = 0;
  std::thread reclaim([&] {
    for (int i = 0; i < 2; ++i) {
      ++freed;
      pending.freed();
    }
  });
  EXPECT_TRUE(pending.wait(0)) << "it waits, or they were freed since";
  EXPECT_EQ(freed, 2);
  reclaim.join();
  EXPECT_TRUE(pending.wait(1));
  EXPECT_FALSE(pending.wait(2)) << "nothing was freed since, and nothing is pending";
}

// The thread waits for two frees: after the first it checks, and sleeps again.
TEST(PendingFrees, EachFreeWakesTheThreadThatWaits) {
  // Repeats if the wait ended first by its limit of one second, on a busy machine.
  for (bool slept_again = false; !slept_again;) {
    PendingFrees pending;
    pending.posted();
    pending.posted();
    const halyard::testing::FailingCalls calls;  // counts sleeps
    std::atomic<bool> ended = false;
    std::thread waiter([&] {
      EXPECT_TRUE(pending.wait(0));
      ended = true;
    });
    calls.wait_for_sleeps(1);
    pending.freed();
    while (!(slept_again = calls.sleeps() >= 2) && !ended) std::this_thread::yield();
    pending.freed();
    waiter.join();
  }
}

TEST(PendingFrees, NothingIsAskedAgainForWhatWasFreedBefore) {
  PendingFrees pending;
  pending.posted();
  pending.freed();
  int asked = 0;
  const auto none = [&] {
    ++asked;
    return Result<int>(Status(StatusCode::kResourceExhausted, "none"));
  };
  EXPECT_FALSE(pending.retry_once(none).ok());
  EXPECT_EQ(asked, 1);
}

TEST_F(Seam, ARecordingSaysHowOftenItWillBeUsed) {
  open();
  (void)recording(RecordingUse::kOnce);
  EXPECT_EQ(control->last_use, RecordingUse::kOnce);
  (void)recording();
  EXPECT_EQ(control->last_use, RecordingUse::kOften);
  end();
}

class Rule19Instances : public Seam {
 protected:
  Rule19Instances() { control->automatic = false; }
  void open_with(InstanceInfo info) {
    control->instances = info;
    open();
    other = device.queue(QueueKind::kCopy);
    commands = recording();
    target = buffer(64);
    done = device.create_semaphore().value();
  }
  void replay(const Queue& on) {
    ++replays;
    const Semaphore signal = device.create_semaphore().value();
    ends.push_back(signal);
    ASSERT_TRUE(on.execute(commands, {.bindings = {target}, .signal = {{signal, 1}}}).ok());
  }
  testing::FakeLane& lane(std::size_t index) { return *control->lanes.at(index); }
  void finish() {
    control->automatic = true;
    for (testing::FakeLane* each : control->lanes) each->run();
    for (const Semaphore& each : ends) EXPECT_TRUE(each.wait(1, 20s).ok());
    EXPECT_EQ(control->replayed.size(), replays);
    ends.clear();
    commands = {};
    target = {};
    done = {};
    other = third = {};
    end();
  }

  Queue other, third;
  CommandBuffer commands;
  Buffer target;
  Semaphore done;
  std::vector<Semaphore> ends;
  std::size_t replays = 0;
};

TEST_F(Rule19Instances, InOrderOneIsUsedAgainBehindItsLatestUseInTheSameLane) {
  open_with({.count = 2, .reuse = InstanceReuse::kInOrder});
  for (int i = 0; i < 5; ++i) replay(queue);
  ASSERT_EQ(control->replayed.size(), 5u) << "all are in the lane";
  EXPECT_EQ(std::set(control->replayed.begin(), control->replayed.end()).size(), 1u);
  finish();
}

TEST_F(Rule19Instances, InOrderAnotherLaneTakesAFreeOneAndThenWaitsNatively) {
  open_with({.count = 2, .reuse = InstanceReuse::kInOrder});
  replay(queue);
  replay(other);
  ASSERT_EQ(control->replayed.size(), 2u);
  EXPECT_NE(control->replayed[0], control->replayed[1]);
  third = device.create_queue({}).value();
  replay(third);
  ASSERT_EQ(control->replayed.size(), 3u) << "with a hidden edge";
  EXPECT_EQ(lane(2).run(), 0) << "which holds";
  finish();
}

TEST_F(Rule19Instances, ThatMustBeRetiredAreNotUsedAgainBefore) {
  open_with({.count = 2, .reuse = InstanceReuse::kRetired});
  for (int i = 0; i < 4; ++i) replay(queue);
  ASSERT_EQ(control->replayed.size(), 2u) << "the others are held";
  EXPECT_NE(control->replayed[0], control->replayed[1]);
  EXPECT_TRUE(queue.barrier({.signal = {{done, 1}}}).ok()) << "and hold up nothing";
  EXPECT_EQ(lane(0).pending(), 3u);
  finish();
}

TEST_F(Rule19Instances, ASubmissionThatDoesNotFitTheLaneGivesItsInstanceBack) {
  open_with({.count = 1, .reuse = InstanceReuse::kInOrder});
  control->lane_capacity = 1;
  for (int i = 0; i < 3; ++i) replay(queue);
  EXPECT_EQ(lane(0).pending(), 1u);
  control->replayed.clear();
  replays = 2;
  control->lane_capacity = 1024;
  finish();
}

TEST(Rule19InstancesStepped, TheEndOfAUseAsksForWhatIsHeld) {
  const auto control = std::make_shared<testing::Control>();
  control->automatic = false;
  control->instances = {.count = 1, .reuse = InstanceReuse::kRetired};
  testing::StepSource source;
  DriverRegistry registry(source);
  check(registry.add(std::make_unique<testing::FakeDriver>(control)));
  {
    const Device device = registry.open("fake://").value();
    const Queue queue = device.queue();
    Recorder recorder(device);
    recorder.fill(slot(0), 1);
    const CommandBuffer commands = recorder.finish().value();
    const Buffer target = device.allocate({.size = 64, .memory = MemoryType::kHostVisible}).value();
    const Semaphore done = device.create_semaphore().value();
    for (std::uint64_t i = 1; i <= 2; ++i) {
      ASSERT_TRUE(queue.execute(commands, {.bindings = {target}, .signal = {{done, i}}}).ok());
    }
    testing::FakeLane& lane = *control->lanes.at(0);
    ASSERT_EQ(lane.pending(), 1u);
    EXPECT_EQ(lane.run(), 1);
    EXPECT_EQ(done.query().value(), 1u);
    (void)registry.step(base::Shell::kCompletion);  // once: a second step may poll by the clock
    EXPECT_EQ(lane.pending(), 1u) << "the second is issued";
    EXPECT_EQ(lane.run(), 1);
    EXPECT_EQ(done.query().value(), 2u);
  }
  while (registry.step_reclaim()) {
  }
}

TEST_F(Rule19Instances, WhatIsHeldForOneCanBeCancelled) {
  open_with({.count = 1, .reuse = InstanceReuse::kRetired});
  replay(queue);
  Submission held;
  ASSERT_TRUE(
      queue.execute(commands, {.bindings = {target}, .signal = {{done, 1}}, .submission = &held})
          .ok());
  EXPECT_TRUE(held.cancel());
  EXPECT_ERROR(done.wait(1, 20s), StatusCode::kCancelled, "cancelled");
  finish();
}

}  // namespace
}  // namespace halyard::hal
