// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No call changes the user's context or capture mode of a thread.
#include "drivers/stream/context.h"

#include <gtest/gtest.h>

#include <memory>

#include "drivers/stream/marker_table.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "simulation/stream/driver.h"
#include "stream/opened_lane.h"

namespace halyard::stream {
namespace {

fake::Context* current() {
  fake::Context* context = nullptr;
  EXPECT_EQ(fake::get_current_context(context), fake::Code::kSuccess);
  return context;
}

fake::CaptureMode capture_mode() {
  fake::CaptureMode mode = fake::CaptureMode::kRelaxed;
  EXPECT_EQ(fake::exchange_capture_mode(mode), fake::Code::kSuccess);
  fake::CaptureMode before = mode;
  EXPECT_EQ(fake::exchange_capture_mode(before), fake::Code::kSuccess);
  return mode;
}

TEST(ContextGuard, SetsItsContextAndPutsBackTheOneBefore) {
  OpenedContext first(0), second(1);
  EXPECT_EQ(current(), nullptr);
  {
    const timeline::Visit outer(*first.guard);
    fake::Context* const its = current();
    EXPECT_NE(its, nullptr);
    EXPECT_EQ(capture_mode(), fake::CaptureMode::kRelaxed);
    {
      const timeline::Visit inner(*second.guard);
      EXPECT_NE(current(), its);
      const timeline::Visit again(*second.guard);
    }
    EXPECT_EQ(current(), its);
  }
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(capture_mode(), fake::CaptureMode::kGlobal);
}

TEST(ContextGuard, SetsNoContextThatIsCurrentAlready) {
  OpenedContext context;
  const timeline::Visit outer(*context.guard);
  const FailingCalls failing("stream.set_context");
  {
    const timeline::Visit inner(*context.guard);
  }
  EXPECT_EQ(failing.failed(), 0);
}

TEST(ContextGuard, PutsBackNothingThatItCouldNotSet) {
  OpenedContext first(0), second(1);
  const timeline::Visit outer(*first.guard);
  fake::Context* const its = current();
  for (const char* site : {"stream.current_context", "stream.set_context", "stream.capture_mode"}) {
    {
      auto failing = std::make_unique<FailingCalls>(site);
      timeline::EntryGuard::Saved saved;
      second.guard->enter(saved, timeline::Calls::kAny);
      failing.reset();
      second.guard->leave(saved);
    }
    EXPECT_EQ(current(), its) << site;
    EXPECT_EQ(capture_mode(), fake::CaptureMode::kRelaxed) << site;
  }
}

// The stream operations of issue() and mark() are allowed even if another thread captures.
TEST(ContextGuard, LeavesTheCaptureModeWhereWorkIsOnlyPutIntoStreams) {
  OpenedContext context;
  timeline::Visit visit;
  visit.enter(context.guard.get(), timeline::Calls::kEnqueue);
  EXPECT_NE(current(), nullptr);
  EXPECT_EQ(capture_mode(), fake::CaptureMode::kGlobal);
  visit.enter(context.guard.get(), timeline::Calls::kAny);
  EXPECT_EQ(capture_mode(), fake::CaptureMode::kRelaxed);
  visit.enter(context.guard.get(), timeline::Calls::kEnqueue);
  EXPECT_EQ(capture_mode(), fake::CaptureMode::kRelaxed) << "it stays entered for more";
  visit.leave();
  EXPECT_EQ(capture_mode(), fake::CaptureMode::kGlobal);
  EXPECT_EQ(current(), nullptr);
}

// Exception: the issuer creates an event for a marker if no event is free.
TEST(ContextGuard, IsRelaxedToMakeAMarkerWhileAnotherThreadCaptures) {
  OpenedContext context;
  timeline::Visit visit;
  MarkerTable<FakeApi> markers(context.api, 2);
  {
    const timeline::Visit inside(*context.guard);
    check(markers.open());
  }
  const std::uint64_t violations = fake::violations();
  fake::begin_capture();
  visit.enter(context.guard.get(), timeline::Calls::kEnqueue);
  markers.add(*markers.take().value(), 1);
  EXPECT_TRUE(markers.take().ok());
  EXPECT_EQ(fake::violations(), violations) << fake::latest_violation();
  EXPECT_EQ(capture_mode(), fake::CaptureMode::kGlobal);
  fake::end_capture();
}

TEST(ContextGuard, SharesThePrimaryContextOfItsDevice) {
  OpenedContext first(0), second(0);
  const timeline::Visit outer(*first.guard);
  fake::Context* const its = current();
  const timeline::Visit inner(*second.guard);
  EXPECT_EQ(current(), its);
}

// Meanwhile another part of the program captures a stream, which forbids many calls on threads
// whose mode is not relaxed.
TEST(Context, OfTheUserSurvivesEveryCallOfTheHal) {
  const std::uint64_t violations = fake::violations();
  fake::Context* users = nullptr;
  ASSERT_EQ(fake::retain_primary_context(40, users), fake::Code::kSuccess);
  ASSERT_EQ(fake::set_current_context(users), fake::Code::kSuccess);
  fake::CaptureMode mode = fake::CaptureMode::kThreadLocal;
  ASSERT_EQ(fake::exchange_capture_mode(mode), fake::Code::kSuccess);
  fake::begin_capture();
  const auto unchanged = [&](const char* after) {
    EXPECT_EQ(current(), users) << after;
    EXPECT_EQ(capture_mode(), fake::CaptureMode::kThreadLocal) << after;
    EXPECT_EQ(fake::violations(), violations) << after << ": " << fake::latest_violation();
  };
  {
    hal::DriverRegistry registry;
    check(register_stream_driver(registry));
    alignas(hal::Device::kImportAlignment) std::byte bytes[4096];
    {
      auto devices = registry.open_all("stream://?devices=2").value();
      devices.push_back(registry.open("stream://0?command_buffer_mode=graph").value());
      unchanged("open");
      const hal::Buffer imported = devices[0].import_memory(bytes, [] {}).value();
      const hal::Buffer allocated =
          devices[1].allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
      unchanged("memory");
      const hal::Semaphore done = devices[0].create_semaphore().value();
      const hal::Queue queue = devices[1].create_queue({}).value();
      unchanged("queue");
      hal::Recorder recorder(devices[0]);
      recorder.fill(imported, 1).fill(imported, 2);
      const auto commands = recorder.finish().value();
      const hal::Buffer its = devices[2].allocate({.size = 64}).value();
      hal::Recorder second(devices[2]);
      second.fill(its, 1).fill(its, 2);
      const auto graph = second.finish().value();
      unchanged("recording");
      check(devices[0].queue().execute(commands, {.signal = {{done, 1}}}));
      check(devices[2].queue().execute_and_wait(graph, {}));
      check(queue.fill(allocated, 2, 1, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
      unchanged("submission");
      check(done.wait(2, kForever));
      check(queue.wait_idle(kForever));
      check(queue.flush());
      unchanged("wait");
      (void)allocated.map().value();
      const auto pooled =
          queue.allocate(devices[1].default_pool(), {.size = 64}, {.signal = {{done, 3}}});
      check(pooled.status());
      check(queue.deallocate(*pooled, {.wait = {{done, 3}}, .signal = {{done, 4}}}));
      check(done.wait(4, kForever));
      unchanged("pool");
    }
    unchanged("the last handles");
    check(registry.shutdown(kForever));
    unchanged("shutdown");
  }
  fake::end_capture();
  ASSERT_EQ(fake::exchange_capture_mode(mode), fake::Code::kSuccess);
  ASSERT_EQ(fake::set_current_context(nullptr), fake::Code::kSuccess);
  ASSERT_EQ(fake::release_primary_context(40), fake::Code::kSuccess);
}

}  // namespace
}  // namespace halyard::stream
