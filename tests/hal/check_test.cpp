// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checking mode (?check=1): finds unordered work that accesses the same memory.
#include <vector>

#include "hal/fake_driver.h"
#include "hal/recording/accesses.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;

class Check : public testing::FakeWorld {
 protected:
  Check() {
    device = registry.open("fake://?check=1").value();
    queue = device.queue();
    copy_queue = device.queue(QueueKind::kCopy);
    s = semaphore();
    x = buffer(64);
    y = buffer(64);
  }
  Semaphore semaphore() { return device.create_semaphore().value(); }
  Function saxpy() { return load(device).function("saxpy").value(); }  // reads x, writes y
  Status fill(const BufferRange& range, const SubmitInfo& info) {
    return queue.fill(range, 0, 4, info);
  }

  Queue copy_queue;
  Semaphore s;
  Buffer x, y;
};

#define EXPECT_UNORDERED(expression) \
  EXPECT_ERROR(expression, StatusCode::kFailedPrecondition, "nothing orders the two")

TEST_F(Check, TwoWritesWithoutOrder_TheSecondIsRefusedAndNamesBoth) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  const Status status = copy_queue.copy({y, 0, 8}, {x, 8, 8}, {});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  const std::string text(status.message());
  for (const char* part : {" copy: copy writes bytes 8 to 16 of allocation",
                           "compute writes: nothing orders the two", "have one wait for a signal"}) {
    EXPECT_NE(text.find(part), text.npos) << text;
  }
}

TEST_F(Check, OrderOfSubmissionsAndCompletionOrderNothing) {
  // The fake device has run the first one before the second is submitted.
  ASSERT_TRUE(fill(x, {}).ok());
  EXPECT_UNORDERED(fill(x, {}));
}

TEST_F(Check, WaitForASignal_Orders) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(copy_queue.copy(x, y, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  EXPECT_TRUE(fill(x, {.wait = {{s, 2}}}).ok());
}

TEST_F(Check, WaitForAnEarlierSignal_DoesNotOrder) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(fill(y, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  EXPECT_UNORDERED(copy_queue.copy(y, x, {.wait = {{s, 1}}}));
}

TEST_F(Check, SignalWithoutAWaitForTheOneBefore_DoesNotStandForIt) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(fill(y, {.signal = {{s, 2}}}).ok());
  // s may reach 2 before the first fill is done.
  EXPECT_UNORDERED(copy_queue.copy(y, x, {.wait = {{s, 2}}}));
}

TEST_F(Check, OrderIsTransitive) {
  const Semaphore t = semaphore();
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(copy_queue.barrier({.wait = {{s, 1}}, .signal = {{t, 1}}}).ok());
  EXPECT_TRUE(fill(x, {.wait = {{t, 1}}}).ok());
}

TEST_F(Check, ReadsAndSeparateRangesNeedNoOrder) {
  ASSERT_TRUE(queue.copy({x, 0, 16}, {y, 0, 16}, {}).ok());
  ASSERT_TRUE(queue.copy({x, 0, 16}, {y, 16, 16}, {}).ok());
  EXPECT_TRUE(fill({x, 16, 16}, {}).ok());
  EXPECT_UNORDERED(fill({x, 12, 8}, {}));
}

TEST_F(Check, LaterReadOfAPart_DoesNotStandForAReadOfMore) {
  const Buffer z = buffer(64);
  ASSERT_TRUE(copy_queue.copy(x, y, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(
      copy_queue.copy({x, 0, 32}, {z, 0, 32}, {.wait = {{s, 1}}, .signal = {{s, 2}}}).ok());
  EXPECT_UNORDERED(fill({x, 48, 16}, {}));
}

TEST_F(Check, AfterTwoReaders_AWriterWaitsForBoth) {
  const Semaphore t = semaphore();
  ASSERT_TRUE(copy_queue.copy(x, {y, 0, 64}, {.signal = {{s, 1}}}).ok());
  const Buffer z = buffer(64);
  ASSERT_TRUE(copy_queue.copy(x, z, {.signal = {{t, 1}}}).ok());
  EXPECT_UNORDERED(fill(x, {.wait = {{s, 1}}}));
  EXPECT_TRUE(fill(x, {.wait = {{s, 1}, {t, 1}}}).ok());
}

TEST_F(Check, WhatTheHostHasSeen_Orders) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(s.wait(1, 20s).ok());
  EXPECT_TRUE(fill(x, {.signal = {{s, 2}}}).ok());
  while (s.query().value() != 2) {
  }
  EXPECT_TRUE(fill(x, {.signal = {{s, 3}}}).ok());
  ASSERT_TRUE(wait_all({{s, 3}}, 20s).ok());
  EXPECT_TRUE(fill(x, {}).ok());
  ASSERT_TRUE(queue.wait_idle(20s).ok());
  EXPECT_TRUE(fill(x, {.signal = {{s, 4}}}).ok());
  Status in_callback(StatusCode::kInternal, "not called");
  const Semaphore called = semaphore();
  const Registration registration = s.on_reach(4, [&](const Status&) {
                                       in_callback = fill(x, {.signal = {{s, 5}}});
                                       check(called.signal(1));
                                     }).value();
  ASSERT_TRUE(called.wait(1, 20s).ok());
  EXPECT_TRUE(in_callback.ok()) << in_callback.to_string();
}

TEST_F(Check, HostCall_SubmitsAfterWhatItWaitedFor) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  const Semaphore called = semaphore();
  ASSERT_TRUE(queue.host_call([&] { return fill(x, {}); },
                              {.wait = {{s, 1}}, .signal = {{called, 1}}})
                  .ok());
  EXPECT_TRUE(called.wait(1, 20s).ok());
}

TEST_F(Check, HostSignal_PassesOnWhatTheHostHasSeen) {
  const Semaphore go = semaphore();
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  // Parked before the host has seen the fill.
  ASSERT_TRUE(fill(x, {.wait = {{go, 1}}, .signal = {{s, 2}}}).ok());
  ASSERT_TRUE(s.wait(1, 20s).ok());
  ASSERT_TRUE(go.signal(1).ok());
  EXPECT_TRUE(s.wait(2, 20s).ok());
}

TEST_F(Check, WaitBeforeItsSignal_IsComparedWhenItIsIssued) {
  const Semaphore go = semaphore(), end = semaphore();
  ASSERT_TRUE(copy_queue.copy(x, y, {.wait = {{s, 1}}, .signal = {{end, 1}}}).ok());
  ASSERT_TRUE(fill(x, {.wait = {{go, 1}}, .signal = {{s, 1}}}).ok());
  ASSERT_TRUE(go.signal(1).ok());
  EXPECT_TRUE(end.wait(1, 20s).ok());
}

TEST_F(Check, WaitForTheWrongWork_FailsItsSignals) {
  const Semaphore go = semaphore(), end = semaphore();
  ASSERT_TRUE(copy_queue.copy(x, y, {.wait = {{go, 1}}, .signal = {{end, 1}}}).ok());
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  ASSERT_TRUE(go.signal(1).ok());
  EXPECT_UNORDERED(end.wait(1, 20s));
  EXPECT_TRUE(s.wait(1, 20s).ok()) << "only what was not ordered fails";
}

TEST_F(Check, CancelledWork_AccessesNothing) {
  const Semaphore never = semaphore();
  Submission submission;
  ASSERT_TRUE(fill(x, {.wait = {{never, 1}}, .submission = &submission}).ok());
  ASSERT_TRUE(submission.cancel());
  EXPECT_TRUE(fill(x, {}).ok());
}

TEST_F(Check, CancelledWorkWithAPlaceInTheOrder_AccessesNothing) {
  // A transfer waits for the host to see the barrier's end, which the lane holds back.
  control->automatic = false;
  const File file = File::open("/proc/self/exe").value();
  ASSERT_TRUE(queue.barrier({.signal = {{s, 1}}}).ok());
  Submission submission;
  ASSERT_TRUE(queue.read(file, 0, x, {.wait = {{s, 1}}, .submission = &submission}).ok());
  EXPECT_UNORDERED(fill(x, {}));
  ASSERT_TRUE(submission.cancel());
  EXPECT_TRUE(fill(x, {}).ok());
  control->automatic = true;
  for (const std::size_t mine : {2, 3}) (void)lane(mine).run();  // the first device has 0 and 1
}

TEST_F(Check, RefusedWork_AccessesNothing) {
  ASSERT_TRUE(fill(x, {.signal = {{s, 1}}}).ok());
  EXPECT_UNORDERED(copy_queue.copy(x, y, {}));
  EXPECT_TRUE(fill(y, {}).ok());
}

TEST_F(Check, PoolBuffer_UsedBeforeItsAllocationOrAfterItsEnd) {
  const Pool pool = device.default_pool(MemoryType::kHostVisible);
  const Semaphore t = semaphore();
  const Buffer b = queue.allocate(pool, {.size = 64, .memory = MemoryType::kHostVisible},
                                  {.signal = {{s, 1}}})
                       .value();
  EXPECT_UNORDERED(fill(b, {}));
  ASSERT_TRUE(fill(b, {.wait = {{s, 1}}, .signal = {{t, 1}}}).ok());
  EXPECT_UNORDERED(queue.deallocate(b, {.wait = {{s, 1}}}));
  EXPECT_TRUE(queue.deallocate(b, {.wait = {{t, 1}}}).ok());
}

TEST_F(Check, BindingsOfOneLaunchThatOverlap) {
  EXPECT_ERROR(queue.dispatch(saxpy(), {.items = 1}, {x, x}, {1.f, 1u}, {}),
               StatusCode::kInvalidArgument,
               "saxpy: bindings 0 (x) and 1 (y) overlap in bytes 0 to 64");
  EXPECT_TRUE(
      queue.dispatch(saxpy(), {.items = 1}, {{x, 0, 32}, {x, 32, 32}}, {1.f, 1u}, {}).ok());
}

TEST(CheckBindings, ThatMayOverlap) {
  const kernel::BindingInfo bindings[] = {{.name = "x", .access = kernel::Access::kRead},
                                          {.name = "y", .access = kernel::Access::kWrite}};
  kernel::KernelInfo info{.name = "in_place", .bindings = bindings};
  const timeline::Access accesses[] = {{1, 0, 64, timeline::AccessKind::kRead, nullptr},
                                       {1, 0, 64, timeline::AccessKind::kWrite, nullptr}};
  EXPECT_ERROR(check_bindings_apart(info, accesses, 2), StatusCode::kInvalidArgument,
               "in_place: bindings 0 (x) and 1 (y) overlap in bytes 0 to 64 of an allocation");
  info.may_overlap = true;
  EXPECT_TRUE(check_bindings_apart(info, accesses, 2).ok());
}

class CheckRecording : public Check {
 protected:
  Status finish(const std::function<void(Recorder&)>& record) {
    Recorder recorder(device);
    record(recorder);
    return recorder.finish().status();
  }
};

TEST_F(CheckRecording, ForgottenBarrier_IsRefusedAndNamesBothCommands) {
  const Status status = finish([&](Recorder& r) {
    r.fill(x, 0).dispatch(saxpy(), {.items = 1}, {x, y}, {1.f, 1u});
  });
  EXPECT_ERROR(status, StatusCode::kFailedPrecondition,
               ": finish: command 1 (saxpy: binding 0 (x)) reads bytes 0 to "
               "64 of what command 0 (fill) writes: nothing orders the two");
}

TEST_F(CheckRecording, BarrierEventAndAfter_Order) {
  const auto use = [&](Recorder& r) { r.dispatch(saxpy(), {.items = 1}, {x, y}, {1.f, 1u}); };
  EXPECT_TRUE(finish([&](Recorder& r) { use(r.fill(x, 0).barrier()); }).ok());
  EXPECT_TRUE(finish([&](Recorder& r) {
                r.fill(x, 0);
                use(r.after({r.last()}));
              }).ok());
  const Event event = device.create_event().value();
  EXPECT_TRUE(
      finish([&](Recorder& r) { use(r.fill(x, 0).set_event(event).wait_event(event)); }).ok());
  EXPECT_UNORDERED(
      finish([&](Recorder& r) { use(r.set_event(event).fill(x, 0).wait_event(event)); }));
}

TEST_F(CheckRecording, AfterIsTransitive) {
  const Buffer z = buffer(64);
  EXPECT_TRUE(finish([&](Recorder& r) {
                r.fill(x, 0).after({r.last()}).copy(x, y).after({r.last()}).copy(y, z);
                r.after({r.last()}).fill(x, 1);
              }).ok());
  EXPECT_TRUE(finish([&](Recorder& r) {
                const CommandId left = r.fill(x, 0).last(), right = r.fill(y, 0).last();
                r.after({left, right}).copy(x, z);
                r.after({r.last()}).fill(y, 1);
              }).ok());
  EXPECT_UNORDERED(finish([&](Recorder& r) {
    const CommandId first = r.fill(x, 0).last();
    r.after({first}).copy(x, y).after({first}).fill(x, 1);
  }));
}

TEST_F(CheckRecording, OneSlotTwice_IsOneMemory) {
  EXPECT_UNORDERED(finish([&](Recorder& r) { r.fill(slot(0), 0).copy(slot(0, 0, 8), {y, 0, 8}); }));
  EXPECT_TRUE(
      finish([&](Recorder& r) { r.fill(slot(0, 8, 8), 0).copy(slot(0, 0, 8), {y, 0, 8}); }).ok());
}

TEST_F(CheckRecording, SlotsThatAreBoundToOneMemory) {
  Recorder recorder(device);
  recorder.fill(slot(0, 0, 16), 0).fill(slot(1, 0, 16), 1);
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_UNORDERED(queue.execute(commands, {.bindings = {x, {x, 8}}}));
  EXPECT_TRUE(queue.execute(commands, {.bindings = {x, {x, 16}}}).ok());
}

TEST_F(CheckRecording, TwoSubmissionsOfARecording) {
  Recorder recorder(device);
  recorder.fill(slot(0), 0);
  const CommandBuffer commands = recorder.finish().value();
  ASSERT_TRUE(queue.execute(commands, {.bindings = {x}, .signal = {{s, 1}}}).ok());
  EXPECT_ERROR(queue.execute(commands, {.bindings = {x}}), StatusCode::kFailedPrecondition,
               "command 0 (fill) writes bytes 0 to 64 of allocation");
  EXPECT_TRUE(queue.execute(commands, {.bindings = {y}}).ok());
  EXPECT_TRUE(queue.execute(commands, {.bindings = {x}, .wait = {{s, 1}}}).ok());
}

TEST(CheckOption, OtherValuesAreRefused) {
  DriverRegistry registry;
  check(registry.add(std::make_unique<testing::FakeDriver>(std::make_shared<testing::Control>())));
  EXPECT_ERROR(registry.open("fake://?check=yes").status(), StatusCode::kInvalidArgument,
               "check=yes: expected 0 or 1");
}

TEST(CheckOption, WithoutIt_NothingIsChecked) {
  DriverRegistry registry;
  check(registry.add(std::make_unique<testing::FakeDriver>(std::make_shared<testing::Control>())));
  const Device device = registry.open("fake://?check=0").value();
  const Buffer x = device.allocate({.size = 64}).value();
  EXPECT_TRUE(device.queue().fill(x, 0, 4, {}).ok());
  EXPECT_TRUE(device.queue().fill(x, 1, 4, {}).ok());
}

}  // namespace
}  // namespace halyard::hal
