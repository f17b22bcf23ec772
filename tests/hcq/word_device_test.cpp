// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The core for devices that execute words: QueueEncoder, EncodedList, HardwareQueue, SignalPool.
#include "word_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "halyard/hcq/graph.h"
#include "halyard/hcq/queue.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;

// marks[0..x) += by, for each of the x work-items.
void mark(const Launch& launch) {
  auto* const marks = &at<std::uint32_t>(launch.arguments[0]);
  const auto by = static_cast<std::uint32_t>(launch.arguments[1]);
  for (std::uint32_t i = 0; i < launch.grid[0] * launch.local[0]; ++i) marks[i] += by;
}
Program mark_program() {
  ProgramInfo info{.name = "mark", .buffer_count = 1};
  info.constants = {{"by", Value::Type::kUint32, 0}};
  info.constants_size = 4;
  info.max_local_size = 8;
  return Program(Ref<ProgramObject>::adopt(
      new ProgramObject(Ref<KernelImage>::adopt(new TestImage(&mark)), std::move(info))));
}

class HcqWords : public testing::TestWithParam<bool> {
 protected:
  void bind(CommandQueue& q) {
    if (GetParam()) {
      EXPECT_TRUE(q.bind(*device).ok());
    }
  }
  Signal signal(std::uint64_t initial = 0) { return device->create_signal(initial).value(); }
  ArgsState args(std::uint32_t* marks, const Value& by) {
    return program.fill_kernargs({Buffer(marks, 32)}, {by});
  }

  std::unique_ptr<TestDevice> device = TestDevice::create();
  Program program = mark_program();
  SymbolTable symbols;
};
INSTANTIATE_TEST_SUITE_P(, HcqWords, testing::Bool(),
                         [](const auto& test) { return test.param ? "Bound" : "Unbound"; });

TEST_P(HcqWords, CommandsRunInOrderBehindAWait) {
  std::uint32_t marks[8] = {}, copy[8] = {};
  const Signal gate = signal(), done = signal();
  ComputeQueue q;
  q.wait(gate, 1).memory_barrier().exec(program, args(marks, 3u), {2, 1, 1}, {3, 1, 1});
  q.signal(done, 1);
  CopyQueue copies;
  copies.wait(done, 1).copy(Buffer(copy, 32), Buffer(marks, 32), 20).signal(done, 2);
  bind(q);
  bind(copies);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(copies.submit(*device).ok());
  device->run();
  EXPECT_EQ(marks[0], 0u);
  gate.set(1);
  device->run();
  EXPECT_EQ(done.value(), 2u);
  EXPECT_THAT(marks, testing::ElementsAre(3, 3, 3, 3, 3, 3, 0, 0));
  EXPECT_THAT(copy, testing::ElementsAre(3, 3, 3, 3, 3, 0, 0, 0));
}

TEST_P(HcqWords, OneFieldChangesAlone) {
  std::uint32_t a[8] = {}, b[8] = {}, copy[4] = {};
  const Signal closed = signal(), open = signal(5), first = signal(), second = signal();
  ComputeQueue q;
  q.wait(closed, 5).wait(open, 9).exec(program, args(a, 1u), {1, 1, 1}, {2, 1, 1});
  q.timestamp(first).signal(first, 1).signal(second, 2);
  CopyQueue copies;
  copies.copy(Buffer(&copy[0], 4), Buffer(&a[7], 4), 4)
      .copy(Buffer(&copy[0], 4), Buffer(&b[0], 4), 4)
      .copy(Buffer(&copy[2], 8), Buffer(&b[0], 8), 4);
  bind(q);
  bind(copies);
  q.update_wait(0, open).update_wait(1, 5).update_timestamp(3, second);
  q.update_exec(2, args(b, 7u)).update_signal(4, 3).update_signal(5, first);
  ASSERT_TRUE(q.submit(*device).ok());
  device->run();
  EXPECT_EQ(first.value(), 2u) << "the later signal stores 2";
  EXPECT_EQ(first.timestamp(), 0);
  EXPECT_NE(second.timestamp(), 0);
  EXPECT_EQ(second.value(), 0u);
  EXPECT_THAT(a, testing::Each(0u));
  EXPECT_THAT(b, testing::ElementsAre(7, 7, 0, 0, 0, 0, 0, 0));
  q.update_exec(2, {3, 1, 1});
  ASSERT_TRUE(q.submit(*device).ok());
  device->run();
  EXPECT_THAT(b, testing::ElementsAre(14, 14, 7, 7, 7, 7, 0, 0));
  q.update_exec(2, {1, 1, 1}, {8, 1, 1});
  ASSERT_TRUE(q.submit(*device).ok());
  device->run();
  EXPECT_THAT(b, testing::ElementsAre(21, 21, 14, 14, 14, 14, 7, 7));

  copies.update_copy_source(0, Buffer(&b[2], 4)).update_copy_target(1, Buffer(&copy[1], 4));
  copies.update_copy_size(2, 8);
  ASSERT_TRUE(copies.submit(*device).ok());
  device->run();
  EXPECT_THAT(copy, testing::ElementsAre(14, 21, 21, 21));
}

TEST_P(HcqWords, SymbolsFillTheirPlaces) {
  std::uint32_t a[8] = {}, b[8] = {};
  const Signal done = signal();
  const Symbol n = symbols.add(), marks = symbols.add(), by = symbols.add();
  const Signal stamped = signal();
  const SignalSymbol gate = symbols.add(done), stamp = symbols.add(stamped);
  ComputeQueue q;
  q.wait(gate, n - 1)
      .exec(program, program.fill_kernargs({{marks, 32}}, {Value(Value::Type::kUint32, by)}),
            {n, 1, 1}, {1, 1, 1});
  q.timestamp(stamp).signal(done, n);
  bind(q);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    symbols.set(n, i);
    symbols.set(by, 10 * i);
    symbols.set(marks, reinterpret_cast<std::uintptr_t>(i == 2 ? b : a));
    ASSERT_TRUE(q.submit(*device, symbols).ok());
    device->run();
    EXPECT_EQ(done.value(), i);
  }
  EXPECT_NE(stamped.timestamp(), 0);
  EXPECT_THAT(a, testing::ElementsAre(40, 30, 30, 0, 0, 0, 0, 0));
  EXPECT_THAT(b, testing::ElementsAre(20, 20, 0, 0, 0, 0, 0, 0));
}

TEST_P(HcqWords, RawWordsRunInTheirTurn) {
  std::uint64_t counter = 0, seen = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&counter);
  const std::uint32_t add_one[] = {kAddOne, static_cast<std::uint32_t>(address),
                                   static_cast<std::uint32_t>(std::uint64_t{address} >> 32)};
  CopyQueue q;
  q.raw(add_one).copy(Buffer(&seen, 8), Buffer(&counter, 8), 8).raw(add_one).raw(add_one);
  bind(q);
  ASSERT_TRUE(q.submit(*device).ok());
  device->run();
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(counter, 3u);
}

TEST_P(HcqWords, TimesAreConvertedFromTicks) {
  std::uint32_t marks[8] = {};
  const Signal before = signal(), after = signal();
  ComputeQueue q;
  q.set_profiling(true);
  q.timestamp(before).exec(program, args(marks, 1u), {1, 1, 1}, {1, 1, 1}).timestamp(after);
  bind(q);
  ASSERT_TRUE(q.submit(*device).ok());
  device->run();
  // A tick is 10 ns, and each time is 10 ticks later.
  EXPECT_EQ(before.timestamp(), 7'100);
  EXPECT_EQ(after.timestamp(), 7'400);
  const std::vector<CommandTimes> times = q.profile();
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].name, "mark");
  EXPECT_EQ(times[0].begin, 7'200);
  EXPECT_EQ(times[0].end, 7'300);
  // In flight it cannot change, so the next submission is a copy; the one after it is not.
  for (std::uint64_t i = 1; i <= 3; ++i) {
    if (i != 3) q.update_exec(1, args(marks, static_cast<std::uint32_t>(i)));
    ASSERT_TRUE(q.submit(*device).ok());
    if (i == 1) continue;
    device->run();
    EXPECT_EQ(q.profile()[0].end + 100, after.timestamp());
  }
}

// Words for the kernel alone in front, and the constants between the buffers.
TEST(HcqWordDevice, ArgumentsAreWhereTheKernelReadsThem) {
  const auto device = TestDevice::create();
  ProgramInfo info{.name = "store", .buffer_count = 2};
  info.constants = {{"low", Value::Type::kUint32, 0}, {"high", Value::Type::kUint32, 4}};
  info.constants_size = 8;
  const TestImage::Function store = [](const Launch& launch) {
    const std::uint64_t* const words = launch.arguments;
    EXPECT_EQ(words[0], 99u);
    at<std::uint64_t>(words[1]) = words[2];
    at<std::uint64_t>(words[3]) = words[2] + 1;
  };
  const Program program(Ref<ProgramObject>::adopt(
      new ProgramObject(Ref<KernelImage>::adopt(new TestImage(store)), std::move(info),
                        {.initial = {99, 0, 0, 0}, .buffers = {3, 1}, .constants = 2})));
  EXPECT_EQ(program.kernargs_size(), 32u);
  SymbolTable symbols;
  std::uint64_t x = 0, y = 0;
  const Symbol high = symbols.add(2);
  ComputeQueue q;
  q.exec(program,
         program.fill_kernargs({Buffer(&x, 8), Buffer(&y, 8)},
                               {3u, Value(Value::Type::kUint32, high)}),
         {1, 1, 1}, {1, 1, 1});
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  device->run();
  EXPECT_EQ(y, 0x2'0000'0003u);
  EXPECT_EQ(x, 0x2'0000'0004u);
}

TEST(HcqWordDevice, ClockConvertsTimesBeforeItsMomentAndLongAfter) {
  EXPECT_EQ(kClock.to_host(0), 0);
  EXPECT_EQ(kClock.to_host(40), 6'900);
  EXPECT_EQ(kClock.to_host(50 + std::uint64_t{400'000'000'000} * 100), 400'000'000'000'000 + 7'000);
  EXPECT_EQ((DeviceClock{.ticks_per_second = 3}.to_host(2)), 666'666'666);
}

TEST(HcqWordDevice, RefusesWhatItDoesNotHave) {
  const auto device = TestDevice::create();
  const Program program = mark_program();
  std::uint32_t marks[8] = {};
  const auto message = [&](auto&& record) {
    ComputeQueue q;
    record(q);
    const Status status = q.submit(*device);
    return std::pair(status.code(), std::string(status.message()));
  };
  const auto args = program.fill_kernargs({Buffer(marks, 32)}, {1u});
  EXPECT_EQ(message([&](ComputeQueue& q) { q.exec(program, args, {1, 1, 1}, {3, 3, 1}); }),
            std::pair(StatusCode::kInvalidArgument,
                      std::string("queue: exec of 'mark' with local size 3x3x1; it takes 1 to 8 "
                                  "work-items")));
  EXPECT_EQ(message([&](ComputeQueue& q) { q.exec(program, args, {1, 1, 1}, {0, 1, 1}); }).first,
            StatusCode::kInvalidArgument);
  EXPECT_EQ(message([&](ComputeQueue& q) {
              q.signal(device->create_signal().value(), std::uint64_t{1} << 32);
            }).first,
            StatusCode::kOutOfRange);
  EXPECT_EQ(
      message([&](ComputeQueue& q) { q.custom({"c", [](const std::uint64_t*) {}}, {}); }).first,
      StatusCode::kUnimplemented);
  EXPECT_TRUE(device->idle());
}

// ---- Signals whose values a device stores.

TEST(HcqSignalPool, AWaiterWakesWhenTheDriverLooks) {
  const auto device = TestDevice::create();
  const Signal done = device->create_signal().value();
  ASSERT_TRUE(ComputeQueue().signal(done, 2).submit(*device).ok());
  std::thread waiter([&] { EXPECT_TRUE(done.wait(2, 20s).ok()); });
  device->run();
  device->signals().look();
  waiter.join();
}

TEST(HcqSignalPool, SlotsAreUsedAgainAndOutliveTheDevice) {
  auto device = TestDevice::create();
  std::vector<Signal> signals;
  for (int i = 0; i < 600; ++i) signals.push_back(device->create_signal(7).value());  // two pages
  std::vector<std::uint64_t> addresses;
  for (const Signal& signal : signals) addresses.push_back(signal.object()->address());
  std::ranges::sort(addresses);
  EXPECT_EQ(std::ranges::adjacent_find(addresses), addresses.end());
  const std::uint64_t last = signals.back().object()->address();
  signals.back().set(9);
  signals.pop_back();
  const Signal again = device->create_signal(1).value();
  EXPECT_EQ(again.object()->address(), last);
  EXPECT_EQ(again.value(), 1u);
  device.reset();
  EXPECT_EQ(signals[0].value(), 7u);
}

// ---- The ring.

// Appends its argument to the vector at its buffer.
void append(const Launch& launch) {
  at<std::vector<std::uint32_t>>(launch.arguments[0])
      .push_back(static_cast<std::uint32_t>(launch.arguments[1]));
}

class HcqHardwareQueue : public testing::Test {
 protected:
  Program append_program() {
    ProgramInfo info{.name = "append", .local_size = {}, .buffer_count = 1};
    info.constants = {{"value", Value::Type::kUint32, 0}};
    info.constants_size = 4;
    return Program(Ref<ProgramObject>::adopt(
        new ProgramObject(Ref<KernelImage>::adopt(new TestImage(&append)), std::move(info))));
  }
  // Two segments: a wait for the gate, and a kernel that notes the value.
  Status submit(TestDevice& device, const Signal& gate, std::uint32_t value) {
    ComputeQueue q;
    q.wait(gate, 1).exec(program, program.fill_kernargs({Buffer(&seen, 8)}, {value}), {1, 1, 1},
                         {1, 1, 1});
    return q.submit(device);
  }

  Program program = append_program();
  std::vector<std::uint32_t> seen;
};

// Lists of more segments than the ring has entries, too.
TEST_F(HcqHardwareQueue, WhatDoesNotFitFollowsInOrder) {
  for (const std::size_t ring : {1u, 2u, 3u, 4u, 7u}) {
    for (const std::size_t in_flight : {1u, 2u, 50u}) {
      auto device = TestDevice::create({.ring = ring, .limits = {.in_flight = in_flight}});
      const Signal gate = device->create_signal().value();
      seen.clear();
      std::vector<std::uint32_t> all;
      for (std::uint32_t i = 0; i < 20; ++i) {
        all.push_back(i);
        ASSERT_TRUE(submit(*device, gate, i).ok());
      }
      device->run();
      EXPECT_TRUE(seen.empty());
      gate.set(1);
      device->run();
      EXPECT_EQ(seen, all) << ring << " entries, " << in_flight << " fences";
      EXPECT_TRUE(device->idle());
    }
  }
}

TEST_F(HcqHardwareQueue, TheDoorbellRingsOnceForAListThatFits) {
  auto device = TestDevice::create();
  const Signal gate = device->create_signal(1).value();
  ASSERT_TRUE(submit(*device, gate, 1).ok());
  EXPECT_EQ(device->ring.bells, 1);
  EXPECT_EQ(device->ring.entries.size(), 3u) << "the list, and its fence";
}

TEST_F(HcqHardwareQueue, AFullBacklogRefusesAndAClosedQueueDropsIt) {
  auto device = TestDevice::create({.ring = 3, .limits = {.in_flight = 1, .backlog = 2}});
  const Signal gate = device->create_signal().value();
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(submit(*device, gate, i).ok());
  EXPECT_EQ(submit(*device, gate, 3).message(), "queue: 2 lists are waiting");
  device->queue().close();
  gate.set(1);
  device->run();
  EXPECT_EQ(seen, std::vector<std::uint32_t>{0});
  EXPECT_EQ(submit(*device, gate, 4).code(), StatusCode::kUnavailable);
}

TEST_F(HcqHardwareQueue, AListLivesUntilItsFence) {
  auto device = TestDevice::create();
  const Signal gate = device->create_signal().value();
  Ref<SignalObject> object(gate.object());
  {
    const Signal named = device->create_signal().value();
    object = Ref<SignalObject>(named.object());
    ASSERT_TRUE(ComputeQueue().wait(gate, 1).signal(named, 5).submit(*device).ok());
  }
  EXPECT_FALSE(object->unique());
  gate.set(1);
  device->run();
  EXPECT_TRUE(object->unique());
  EXPECT_EQ(object->value(), 5u);
}

TEST_F(HcqHardwareQueue, FencesGoOnWithAnotherSignalAtTheLimit) {
  auto device = TestDevice::create({.ring = 4, .limits = {.in_flight = 2}, .fence_limit = 3});
  const Signal gate = device->create_signal(1).value();
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 20; ++i) {
    all.push_back(i);
    ASSERT_TRUE(submit(*device, gate, i).ok());
    if (i % 3 == 0) device->run();
  }
  device->run();
  EXPECT_EQ(seen, all);
  EXPECT_TRUE(device->idle());
}

// ---- Graphs of a device without a copy queue.

class HcqWordGraph : public testing::Test {
 protected:
  HcqWordGraph() {
    GraphRecorder recorder;
    const GraphBuffer x(Buffer(a, 32)), y(Buffer(b, 32));
    recorder.exec(*device, program, {x}, {1u}, {1, 1, 1})
        .copy(*device, y, x, 32)
        .exec(*device, program, {y}, {2u}, {1, 1, 1});
    graph.emplace(recorder.finish().value());
  }

  std::unique_ptr<TestDevice> device = TestDevice::create();
  Program program = mark_program();
  std::uint32_t a[8] = {}, b[8] = {};
  std::optional<Graph> graph;
};

TEST_F(HcqWordGraph, CopiesAreOfTheOneQueue) {
  EXPECT_EQ(graph->statistics().queues, 1u);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(graph->replay().ok());
    device->run();
    EXPECT_EQ(a[0], i);
    EXPECT_EQ(b[0], i + 2);
  }
  EXPECT_TRUE(device->synchronize(20s).ok());
}

// The list of the first device is taken and cut off, because the second device refuses its own.
TEST(HcqWordDevice, AListThatWasCutOffRunsInFullLater) {
  std::unique_ptr<TestDevice> first = TestDevice::create(), second = TestDevice::create();
  if (std::less<>()(second.get(), first.get())) std::swap(first, second);
  const Program program = mark_program();
  std::uint32_t a[8] = {}, b[8] = {};
  GraphRecorder recorder;
  const GraphBuffer x(Buffer(a, 32)), y(Buffer(b, 32));
  recorder.exec(*first, program, {x}, {1u}, {1, 1, 1}).exec(*first, program, {x}, {1u}, {1, 1, 1});
  recorder.exec(*second, program, {y}, {2u}, {1, 1, 1});
  Graph graph = recorder.finish().value();
  second->refuse_from = 1;
  EXPECT_EQ(graph.replay().code(), StatusCode::kResourceExhausted);
  first->run();
  EXPECT_TRUE(first->idle());
  EXPECT_EQ(a[0], 0u);
  ASSERT_TRUE(graph.replay().ok());
  for (int i = 0; i < 2; ++i) {
    first->run();
    second->run();
  }
  EXPECT_EQ(a[0], 2u);
  EXPECT_EQ(b[0], 2u);
  EXPECT_TRUE(graph.wait(20s).ok());
}

}  // namespace
}  // namespace halyard::hcq
