// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/sync/event.h"

#include <algorithm>

#include "hal/fake_driver.h"
#include "hal/queue/queue.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

class Events : public testing::FakeWorld {
 protected:
  // The compute queue's lane is the first, the copy queue's the second.
  Queue copy_queue = device.queue(QueueKind::kCopy);
  Event event = device.create_event().value();
  Semaphore s = device.create_semaphore().value();
  Semaphore done = device.create_semaphore().value();
  CommandBuffer set = Recorder(device).set_event(event).finish().value();
  CommandBuffer reset = Recorder(device).reset_event(event).finish().value();
  CommandBuffer wait = Recorder(device).wait_event(event).finish().value();
};

TEST_F(Events, AWaitingSubmissionIsOrderedOnTheDeviceAfterTheSettingOne) {
  control->automatic = false;
  ASSERT_TRUE(queue.execute(set, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(copy_queue.execute(wait, {.wait = {{s, 5}}, .signal = {{done, 1}}}).ok());
  ASSERT_TRUE(s.signal(5).ok());  // signalled by the host
  EXPECT_EQ(lane(1).run(), 0);
  EXPECT_EQ(lane(0).run(), 1);
  EXPECT_EQ(lane(1).run(), 1);
  EXPECT_TRUE(done.wait(1, 20s).ok());
}

TEST_F(Events, TheLatestSetIsTheOneToWaitFor) {
  ASSERT_TRUE(queue.execute(set, {.signal = {{s, 1}}}).ok());
  const Semaphore later = device.create_semaphore().value();
  ASSERT_TRUE(queue.execute(set, {.signal = {{later, 1}}}).ok());
  EXPECT_ERROR(queue.execute(wait, {.wait = {{s, 1}}}), StatusCode::kFailedPrecondition,
               "queue fake://0 compute: execute: command 0 (wait_event): this submission does not "
               "wait on the one that sets");
  EXPECT_TRUE(queue.execute_and_wait(wait, {.wait = {{later, 1}}}, 20s).ok());
}

TEST_F(Events, AWaitAmongOtherCommandsIsNamed) {
  const Event other = device.create_event().value();
  Recorder recorder(device);
  recorder.barrier().set_event(event).wait_event(event).wait_event(other).wait_event(other);
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_ERROR(queue.execute(commands, {}), StatusCode::kFailedPrecondition,
               "command 3 (wait_event): no submission has set the event");
}

TEST_F(Events, ARefusedResetLeavesTheEventSetAndARefusedSetLeavesItReset) {
  ASSERT_TRUE(queue.execute(set, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(s.wait(1, 20s).ok());
  EXPECT_FALSE(queue.execute(reset, {.signal = {{s, 1}}}).ok());
  EXPECT_TRUE(queue.execute_and_wait(wait, {.wait = {{s, 1}}}, 20s).ok());
  ASSERT_TRUE(queue.execute(reset, {.signal = {{s, 2}}}).ok());
  ASSERT_TRUE(s.wait(2, 20s).ok());
  EXPECT_FALSE(queue.execute(set, {.signal = {{s, 2}}}).ok());
  EXPECT_ERROR(queue.execute(wait, {.wait = {{s, 2}}}), StatusCode::kFailedPrecondition,
               "no submission has set the event, or one has reset it");
}

// Submissions of several threads, each between its change of the event and its refusal.
TEST_F(Events, RefusedChangesLeaveNoTraceInAnyOrder) {
  EventObject& object = *event.object();
  const auto make = [&] { return EventSetter::create(*queue.object(), {}).value(); };
  const Ref<EventSetter> first = make(), kept = make();
  const Ref<EventSetter> none;
  int order[] = {0, 1, 2};
  do {
    for (int keep = 0; keep <= 3; ++keep) {  // 3: all are refused
      EventChange before, changes[3];
      object.change(before, first);
      object.keep(before);
      for (int i = 0; i < 3; ++i) {
        // Sets and resets, of which no two leave an equal state.
        object.change(changes[i], i == keep ? kept : i == 1 ? none : make());
      }
      for (const int i : order) {
        i == keep ? object.keep(changes[i]) : object.take_back(changes[i]);
      }
      EXPECT_TRUE(object.setter() == (keep == 3 ? first : kept))
          << order[0] << order[1] << order[2] << ", keeps " << keep;
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(Events, WorkMayBeSubmittedFromTheSignalOfTheSettingSubmission) {
  // The submission happens inside execute(): the fake lane runs at once, and so does the callback.
  const Queue both[] = {queue, copy_queue};
  for (std::uint64_t i = 1; i <= 2; ++i) {
    const auto registration = s.on_reach(i, [&, i](const Status& status) {
                                 EXPECT_TRUE(status.ok());
                                 const Point waits(s, i);
                                 const Point signals(done, i);
                                 const Status submitted = both[i - 1].execute(
                                     wait, {.wait = {&waits, 1}, .signal = {&signals, 1}});
                                 EXPECT_TRUE(submitted.ok()) << submitted.to_string();
                               }).value();
    ASSERT_TRUE(queue.execute(set, {.signal = {{s, i}}}).ok());
    EXPECT_TRUE(done.wait(i, 20s).ok());
  }
}

TEST_F(Events, TheDriverSeesThemNumberedInEachRecording) {
  const Event other = device.create_event().value();
  Recorder recorder(device);
  recorder.set_event(other).barrier().set_event(event).wait_event(other).reset_event(event);
  std::vector<std::pair<CommandKind, std::uint32_t>> seen;
  control->on_prepare = [&](const RecordedCommands& recording) {
    EXPECT_EQ(recording.event_count, 2u);
    for (const Command& command : recording.commands) {
      if (command.kind == CommandKind::kBarrier) continue;
      seen.emplace_back(command.kind, command.event.event);
    }
  };
  ASSERT_TRUE(recorder.finish().ok());
  EXPECT_THAT(seen, ::testing::ElementsAre(std::pair(CommandKind::kSetEvent, 0u),
                                           std::pair(CommandKind::kSetEvent, 1u),
                                           std::pair(CommandKind::kWaitEvent, 0u),
                                           std::pair(CommandKind::kResetEvent, 1u)));
}

TEST_F(Events, MayBeDroppedWithAllElseWhileWorkIsInFlight) {
  control->automatic = false;
  testing::FakeLane& first = lane(0);
  testing::FakeLane& second = lane(1);
  ASSERT_TRUE(queue.execute(set, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(copy_queue.execute(wait, {.wait = {{s, 1}}, .signal = {{done, 1}}}).ok());
  ASSERT_TRUE(copy_queue.execute(set, {.wait = {{done, 2}}}).ok());  // stays parked
  set = reset = wait = {};
  event = {};
  s = done = {};
  queue = copy_queue = {};
  device = {};
  EXPECT_ERROR(registry.shutdown(10ms), StatusCode::kDeadlineExceeded, "1 device is not closed");
  first.run();
  second.run();
  const Status status = registry.shutdown(20s);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(control->open_devices, 0);
  EXPECT_EQ(control->live_recordings, 0);
}

// A reclaim shell so fast that the device is closed before wake() returns.
class FastReclaim final : public testing::StepSource {
 public:
  void wake(base::Shell shell) noexcept override {
    if (shell == base::Shell::kReclaim && registry != nullptr) {
      while (registry->next_step(shell) != Deadline::kForeverTime) (void)registry->step(shell);
    }
  }
  DriverRegistry* registry = nullptr;
};

TEST(LastEvent, ReleasesItsSetterAlthoughTheDeviceClosesAtOnce) {
  const auto control = std::make_shared<testing::Control>();
  FastReclaim source;
  DriverRegistry registry(source);
  source.registry = &registry;
  ASSERT_TRUE(registry.add(std::make_unique<testing::FakeDriver>(control)).ok());
  Event event;
  {
    const Device device = registry.open("fake://").value();
    event = device.create_event().value();
    const CommandBuffer set = Recorder(device).set_event(event).finish().value();
    ASSERT_TRUE(device.queue().execute_and_wait(set, {}, 20s).ok());
  }
  EXPECT_EQ(control->open_devices, 1);
  event = {};
  EXPECT_EQ(control->open_devices, 0);
}

}  // namespace
}  // namespace halyard::hal
