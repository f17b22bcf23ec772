// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue operations: their effects, and refused uses.
#include "halyard/hal/queue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "hal/fake_driver.h"
#include "timeline/semaphore.h"

namespace halyard::hal {
namespace {

using namespace std::chrono_literals;
using testing::sample_hyx;

class QueueOperation : public testing::FakeWorld {
 protected:
  std::span<std::byte> bytes(const Buffer& of) { return of.map().value().bytes(); }
  // Submits with a signal and waits for it.
  template <class F>
  void run(F&& submit) {
    const Semaphore done = device.create_semaphore().value();
    ASSERT_TRUE(submit(SubmitInfo{.signal = {{done, 1}}}).ok());
    ASSERT_TRUE(done.wait(1, 20s).ok());
  }
  Queue copy_queue = device.queue(QueueKind::kCopy);
  Executable executable = load(device);
  Function saxpy = executable.function("saxpy").value();
};

TEST_F(QueueOperation, BarrierSignals) {
  run([&](const SubmitInfo& info) { return queue.barrier(info); });
}

TEST_F(QueueOperation, FillRepeatsThePatternInItsRangeOnly) {
  for (std::uint32_t size : {1u, 2u, 4u}) {
    const Buffer target = buffer(16);
    std::ranges::fill(bytes(target), std::byte{0xee});
    run([&](const SubmitInfo& info) { return queue.fill({target, 4, 8}, 0x44332211, size, info); });
    for (std::size_t i = 0; i < 16; ++i) {
      const std::uint32_t expected =
          i < 4 || i >= 12 ? 0xee : 0x11 * (1 + static_cast<std::uint32_t>(i - 4) % size);
      EXPECT_EQ(std::to_integer<std::uint32_t>(bytes(target)[i]), expected) << i << " of " << size;
    }
  }
}

TEST_F(QueueOperation, UpdateTakesItsSourceBeforeItReturns) {
  control->automatic = false;
  for (std::size_t size : {1u, 4096u, 65536u, 300'000u}) {
    const Buffer target = buffer(size + 8);
    std::vector<std::byte> source(size, std::byte{1});
    ASSERT_TRUE(queue.update(target, 8, source, {}).ok());
    std::ranges::fill(source, std::byte{2});
    lane().run();
    EXPECT_EQ(bytes(target)[8], std::byte{1});
    EXPECT_EQ(bytes(target)[size + 7], std::byte{1});
  }
}

TEST_F(QueueOperation, CopyMovesBytesAlsoBetweenDevicesOfADomain) {
  const Device other = registry.open("fake://").value();
  const Buffer source = other.allocate({.size = 8, .memory = MemoryType::kHostVisible}).value();
  const Buffer target = buffer(8);
  std::ranges::fill(bytes(source), std::byte{3});
  std::ranges::fill(bytes(target), std::byte{0});
  run([&](const SubmitInfo& info) { return copy_queue.copy({source, 0, 4}, {target, 4}, info); });
  EXPECT_EQ(bytes(target)[3], std::byte{0});
  EXPECT_EQ(bytes(target)[4], std::byte{3});
}

TEST_F(QueueOperation, DispatchPassesGroupsBindingsAndConstants) {
  const Buffer x = buffer(1024);
  const Buffer y = x.subspan(512).value();
  run([&](const SubmitInfo& info) {
    return queue.dispatch(saxpy, {.items = {257, 2, 3}}, {{x, 256, 64}, y}, {2.5f, 77u}, info);
  });
  ASSERT_EQ(control->launches.size(), 1u);
  const testing::Launch& launch = control->launches[0];
  EXPECT_EQ(launch.function, 0u);
  EXPECT_THAT(launch.groups, ::testing::ElementsAre(2, 2, 3));
  ASSERT_EQ(launch.bindings.size(), 2u);
  EXPECT_EQ(launch.bindings[0].offset, 256u);
  EXPECT_EQ(launch.bindings[0].length, 64u);
  EXPECT_EQ(launch.bindings[1].offset, 512u);
  EXPECT_EQ(launch.bindings[1].length, 512u);
  float a = 0;
  std::uint32_t n = 0;
  ASSERT_EQ(launch.constants.size(), 8u);
  std::memcpy(&a, launch.constants.data(), 4);
  std::memcpy(&n, launch.constants.data() + 4, 4);
  EXPECT_EQ(a, 2.5f);
  EXPECT_EQ(n, 77u);
}

TEST_F(QueueOperation, IndirectDispatchReadsItsGroupsWhenItRuns) {
  control->automatic = false;
  const Buffer x = buffer(64);
  const Semaphore done = device.create_semaphore().value();
  {
    const Buffer counts = buffer(32);
    ASSERT_TRUE(
        queue.dispatch_indirect(saxpy, {counts, 16}, {x, x}, {1.f, 2u}, {.signal = {{done, 1}}})
            .ok());
    const std::uint32_t groups[] = {7, 8, 9};
    std::memcpy(bytes(counts).data() + 16, groups, sizeof groups);
    EXPECT_EQ(control->live_memories, 2);
  }
  lane().run();
  ASSERT_TRUE(done.wait(1, 20s).ok());
  ASSERT_EQ(control->launches.size(), 1u);
  EXPECT_THAT(control->launches[0].groups, ::testing::ElementsAre(7, 8, 9));
  EXPECT_EQ(control->launches[0].bindings.size(), 2u);
}

TEST_F(QueueOperation, IndirectDispatchLetsItsCountsGo) {
  const Buffer x = buffer(64);
  {
    const Buffer counts = buffer(12);
    run([&](const SubmitInfo& info) {
      return queue.dispatch_indirect(saxpy, counts, {x, x}, {1.f, 2u}, info);
    });
    EXPECT_ERROR(queue.dispatch_indirect(saxpy, {counts, 4}, {x, x}, {1.f, 2u}, {}),
                 StatusCode::kOutOfRange,
                 "queue fake://0 compute: dispatch_indirect of saxpy: group counts: 8 bytes");
  }
  EXPECT_EQ(control->live_memories, 1);
}

TEST_F(QueueOperation, DispatchOfNothingStillSignals) {
  const Buffer x = buffer(4);
  run([&](const SubmitInfo& info) {
    return queue.dispatch(saxpy, {.items = 0}, {x, x}, {1.f, 0u}, info);
  });
  EXPECT_EQ(control->launches[0].groups[0], 0u);
}

TEST_F(QueueOperation, HostCallRunsAndPassesItsErrorOn) {
  const Semaphore good = device.create_semaphore().value();
  const Semaphore bad = device.create_semaphore().value();
  int ran = 0;
  ASSERT_TRUE(queue.host_call([&] { ran = 1; }, {.signal = {{good, 1}}}).ok());
  EXPECT_TRUE(good.wait(1, 20s).ok());
  EXPECT_EQ(ran, 1);
  ASSERT_TRUE(copy_queue
                  .host_call([] { return Status(StatusCode::kDataLoss, "the file ends"); },
                             {.signal = {{bad, 1}}})
                  .ok());
  EXPECT_ERROR(bad.wait(1, 20s), StatusCode::kDataLoss, "the file ends");
}

TEST_F(QueueOperation, HostCallTurnsAnExceptionIntoAFailure) {
  const Semaphore done = device.create_semaphore().value();
  ASSERT_TRUE(
      queue.host_call([] { throw std::runtime_error("no more paper"); }, {.signal = {{done, 1}}})
          .ok());
  EXPECT_ERROR(done.wait(1, 20s), StatusCode::kInternal, "host call threw: no more paper");
}

TEST_F(QueueOperation, HostCallTakesMoveOnlyAndLargeCallables) {
  const Semaphore done = device.create_semaphore().value();
  std::atomic<int> sum{0};
  ASSERT_TRUE(queue
                  .host_call([&sum, one = std::make_unique<int>(1)] { sum += *one; },
                             {.signal = {{done, 1}}})
                  .ok());
  std::array<int, 1000> large{};
  large.fill(1);
  ASSERT_TRUE(
      queue
          .host_call([&sum, large] { sum += std::accumulate(large.begin(), large.end(), 0); },
                     {.wait = {{done, 1}}, .signal = {{done, 2}}})
          .ok());
  ASSERT_TRUE(done.wait(2, 20s).ok());
  EXPECT_EQ(sum, 1001);
}

TEST_F(QueueOperation, AHostCallThatNeverRunsIsDestroyed) {
  const auto token = std::make_shared<int>();
  const Semaphore never = device.create_semaphore().value();
  EXPECT_ERROR(queue.host_call([token] { FAIL(); }, {.signal = {{Semaphore(), 1}}}),
               StatusCode::kInvalidArgument, "empty semaphore");
  EXPECT_EQ(token.use_count(), 1) << "refused";
  Submission submission;
  ASSERT_TRUE(
      queue.host_call([token] { FAIL(); }, {.wait = {{never, 1}}, .submission = &submission}).ok());
  EXPECT_EQ(token.use_count(), 2);
  EXPECT_TRUE(submission.cancel());
  EXPECT_EQ(token.use_count(), 1) << "cancelled";
  EXPECT_FALSE(submission.cancel());
}

TEST_F(QueueOperation, AndWaitFormsNeedNoSignal) {
  const Semaphore start = device.create_semaphore(1).value();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(queue.barrier_and_wait({.wait = {{start, 1}}}, 20s).ok());
  }
  EXPECT_ERROR(queue.barrier_and_wait({.wait = {{start, 2}}}, 1ms), StatusCode::kDeadlineExceeded,
               "");
  start.fail(Status(StatusCode::kDataLoss, "gone"));
  EXPECT_ERROR(queue.barrier_and_wait({.wait = {{start, 2}}}, 20s), StatusCode::kDataLoss, "gone");
  EXPECT_TRUE(queue.barrier_and_wait({}, 20s).ok()) << "a failed semaphore is not used again";
}

TEST_F(QueueOperation, AndWaitFormsAreRefusedInACallbackBeforeTheySubmit) {
  const Semaphore start = device.create_semaphore().value();
  const Semaphore done = device.create_semaphore().value();
  Recorder recorder(device);
  const auto commands = recorder.finish().value();
  Status barrier, execute, passed;
  const auto registration =
      start
          .on_reach(1,
                    [&](const Status&) {
                      barrier = queue.barrier_and_wait({.signal = {{done, 1}}}, 20s);
                      execute = queue.execute_and_wait(commands, {.signal = {{done, 2}}}, 20s);
                      passed = queue.barrier_and_wait({.wait = {{start, 2}}, .signal = {{done, 3}}},
                                                      kNow);
                    })
          .value();
  ASSERT_TRUE(start.signal(1).ok());
  EXPECT_ERROR(barrier, StatusCode::kFailedPrecondition,
               "barrier_and_wait within a callback, which must not block");
  EXPECT_ERROR(execute, StatusCode::kFailedPrecondition,
               "execute_and_wait within a callback, which must not block");
  EXPECT_ERROR(passed, StatusCode::kDeadlineExceeded, "waited for 3");
  EXPECT_TRUE(queue.wait_idle(kNow).code() == StatusCode::kDeadlineExceeded);
  EXPECT_EQ(done.query().value(), 0u);
  ASSERT_TRUE(start.signal(2).ok());
  EXPECT_TRUE(done.wait(3, 20s).ok());
}

TEST_F(QueueOperation, AndWaitFormsWaitForTheLastSignal) {
  const Semaphore a = device.create_semaphore().value();
  const Semaphore b = device.create_semaphore().value();
  Recorder recorder(device);
  const CommandBuffer commands = recorder.barrier().finish().value();
  ASSERT_TRUE(queue.execute_and_wait(commands, {.signal = {{a, 1}, {b, 5}}}, 20s).ok());
  EXPECT_EQ(a.query().value(), 1u);
  EXPECT_EQ(b.query().value(), 5u);
}

TEST_F(QueueOperation, TakesMorePointsThanFitInPlace) {
  std::vector<Semaphore> semaphores;
  std::vector<Point> waits;
  for (int i = 0; i < 1000; ++i) {
    semaphores.push_back(device.create_semaphore().value());
    waits.emplace_back(semaphores.back(), 1);
  }
  const Semaphore done = device.create_semaphore().value();
  ASSERT_TRUE(queue.barrier({.wait = waits, .signal = {{done, 1}}}).ok());
  for (const Semaphore& semaphore : semaphores) {
    EXPECT_EQ(done.query().value(), 0u);
    ASSERT_TRUE(semaphore.signal(1).ok());
  }
  EXPECT_TRUE(done.wait(1, 20s).ok());
  EXPECT_TRUE(wait_all(waits, kNow).ok());
  EXPECT_TRUE(wait_any(waits, kNow).ok());
}

// ---- Refused uses

TEST_F(QueueOperation, EmptyHandlesAreInvalid) {
  const Queue none;
  const Buffer full = buffer(16);
  EXPECT_ERROR(none.barrier({}), StatusCode::kInvalidArgument, "queue: barrier");
  EXPECT_ERROR(none.host_call([] {}, {}), StatusCode::kInvalidArgument, "queue: host_call");
  EXPECT_ERROR(none.fill(full, 0, 4, {}), StatusCode::kInvalidArgument, "queue: fill");
  EXPECT_ERROR(none.update(full, 0, {}, {}), StatusCode::kInvalidArgument, "queue: update");
  EXPECT_ERROR(none.copy(full, full, {}), StatusCode::kInvalidArgument, "queue: copy");
  EXPECT_ERROR(none.execute({}, {}), StatusCode::kInvalidArgument, "queue: execute");
  EXPECT_ERROR(none.barrier_and_wait({}), StatusCode::kInvalidArgument, "queue: barrier_and_wait");
  EXPECT_ERROR(none.execute_and_wait({}, {}), StatusCode::kInvalidArgument,
               "queue: execute_and_wait");
  EXPECT_ERROR(none.dispatch(saxpy, {}, {}, {}, {}), StatusCode::kInvalidArgument,
               "queue: dispatch");
  EXPECT_ERROR(queue.fill(Buffer(), 0, 4, {}), StatusCode::kInvalidArgument, "empty buffer");
  EXPECT_ERROR(queue.update(Buffer(), 0, {}, {}), StatusCode::kInvalidArgument, "empty buffer");
  EXPECT_ERROR(queue.copy(Buffer(), full, {}), StatusCode::kInvalidArgument,
               "source: empty buffer");
  EXPECT_ERROR(queue.copy(full, Buffer(), {}), StatusCode::kInvalidArgument,
               "target: empty buffer");
  EXPECT_ERROR(queue.execute({}, {}), StatusCode::kInvalidArgument, "empty command buffer");
  EXPECT_ERROR(queue.dispatch({}, {}, {}, {}, {}), StatusCode::kInvalidArgument, "empty function");
  EXPECT_ERROR(queue.barrier({.wait = {{Semaphore(), 1}}}), StatusCode::kInvalidArgument,
               "empty semaphore");
  EXPECT_ERROR(wait_all({{Semaphore(), 1}}), StatusCode::kInvalidArgument, "empty semaphore");
  EXPECT_EQ(none.kind(), QueueKind::kCompute);
  EXPECT_FALSE(Submission().cancel());
}

TEST_F(QueueOperation, RangesBeyondTheBufferAreOutOfRange) {
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max() - 1;
  const Buffer target = buffer(16);
  EXPECT_ERROR(queue.fill({target, 17}, 0, 1, {}), StatusCode::kOutOfRange, "offset 17");
  EXPECT_ERROR(queue.fill({target, 8, 9}, 0, 1, {}), StatusCode::kOutOfRange,
               "9 bytes at offset 8");
  EXPECT_ERROR(queue.fill({target, 8, kHuge}, 0, 1, {}), StatusCode::kOutOfRange, "of 16 bytes");
  EXPECT_ERROR(queue.fill({target, kHuge, 8}, 0, 1, {}), StatusCode::kOutOfRange, "of 16 bytes");
  const std::byte source[9] = {};
  EXPECT_ERROR(queue.update(target, 8, source, {}), StatusCode::kOutOfRange, "9 bytes at offset 8");
  EXPECT_ERROR(queue.copy({target, 9, 8}, target, {}), StatusCode::kOutOfRange, "source");
  const Buffer part = target.subspan(4, 8).value();
  EXPECT_ERROR(queue.fill({part, 0, 12}, 0, 1, {}), StatusCode::kOutOfRange, "of 8 bytes");
  EXPECT_TRUE(queue.fill({target, 16}, 0, 1, {}).ok()) << "an empty range at the end is a range";
}

TEST_F(QueueOperation, FillNeedsAPatternThatDividesItsRange) {
  const Buffer target = buffer(16);
  EXPECT_ERROR(queue.fill(target, 0, 0, {}), StatusCode::kInvalidArgument, "pattern of 0 bytes");
  EXPECT_ERROR(queue.fill(target, 0, 3, {}), StatusCode::kInvalidArgument, "pattern of 3 bytes");
  EXPECT_ERROR(queue.fill({target, 2, 4}, 0, 4, {}), StatusCode::kInvalidArgument, "offset 2");
  EXPECT_ERROR(queue.fill({target, 4, 6}, 0, 4, {}), StatusCode::kInvalidArgument, "length 6");
  EXPECT_ERROR(queue.fill(target.subspan(1).value(), 0, 2, {}), StatusCode::kInvalidArgument,
               "offset 1");
}

TEST_F(QueueOperation, CopyNeedsEqualLengthsAndNoOverlap) {
  const Buffer target = buffer(16);
  EXPECT_ERROR(queue.copy({target, 0, 4}, {target, 8, 5}, {}), StatusCode::kInvalidArgument,
               "4 bytes to a target of 5");
  EXPECT_ERROR(queue.copy({target, 0, 8}, {target, 7, 8}, {}), StatusCode::kInvalidArgument,
               "overlap");
  EXPECT_ERROR(queue.copy({target, 8, 8}, {target, 1, 8}, {}), StatusCode::kInvalidArgument,
               "overlap");
  const Buffer part = target.subspan(8).value();
  EXPECT_ERROR(queue.copy({target, 4, 8}, part, {}), StatusCode::kInvalidArgument, "overlap");
  EXPECT_TRUE(queue.copy({target, 0, 8}, part, {}).ok());
}

TEST_F(QueueOperation, DispatchArgumentsMustMatchTheReflection) {
  const Buffer x = buffer(64);
  const auto dispatch = [&](const Grid& grid, View<BufferRange> bindings,
                            View<Constant> constants) {
    return queue.dispatch(saxpy, grid, bindings, constants, {});
  };
  EXPECT_ERROR(dispatch({.items = 1}, {x}, {1.f, 1u}), StatusCode::kInvalidArgument,
               "1 binding given, kernel saxpy has 2 (x, y)");
  EXPECT_ERROR(dispatch({.items = 1}, {x, x, x}, {1.f, 1u}), StatusCode::kInvalidArgument,
               "3 bindings");
  EXPECT_ERROR(dispatch({.items = 1}, {x, x}, {1.f}), StatusCode::kInvalidArgument,
               "1 constant given, kernel saxpy has 2 (a: float32, n: uint32)");
  EXPECT_THAT(std::string(dispatch({.items = 1}, {x, x}, {1.f}).message()),
              ::testing::Not(::testing::HasSubstr("hal::Launch")));
  EXPECT_ERROR(dispatch({.items = 1}, {x, x}, {1.f, 1}), StatusCode::kInvalidArgument,
               "constant 1 (n) is uint32, given int32");
  EXPECT_ERROR(dispatch({.items = 1}, {x, Buffer()}, {1.f, 1u}), StatusCode::kInvalidArgument,
               "dispatch of saxpy: binding 1 (y): empty buffer");
  EXPECT_ERROR(dispatch({.items = 1}, {{x, 60, 8}, x}, {1.f, 1u}), StatusCode::kOutOfRange,
               "binding 0 (x): 8 bytes");
  EXPECT_ERROR(dispatch({.items = 1}, {{x, 2}, x}, {1.f, 1u}), StatusCode::kInvalidArgument,
               "binding 0 (x): offset 2");
  EXPECT_ERROR(dispatch({}, {x, x}, {1.f, 1u}), StatusCode::kInvalidArgument, "neither");
  EXPECT_ERROR(dispatch({.items = 1, .groups = 1}, {x, x}, {1.f, 1u}), StatusCode::kInvalidArgument,
               "both");
}

TEST_F(QueueOperation, DispatchTakesAtMostTheDevicesGroupsInEachDimension) {
  constexpr std::uint64_t kMost[] = {0xffff'ffff, 1 << 16, 1 << 10};
  ASSERT_TRUE(std::ranges::equal(device.info().limits.max_groups, kMost));
  const Buffer x = buffer(4);
  const auto dispatch = [&](const Grid& grid) {
    return queue.dispatch(saxpy, grid, {x, x}, {1.f, 1u}, {});
  };
  EXPECT_TRUE(dispatch({.groups = {kMost[0], kMost[1], kMost[2]}}).ok());
  EXPECT_TRUE(dispatch({.items = {kMost[0] * 256, kMost[1], kMost[2]}}).ok());
  EXPECT_ERROR(dispatch({.groups = {kMost[0] + 1}}), StatusCode::kOutOfRange, "dimension x");
  EXPECT_ERROR(dispatch({.items = {kMost[0] * 256 + 1}}), StatusCode::kOutOfRange, "dimension x");
  EXPECT_ERROR(dispatch({.groups = {1, kMost[1] + 1}}), StatusCode::kOutOfRange, "dimension y");
  EXPECT_ERROR(dispatch({.items = {1, 1, ~0ull}}), StatusCode::kOutOfRange, "more than 1024");
}

TEST_F(QueueOperation, IndirectDispatchIsUnimplementedWhereCountsAreNotRead) {
  control->limits.indirect_dispatch = false;
  const Device other = registry.open("fake://").value();
  const Function function = load(other).function(0).value();
  const Buffer x = buffer(64);
  const Semaphore done = other.create_semaphore().value();
  EXPECT_ERROR(
      other.queue().dispatch_indirect(function, x, {x, x}, {1.f, 2u}, {.signal = {{done, 1}}}),
      StatusCode::kUnimplemented,
      "dispatch_indirect of saxpy: group counts: the device does not read them");
  EXPECT_ERROR(Recorder(other).dispatch_indirect(function, x, {x, x}, {1.f, 2u}).finish().status(),
               StatusCode::kUnimplemented, "dispatch_indirect");
  EXPECT_EQ(done.query().value(), 0u);
  EXPECT_TRUE(other.queue().dispatch(function, {.items = 1}, {x, x}, {1.f, 2u}, {}).ok());
}

TEST_F(QueueOperation, ACopyQueueRunsNoKernels) {
  const Buffer x = buffer(4);
  EXPECT_ERROR(copy_queue.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, 1u}, {}),
               StatusCode::kPermissionDenied, "copy queue");
  Recorder recorder(device);
  recorder.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, 1u});
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_ERROR(copy_queue.execute(commands, {}), StatusCode::kPermissionDenied, "copy queue");
  EXPECT_TRUE(queue.execute(commands, {}).ok());
}

TEST_F(QueueOperation, ObjectsOfOtherRuntimesAndDevicesAreDenied) {
  const Buffer mine = buffer(16);
  // A device without peers.
  const Device alone = registry.open("fake://?domain=own").value();
  const Buffer theirs = alone.allocate({.size = 16}).value();
  EXPECT_ERROR(queue.fill(theirs, 0, 4, {}), StatusCode::kPermissionDenied, "memory of fake://0");
  EXPECT_ERROR(queue.dispatch(saxpy, {.items = 1}, {mine, theirs}, {1.f, 1u}, {}),
               StatusCode::kPermissionDenied, "memory of fake://0 #2 cannot be used by fake://0");
  const Function other_saxpy = load(alone).function(0).value();
  EXPECT_ERROR(queue.dispatch(other_saxpy, {.items = 1}, {mine, mine}, {1.f, 1u}, {}),
               StatusCode::kPermissionDenied, "loaded for");
  Recorder recorder(alone);
  EXPECT_ERROR(queue.execute(recorder.finish().value(), {}), StatusCode::kPermissionDenied,
               "recording was made for");
  // Another runtime.
  DriverRegistry elsewhere;
  ASSERT_TRUE(elsewhere.add(std::make_unique<testing::FakeDriver>(control)).ok());
  const Device foreign = elsewhere.open("fake://").value();
  EXPECT_ERROR(queue.fill(foreign.allocate({.size = 4}).value(), 0, 4, {}),
               StatusCode::kPermissionDenied, "memory of");
  EXPECT_ERROR(queue.copy(mine, foreign.allocate({.size = 16}).value(), {}),
               StatusCode::kPermissionDenied, "target: memory of");
  const Semaphore semaphore = foreign.create_semaphore().value();
  EXPECT_ERROR(queue.barrier({.signal = {{semaphore, 1}}}), StatusCode::kPermissionDenied,
               "signal 0 is a semaphore of another runtime, or its list is no longer there");
  const Semaphore own = device.create_semaphore().value();
  EXPECT_ERROR(wait_any({{own, 0}, {semaphore, 0}}), StatusCode::kPermissionDenied, "runtime");
}

// Imitates a list of points whose memory has been reused.
TEST_F(QueueOperation, Point_OfNoSemaphore_NamesTheListThatIsGone) {
  alignas(timeline::Semaphore) static const std::byte zeros[sizeof(timeline::Semaphore)] = {};
  auto* const nothing = const_cast<timeline::Semaphore*>(
      reinterpret_cast<const timeline::Semaphore*>(&zeros));
  const Semaphore done = device.create_semaphore().value();
  const Point waits[] = {{done, 1}, {nothing, 1}}, signals[] = {{nothing, 1}};
  EXPECT_ERROR(queue.barrier({.wait = waits}), StatusCode::kInvalidArgument,
               "fake://0 compute: wait 1 is no semaphore: is its list no longer there? A "
               "SubmitInfo only refers to its lists");
  EXPECT_ERROR(queue.fill(buffer(4), 1, 4, {.signal = signals}), StatusCode::kInvalidArgument,
               "signal 0 is no semaphore");
  EXPECT_ERROR(wait_all(waits, kNow), StatusCode::kInvalidArgument,
               "wait_all: point 1 is no semaphore: is the list no longer there?");
  EXPECT_ERROR(wait_any(signals, kNow), StatusCode::kInvalidArgument, "wait_any: point 0 is no");
}

TEST_F(QueueOperation, PointsThatCannotHoldAreInvalid) {
  const Semaphore s = device.create_semaphore(5).value();
  EXPECT_ERROR(queue.barrier({.signal = {{s, 5}}}), StatusCode::kInvalidArgument, "signal of 5");
  EXPECT_ERROR(queue.barrier({.wait = {{s, 8}}, .signal = {{s, 8}}}), StatusCode::kInvalidArgument,
               "waits for 8");
  EXPECT_ERROR(queue.barrier({.signal = {{s, 1ull << 63}}}), StatusCode::kInvalidArgument, "2^63");
  EXPECT_EQ(s.query().value(), 5u);
}

TEST_F(QueueOperation, ARefusedOperationLeavesNothingBehind) {
  const int before = control->live_memories;
  const Semaphore s = device.create_semaphore(5).value();
  {
    const Buffer x = buffer(64);
    EXPECT_FALSE(queue.dispatch(saxpy, {.items = 1}, {x, x}, {1.f, 1u}, {.signal = {{s, 1}}}).ok());
    EXPECT_FALSE(queue.copy({x, 0, 4}, {x, 8, 4}, {.signal = {{s, 1}}}).ok());
    Recorder recorder(device);
    const CommandBuffer commands = recorder.fill(slot(0), 0).finish().value();
    EXPECT_FALSE(queue.execute(commands, {.bindings = {x}, .signal = {{s, 1}}}).ok());
  }
  EXPECT_EQ(control->live_memories, before);
  EXPECT_EQ(control->live_recordings, 0);
}

}  // namespace
}  // namespace halyard::hal
