// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lifetimes: what keeps an object alive, and how a device closes, whichever thread drops its last
// handle.
#include <functional>
#include <semaphore>
#include <thread>

#include "hal/fake_driver.h"
#include "hal/pool_world.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

class Lifetime : public testing::FakeWorld {
 protected:
  // Drops all handles of the user except `gate`.
  void drop_device() {
    queue = {};
    device = {};
  }
  void expect_closed() {
    const Status status = registry.shutdown(20s);
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(control->open_devices, 0);
    EXPECT_EQ(control->live_memories, 0);
    EXPECT_EQ(control->live_executables, 0);
    EXPECT_EQ(control->live_recordings, 0);
  }
};

TEST_F(Lifetime, AParkedSubmissionKeepsItsResources) {
  const Semaphore gate = device.create_semaphore().value();
  const Semaphore done = device.create_semaphore().value();
  const Buffer result = buffer(8);
  {
    const Buffer source = buffer(8);
    std::ranges::fill(source.map().value().bytes(), std::byte{5});
    const Function saxpy = load(device).function(0).value();
    Recorder recorder(device);
    recorder.copy(slot(0), BufferRange(result))
        .dispatch(saxpy, {.items = 1}, {source, source}, {1.f, 1u});
    const CommandBuffer commands = recorder.finish().value();
    ASSERT_TRUE(
        queue.execute(commands, {.bindings = {source}, .wait = {{gate, 1}}, .signal = {{done, 1}}})
            .ok());
    ASSERT_TRUE(queue
                    .dispatch(saxpy, {.items = 1}, {source, source}, {1.f, 1u},
                              {.wait = {{gate, 1}}, .signal = {{done, 2}}})
                    .ok());
    ASSERT_TRUE(queue.fill(buffer(4), 1, 4, {.wait = {{gate, 1}}, .signal = {{done, 3}}}).ok());
  }
  EXPECT_EQ(control->live_memories, 3);
  EXPECT_EQ(control->live_executables, 1);
  EXPECT_EQ(control->live_recordings, 1);
  ASSERT_TRUE(gate.signal(1).ok());
  ASSERT_TRUE(done.wait(3, 20s).ok());
  EXPECT_EQ(result.map().value().bytes()[7], std::byte{5});
  EXPECT_EQ(control->launches.size(), 2u);
}

// `released` runs when the lane's last work with the memory is retired. Inside, it queries that
// lane's progress: through a wait that fails and dumps, and by creating a queue.
TEST_F(Lifetime, ReleasedOfImportedMemoryMayUseTheRuntime) {
  const Semaphore done = device.create_semaphore().value(),
                  never = device.create_semaphore().value();
  alignas(Device::kImportAlignment) std::byte bytes[64];
  std::atomic<bool> released = false;
  std::thread::id releaser;
  const auto ask = [&] {
    releaser = std::this_thread::get_id();
    EXPECT_ERROR(never.wait(1, kNow), StatusCode::kDeadlineExceeded, "waited for 1");
    EXPECT_NE(device.dump_timelines().find("fake://"), std::string::npos);
    EXPECT_TRUE(device.create_queue({}).ok());
    EXPECT_TRUE(queue.barrier({}).ok());
    released = true;
  };
  ASSERT_TRUE(
      queue.fill(device.import_memory(bytes, ask).value(), 1, 4, {.signal = {{done, 1}}}).ok());
  ASSERT_TRUE(done.wait(1, 20s).ok());
  while (!released) std::this_thread::yield();
  EXPECT_NE(releaser, std::this_thread::get_id()) << "a wait runs no callback";
}

TEST_F(Lifetime, ADeviceThatWaitsForAnUnseenLossCloses) {
  control->automatic = false;
  Device other = registry.open("fake://").value();
  Semaphore first = other.create_semaphore().value();
  ASSERT_TRUE(other.queue().barrier({.signal = {{first, 1}}}).ok());
  ASSERT_TRUE(queue.barrier({.wait = {{first, 1}}}).ok());
  ASSERT_EQ(lane(0).pending(), 1u) << "it waits in its lane";
  lane(2).fault(Status(StatusCode::kInternal, "fell off the bus"));
  drop_device();
  while (control->open_devices != 1) std::this_thread::yield();
  first = {};
  other = {};
  expect_closed();
}

TEST_F(Lifetime, EveryKindOfHandleKeepsTheDeviceOpen) {
  const std::function<std::function<void()>()> holders[] = {
      [&]() -> std::function<void()> { return [b = buffer(1)] {}; },
      [&]() -> std::function<void()> { return [s = device.create_semaphore().value()] {}; },
      [&]() -> std::function<void()> { return [e = device.create_event().value()] {}; },
      [&]() -> std::function<void()> { return [e = load(device)] {}; },
      [&]() -> std::function<void()> { return [f = load(device).function(0).value()] {}; },
      [&]() -> std::function<void()> { return [c = Recorder(device).finish().value()] {}; },
      [&]() -> std::function<void()> { return [q = device.queue(QueueKind::kCopy)] {}; },
      [&]() -> std::function<void()> {
        return [m = std::make_shared<Mapping>(buffer(1).map().value())] {};
      },
  };
  drop_device();
  while (control->open_devices != 0) std::this_thread::yield();
  for (const auto& make : holders) {
    device = registry.open("fake://").value();
    std::function<void()> holder = make();
    device = {};
    EXPECT_ERROR(registry.shutdown(5ms), StatusCode::kDeadlineExceeded,
                 "1 device is not closed: 1 held by a handle");
    EXPECT_EQ(control->open_devices, 1);
    holder = {};
    // The device is not closed by shutdown(), which ends the runtime.
    while (control->open_devices != 0) std::this_thread::yield();
  }
  expect_closed();
}

TEST_F(Lifetime, WorkInFlightEndsBeforeTheDeviceCloses) {
  control->automatic = false;
  ASSERT_TRUE(queue.fill(buffer(4), 0x07070707, 4, {}).ok());
  testing::FakeLane& only = lane();
  drop_device();
  EXPECT_ERROR(registry.shutdown(10ms), StatusCode::kDeadlineExceeded, "1 by work in flight");
  EXPECT_EQ(control->open_devices, 1);
  EXPECT_EQ(control->live_memories, 1) << "without the buffer's handle, the fill keeps the memory";
  only.run();
  expect_closed();
}

TEST_F(Lifetime, AChainInFlightRunsToItsEnd) {
  control->automatic = false;
  std::atomic<int> ran{0};
  {
    // compute 1 -> copy 2 -> host call -> compute 3, without a handle outside.
    const Queue copy = device.queue(QueueKind::kCopy);
    const Semaphore s = device.create_semaphore().value();
    ASSERT_TRUE(queue.barrier({.signal = {{s, 1}}}).ok());
    ASSERT_TRUE(copy.barrier({.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
    ASSERT_TRUE(queue.host_call([&] { ++ran; }, {.wait = {{s, 2}}, .signal = {{s, 3}}}).ok());
  }
  testing::FakeLane& compute = lane(0);
  testing::FakeLane& copy = lane(1);
  drop_device();
  EXPECT_ERROR(registry.shutdown(10ms), StatusCode::kDeadlineExceeded, "not closed");
  EXPECT_EQ(ran, 0);
  compute.run();
  copy.run();
  expect_closed();
  EXPECT_EQ(ran, 1);
}

class SteppedLifetime : public testing::PoolTest {};

TEST_F(SteppedLifetime, WorkThatBecomesReadyDuringTheIdleCheckStillRuns) {
  bool ran = false;
  {
    const Semaphore copied = semaphore();
    ASSERT_TRUE(copy.barrier({.signal = {{copied, 1}}}).ok());
    const auto run = [&] { return ran = true, Status(); };
    ASSERT_TRUE(queue.host_call(run, {.wait = {{copied, 1}}}).ok());
  }
  // The reclaim shell sees this when it checks the copy queue, after the compute queue.
  copy_lane.run();
  queue = copy = {};
  device = {};
  (void)registry.step(base::Shell::kReclaim);
  run_all();
  EXPECT_TRUE(ran);
}

// The runtime's thread, which frees the recorded commands, has not run yet.
TEST_F(SteppedLifetime, Recorder_WithoutACommandBuffer_KeepsNoDeviceOpen) {
  control->frees_may_block = true;
  const std::function<void(Recorder&)> ends[] = {
      [](Recorder&) {},
      [](Recorder& recorder) { EXPECT_FALSE(recorder.fill(slot(0, 1), 0).finish().ok()); },
      [](Recorder& recorder) { EXPECT_FALSE(recorder.begin_debug_group("a").finish().ok()); },
      [this](Recorder& recorder) {
        control->fail_prepare = Status(StatusCode::kUnavailable, "not today");
        EXPECT_FALSE(recorder.finish().ok());
        control->fail_prepare = {};
      },
      [](Recorder& recorder) { EXPECT_TRUE(recorder.finish().ok()); },
      [](Recorder& recorder) { recorder = Recorder(Device()); },
  };
  for (const auto& end : ends) {
    Device own = registry.open("fake://").value();
    {
      Recorder recorder(own);
      recorder.fill(own.allocate({.size = 64}).value(), 1);
      end(recorder);
    }
    own = {};
    EXPECT_ERROR(registry.shutdown(kNow), StatusCode::kDeadlineExceeded,
                 "2 devices are not closed: 1 held by a handle (of a device, a buffer, a semaphore "
                 "...), 1 by work in flight");
    run_all();
    EXPECT_EQ(control->open_devices, 1);
    EXPECT_EQ(control->live_recordings, 0);
    EXPECT_EQ(control->live_memories, 0);
  }
}

// The same with drivers that free at once, or on the runtime's thread.
TEST(RealLifetime, Recorder_Dropped_LeavesTheDeviceToClose) {
  for (const char* uri : {"cpu://?workers=1", "serial://", "stream://"}) {
    DriverRegistry registry;
    check(register_all_drivers(registry));
    Result<Device> opened = registry.open(uri);
    if (opened.status().code() == StatusCode::kNotFound) continue;  // not in this build
    Device device = std::move(opened).value();
    Recorder dropped(device);
    dropped.fill(device.allocate({.size = 64}).value(), 1);
    Recorder refused(device);
    EXPECT_FALSE(refused.fill(slot(0, 1), 0).finish().ok()) << uri;
    dropped = Recorder(Device());
    device = {};
    // The device is closed already, or is closing.
    const Status status = registry.shutdown(kNow);
    EXPECT_EQ(status.message().find("1 held by a handle"), std::string_view::npos)
        << uri << ": " << status.to_string();
  }
}

TEST_F(Lifetime, AHostCallThatBlocksDelaysTheShutdown) {
  std::binary_semaphore inside{0}, go{0};
  ASSERT_TRUE(queue
                  .host_call(
                      [&] {
                        inside.release();
                        go.acquire();
                      },
                      {}, HostCallMode::kMayBlock)
                  .ok());
  inside.acquire();
  drop_device();
  EXPECT_ERROR(registry.shutdown(10ms), StatusCode::kDeadlineExceeded, "1 device is not closed");
  EXPECT_EQ(control->open_devices, 1);
  go.release();
  expect_closed();
}

TEST_F(Lifetime, TheLastHandleMayGoOnAHostCallsOwnThread) {
  Device moved = std::move(device);
  Queue on = std::exchange(queue, {});
  ASSERT_TRUE(on.host_call([own = std::move(moved), on] {}, {}, HostCallMode::kMayBlock).ok());
  on = {};
  expect_closed();
}

TEST_F(Lifetime, AClosingDeviceCancelsParkedWork) {
  const Device other = registry.open("fake://").value();
  const Semaphore gate = other.create_semaphore().value();
  const Semaphore done = other.create_semaphore().value();
  const Semaphore executed = other.create_semaphore().value();
  ASSERT_TRUE(queue.fill(buffer(4), 0, 4, {.wait = {{gate, 1}}, .signal = {{done, 1}}}).ok());
  {
    Recorder recorder(device);
    const CommandBuffer commands = recorder.fill(buffer(4), 0).fill(slot(0), 0).finish().value();
    ASSERT_TRUE(
        queue
            .execute(commands,
                     {.bindings = {buffer(8)}, .wait = {{gate, 1}}, .signal = {{executed, 1}}})
            .ok());
  }
  EXPECT_EQ(control->live_memories, 3);
  EXPECT_EQ(control->live_recordings, 1);
  drop_device();
  EXPECT_ERROR(done.wait(1, 20s), StatusCode::kCancelled, "device fake://0: closed");
  EXPECT_ERROR(executed.wait(1, 20s), StatusCode::kCancelled, "device fake://0: closed");
  while (control->open_devices != 1) std::this_thread::yield();
  EXPECT_EQ(control->live_memories, 0);
  EXPECT_EQ(control->live_recordings, 0);
  EXPECT_TRUE(gate.signal(1).ok()) << "the other device's own semaphore is unharmed";
}

TEST_F(Lifetime, TheLastHandleMayGoOnAnyThread) {
  std::thread other([gone = std::move(device)]() mutable { gone = {}; });
  queue = {};
  other.join();
  expect_closed();
}

TEST_F(Lifetime, TheLastHandleMayGoInsideAHostCall) {
  Device moved = std::move(device);
  const Queue on = std::exchange(queue, {});
  // The callable owns the last handles; the host shell destroys it.
  ASSERT_TRUE(on.host_call([own = std::move(moved), on] {}, {}).ok());
  const_cast<Queue&>(on) = {};
  expect_closed();
}

TEST_F(Lifetime, TheLastHandleMayGoInsideACallback) {
  // The callback runs on the completion shell, the only thread that sees the lane's progress.
  control->automatic = false;
  Semaphore done = device.create_semaphore().value();
  ASSERT_TRUE(queue.barrier({.signal = {{done, 1}}}).ok());
  testing::FakeLane& only = lane(0);
  struct Everything {
    Device device;
    Queue queue;
    Semaphore semaphore;
  };
  auto* everything = new Everything{std::exchange(device, {}), std::exchange(queue, {}), done};
  Registration registration =
      done.on_reach(1, [everything](const Status&) { delete everything; }).value();
  done = {};
  only.run();
  expect_closed();
}

TEST_F(Lifetime, TheLastHandleMayGoInsideACallbackOnTheSignallingThread) {
  Semaphore gate = device.create_semaphore().value();
  Registration registration = gate.on_reach(1,
                                            [own = std::exchange(device, {}),
                                             on = std::exchange(queue, {})](const Status&) mutable {
                                              own = {};
                                              on = {};
                                            })
                                  .value();
  ASSERT_TRUE(gate.signal(1).ok());
  gate = {};
  expect_closed();
}

TEST_F(Lifetime, ASubmissionHandleOutlivesItsDevice) {
  Submission submission;
  ASSERT_TRUE(queue.barrier({.submission = &submission}).ok());
  drop_device();
  while (control->open_devices != 0) std::this_thread::yield();
  EXPECT_FALSE(submission.cancel());
}

TEST_F(Lifetime, ADeviceThatCannotOpenItsQueuesIsClosedAgain) {
  control->fail_open_lane = Status(StatusCode::kUnavailable, "no ring");
  EXPECT_ERROR(registry.open("fake://").status(), StatusCode::kUnavailable,
               "fake://0 #2: opening its compute queue: no ring");
  EXPECT_ERROR(registry.open_all("fake://?devices=3").status(), StatusCode::kUnavailable,
               "no ring");
  while (control->open_devices != 1) std::this_thread::yield();
  drop_device();
  expect_closed();
}

TEST_F(Lifetime, ManyThreadsMayOpenUseAndDropDevices) {
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      const Device own = registry.open("fake://").value();
      const Buffer target = own.allocate({.size = 64}).value();
      const Semaphore done = own.create_semaphore().value();
      ASSERT_TRUE(own.queue().fill(target, 1, 4, {.signal = {{done, 1}}}).ok());
      ASSERT_TRUE(own.queue(QueueKind::kCopy)
                      .host_call([target] {}, {.wait = {{done, 1}}, .signal = {{done, 2}}})
                      .ok());
      if (i % 2 == 0) {
        ASSERT_TRUE(done.wait(2, 20s).ok());
      }
    }
  };
  std::thread first(work);
  std::thread second(work);
  work();
  first.join();
  second.join();
  drop_device();
  expect_closed();
}

}  // namespace
}  // namespace halyard::hal
