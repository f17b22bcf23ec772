// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues that change between submissions: symbols, update_...(), bind(); custom commands, profiles.
// Each fact holds for a queue that is copied at submission and for a bound one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "drivers/cpu/hcq_device.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/queue.h"
#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;

// marks[linear index of the group] += by.
Program mark_program() {
  ProgramInfo info{.name = "mark", .buffer_count = 1};
  info.constants = {{"by", Value::Type::kUint32, 0}};
  info.constants_size = 4;
  return cpu_program(&mark_group, info).value();
}

class HcqPatch : public testing::TestWithParam<bool> {
 protected:
  bool bound() const { return GetParam(); }
  template <class Queue>
  void bind(Queue& q) {
    if (!bound()) return;
    EXPECT_TRUE(q.bind(*device).ok());
  }
  std::unique_ptr<Device> device = open_cpu(2).value();
  SymbolTable symbols;
};
INSTANTIATE_TEST_SUITE_P(, HcqPatch, testing::Bool(),
                         [](const auto& test) { return test.param ? "Bound" : "Unbound"; });

TEST_P(HcqPatch, OneQueueWithSymbolicValuesIsSubmittedAHundredTimes) {
  const Program program = increment_program();
  std::uint64_t counter = 0;
  const Signal timeline = device->create_signal().value();
  const Symbol v = symbols.add();
  ComputeQueue q;
  q.wait(timeline, v - 1);
  for (int i = 0; i < 2; ++i) {
    q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  }
  q.signal(timeline, v);
  bind(q);
  for (std::uint64_t n = 1; n <= 100; ++n) {
    symbols.set(v, n);
    ASSERT_TRUE(q.submit(*device, symbols).ok());
  }
  ASSERT_TRUE(timeline.wait(100, 20s).ok());
  EXPECT_EQ(counter, 200u);
}

TEST_P(HcqPatch, SymbolicSignalAndValueChangeBetweenSubmissions) {
  const Signal first = device->create_signal().value();
  const Signal second = device->create_signal().value();
  const SignalSymbol signal = symbols.add(first);
  const Symbol value = symbols.add(3);
  CopyQueue q;
  q.signal(signal, value);
  bind(q);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(first.wait(3, 20s).ok());
  symbols.set(signal, second);
  symbols.set(value, 5);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(second.wait(5, 20s).ok());
  EXPECT_EQ(first.value(), 3u);
}

TEST_P(HcqPatch, SymbolicWaitHoldsTheQueueUntilItsValue) {
  const Signal gate = device->create_signal().value();
  const Signal done = device->create_signal().value();
  const Symbol value = symbols.add(2);
  ComputeQueue q;
  q.wait(gate, value).signal(done, value);
  bind(q);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  gate.set(1);
  EXPECT_EQ(done.wait(2, 1ms).code(), StatusCode::kDeadlineExceeded);
  gate.set(2);
  EXPECT_TRUE(done.wait(2, 20s).ok());
}

TEST_P(HcqPatch, SymbolicGlobalSizeRunsThatManyWorkgroups) {
  const Program program = mark_program();
  std::vector<std::uint32_t> marks(4 * 3 * 2);
  const Symbol x = symbols.add(), y = symbols.add(), z = symbols.add();
  ComputeQueue q;
  q.exec(program,
         program.fill_kernargs({Buffer(marks.data(), 4 * marks.size())}, {std::uint32_t{1}}),
         {x, y, z + 1}, {1, 1, 1});
  bind(q);
  for (std::uint32_t nx : {1, 2, 4}) {
    for (std::uint32_t ny : {1, 3}) {
      for (std::uint32_t nz : {1, 2}) {
        std::fill(marks.begin(), marks.end(), 0);
        symbols.set(x, nx);
        symbols.set(y, ny);
        symbols.set(z, nz - 1);
        ASSERT_TRUE(q.submit(*device, symbols).ok());
        const Point end = device->next_timeline();
        ASSERT_TRUE(ComputeQueue().signal(end).submit(*device).ok());
        ASSERT_TRUE(device->synchronize(20s).ok());
        for (std::size_t i = 0; i < marks.size(); ++i) {
          EXPECT_EQ(marks[i], i < nx * ny * nz ? 1u : 0u) << nx << ' ' << ny << ' ' << nz;
        }
      }
    }
  }
}

TEST_P(HcqPatch, SymbolicArgumentsChangeBufferAndConstant) {
  const Program program = mark_program();
  std::uint32_t a = 0, b = 0;
  const Symbol buffer = symbols.add(word(&a));
  const Symbol by = symbols.add(7);
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({{buffer, 4}}, {Value(Value::Type::kUint32, by)}),
         {1, 1, 1}, {1, 1, 1});
  bind(q);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  symbols.set(buffer, word(&b));
  symbols.set(by, 9);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(ComputeQueue().signal(device->next_timeline()).submit(*device).ok());
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(a, 7u);
  EXPECT_EQ(b, 9u);
}

TEST_P(HcqPatch, LowAndHighHalvesOfASymbolFillTwoConstants) {
  ProgramInfo info{.name = "halves", .buffer_count = 1};
  info.constants = {{"low", Value::Type::kUint32, 0}, {"high", Value::Type::kUint32, 4}};
  info.constants_size = 8;
  const Program program =
      cpu_program([](const Workgroup*, void* const* buffers,
                     const void* constants) { std::memcpy(buffers[0], constants, 8); },
                  info)
          .value();
  std::uint64_t result = 0;
  const Symbol address = symbols.add(0x1234'5678'9abc'def0);
  ComputeQueue q;
  q.exec(program,
         program.fill_kernargs({Buffer(&result, 8)}, {Value(Value::Type::kUint32, low(address + 1)),
                                                      Value(Value::Type::kUint32, high(address))}),
         {1, 1, 1}, {1, 1, 1})
      .signal(device->next_timeline());
  bind(q);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(result, 0x1234'5678'9abc'def1u);
}

TEST_P(HcqPatch, SymbolicCopyTakesNewAddresses) {
  std::array<std::uint8_t, 8> a{1, 2, 3, 4, 5, 6, 7, 8}, b{}, c{};
  const Symbol target = symbols.add(word(b.data())), source = symbols.add(word(a.data()));
  CopyQueue q;
  q.copy({target, 8}, {source, 8}, 8);
  bind(q);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  symbols.set(target, word(c.data()));
  symbols.set(source, word(b.data()));
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(CopyQueue().signal(device->next_timeline()).submit(*device).ok());
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(c, a);
}

TEST_P(HcqPatch, UpdatesChangeCommandsByTheirIndex) {
  const Program program = mark_program();
  std::uint32_t a[2] = {}, b[2] = {};
  const Signal gate = device->create_signal(1).value();
  const Signal late = device->create_signal(2).value();
  const Signal done = device->create_signal().value();
  const auto args = [&](std::uint32_t* marks, std::uint32_t by) {
    return program.fill_kernargs({Buffer(marks, 8)}, {by});
  };
  ComputeQueue q;
  q.wait(gate, 1).exec(program, args(a, 1), {1, 1, 1}, {1, 1, 1}).signal(done, 1);
  bind(q);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(done.wait(1, 20s).ok());
  q.update_wait(0, late, 2).update_exec(1, args(b, 5), {2, 1, 1}).update_signal(2, done, 2);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(done.wait(2, 20s).ok());
  q.update_exec(1, {0, 1, 1}).update_signal(2, done, 3);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(done.wait(3, 20s).ok());
  EXPECT_EQ(a[0], 1u);
  EXPECT_EQ(a[1], 0u);
  EXPECT_EQ(b[0], 5u);
  EXPECT_EQ(b[1], 5u);

  std::uint64_t source = 11, other = 12, target = 0;
  CopyQueue copies;
  copies.copy(Buffer(&target, 8), Buffer(&source, 8), 8).signal(done, 4);
  bind(copies);
  copies.update_copy(0, Buffer(&target, 8), Buffer(&other, 8));
  ASSERT_TRUE(copies.submit(*device).ok());
  ASSERT_TRUE(done.wait(4, 20s).ok());
  EXPECT_EQ(target, 12u);
}

// The other parts of the command are symbols.
TEST_P(HcqPatch, AnUpdateMayChangeOneFieldAlone) {
  const Program program = mark_program();
  std::uint32_t a[2] = {}, b[2] = {};
  const auto args = [&](std::uint32_t* marks, std::uint32_t by) {
    return program.fill_kernargs({Buffer(marks, 8)}, {by});
  };
  const auto signal = [&](std::uint64_t initial) { return device->create_signal(initial).value(); };
  const Signal closed = signal(0), open = signal(5), before = signal(0), after = signal(0);
  const Signal never = signal(0), done = signal(0), stamped = signal(0);
  const Symbol five = symbols.add(5), two = symbols.add(2);
  const SignalSymbol late = symbols.add(open), end = symbols.add(done),
                     stamp = symbols.add(stamped);
  ComputeQueue q;
  q.wait(closed, five).wait(late, 6).exec(program, args(a, 1), {two, 1, 1}, {1, 1, 1});
  q.timestamp(before).signal(never, five).signal(end, 1).timestamp(stamp).signal(done, 7);
  bind(q);
  q.update_wait(0, open).update_wait(1, 5).update_exec(2, args(b, 7)).update_timestamp(3, after);
  q.update_signal(4, done).update_signal(5, 6);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(done.wait(7, 20s).ok());
  EXPECT_NE(stamped.timestamp(), 0);
  EXPECT_THAT(a, testing::Each(0u));
  EXPECT_THAT(b, testing::Each(7u));
  EXPECT_EQ(before.timestamp(), 0);
  EXPECT_NE(after.timestamp(), 0);
  EXPECT_EQ(never.value(), 0u);

  const CustomCommand store{"store", [](const std::uint64_t* words) {
                              *reinterpret_cast<std::uint64_t*>(words[0]) = words[1] + words[2];
                            }};
  std::uint64_t from = 0x1'0000'0001, other = 0x2'0000'0002, to[3] = {}, stored = 0;
  const Symbol source = symbols.add(word(&from)), target = symbols.add(word(&to[1]));
  CopyQueue copies;
  copies.copy(Buffer(&from, 8), {source, 8}, 8)
      .copy({target, 8}, Buffer(&from, 8), 8)
      .copy(Buffer(&to[2], 8), Buffer(&from, 8), 8)
      .custom(store, {word(&stored), five, 1})
      .signal(done, 8);
  bind(copies);
  copies.update_copy_target(0, Buffer(&to[0], 8)).update_copy_source(1, Buffer(&other, 8));
  copies.update_copy_size(2, 4).update_custom_word(3, 2, 10);
  ASSERT_TRUE(copies.submit(*device, symbols).ok());
  ASSERT_TRUE(done.wait(8, 20s).ok());
  EXPECT_THAT(to, testing::ElementsAre(from, other, 1u));
  EXPECT_EQ(stored, 15u);
}

TEST_P(HcqPatch, AnUpdateMayGiveArgumentsInOtherMemory) {
  const Program program = mark_program();
  std::uint32_t a = 0, b = 0;
  alignas(8) std::array<std::byte, 16> first, second;
  const auto args = [&](std::uint32_t& mark, std::uint32_t by, std::span<std::byte> memory) {
    const BufferOperand buffers[] = {Buffer(&mark, 4)};
    const Value values[] = {by};
    return program.fill_kernargs(buffers, values, memory);
  };
  const Signal done = device->create_signal().value();
  ComputeQueue q;
  q.exec(program, args(a, 1, first), {1, 1, 1}, {1, 1, 1}).signal(done, 1);
  bind(q);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(done.wait(1, 20s).ok());
  q.update_exec(0, args(b, 5, second), {1, 1, 1}).update_signal(1, done, 2);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(done.wait(2, 20s).ok());
  EXPECT_EQ(a, 1u);
  EXPECT_EQ(b, 5u);
}

// A later change does not affect a submission in flight.
TEST_P(HcqPatch, SubmissionsInFlightKeepWhatTheyWereSubmittedWith) {
  const Program program = mark_program();
  const Signal gate = device->create_signal().value();
  std::vector<std::uint32_t> marks(100);
  const Symbol buffer = symbols.add(), by = symbols.add();
  ComputeQueue q;
  q.wait(gate, 1).exec(program,
                       program.fill_kernargs({{buffer, 4}}, {Value(Value::Type::kUint32, by)}),
                       {1, 1, 1}, {1, 1, 1});
  bind(q);
  for (std::uint32_t i = 0; i < 100; ++i) {
    symbols.set(buffer, word(&marks[i]));
    symbols.set(by, i + 1);
    ASSERT_TRUE(q.submit(*device, symbols).ok());
  }
  ASSERT_TRUE(ComputeQueue().signal(device->next_timeline()).submit(*device).ok());
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(marks[i], i + 1);
  // Changes exceed the list of a bound queue.
  std::uint32_t last = 0;
  symbols.set(buffer, word(&last));
  symbols.set(by, 7);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(ComputeQueue().signal(device->next_timeline()).submit(*device).ok());
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(last, 7u);
}

TEST_P(HcqPatch, CustomCommandRunsInOrderWithItsWords) {
  const CustomCommand add{"add", [](const std::uint64_t* words) {
                            *reinterpret_cast<std::uint64_t*>(words[0]) += words[1] * words[2];
                          }};
  std::uint64_t sum = 0;
  const Signal gate = device->create_signal().value();
  const Symbol factor = symbols.add(3);
  CopyQueue q;
  q.wait(gate, 1).custom(add, {word(&sum), 5, factor}).signal(device->next_timeline());
  bind(q);
  ASSERT_TRUE(q.submit(*device, symbols).ok());
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(sum, 15u);
  ComputeQueue again;
  again.custom(add, {word(&sum), 5, 1}).signal(device->next_timeline());
  bind(again);
  again.update_custom(0, {word(&sum), 7});
  ASSERT_TRUE(again.submit(*device).ok());
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(sum, 22u);
}

TEST_P(HcqPatch, ProfileHasTheTimesOfEachCommand) {
  const Program program = increment_program();
  std::uint64_t counter = 0;
  const Signal gate = device->create_signal().value();
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  q.set_profiling(true);
  q.wait(gate, 1)
      .exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1})
      .custom({"nothing", [](const std::uint64_t*) {}}, {})
      .signal(device->next_timeline());
  bind(q);
  const Nanoseconds before = Clock::steady().now();
  ASSERT_TRUE(q.submit(*device).ok());
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  const Nanoseconds after = Clock::steady().now();
  const std::vector<CommandTimes> times = q.profile();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].command, 2u);
  EXPECT_EQ(times[0].name, "increment");
  EXPECT_EQ(times[1].name, "nothing");
  EXPECT_LE(before, times[0].begin);
  EXPECT_LE(times[0].begin, times[0].end);
  EXPECT_LE(times[0].end, times[1].begin);
  EXPECT_LE(times[1].begin, times[1].end);
  EXPECT_LE(times[1].end, after);
}

TEST_P(HcqPatch, LongQueueIsExecutedInManyVisitsAndByManyThreads) {
  const Program program = mark_program();
  std::vector<std::uint32_t> marks(64);
  const auto args = program.fill_kernargs({Buffer(marks.data(), 256)}, {std::uint32_t{1}});
  ComputeQueue q;
  for (int i = 0; i < 1500; ++i) q.exec(program, args, {64, 1, 1}, {1, 1, 1});
  q.signal(device->next_timeline());
  bind(q);
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(device->synchronize(20s).ok());
  for (const std::uint32_t mark : marks) EXPECT_EQ(mark, 1500u);
}

// ---- Bound queues only.

TEST(HcqBind, SubmissionIsOneEntryOfTheRing) {
  auto device =
      cpu::HcqDevice::create(
          0, {.limits = {.ring_packets = 4, .kernargs_bytes = 1 << 14, .backlog_packets = 1}})
          .value();
  const Program program = increment_program();
  std::uint64_t counter = 0;
  ComputeQueue q;
  for (int i = 0; i < 1000; ++i) {
    q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  }
  EXPECT_EQ(q.submit(*device).code(), StatusCode::kResourceExhausted);
  ASSERT_TRUE(q.bind(*device).ok());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(q.submit(*device).ok());
  EXPECT_EQ(q.submit(*device).code(), StatusCode::kResourceExhausted);
  drain(device->group());
  EXPECT_EQ(counter, 5000u);
}

TEST(HcqBind, AnotherDeviceTakesACopy) {
  auto a = open_cpu(1).value(), b = open_cpu(1).value();
  std::uint64_t counter = 0;
  const Program program = increment_program();
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1})
      .signal(b->next_timeline());
  ASSERT_TRUE(q.bind(*a).ok());
  ASSERT_TRUE(q.submit(*b).ok());
  ASSERT_TRUE(b->synchronize(20s).ok());
  EXPECT_EQ(counter, 1u);
}

TEST(HcqBind, QueueMayGoWhileItsCommandsAreInFlight) {
  auto device = open_cpu(1).value();
  std::uint64_t counter = 0;
  Signal gate = device->create_signal().value();
  {
    Program program = increment_program();
    ComputeQueue q;
    q.wait(gate, 1)
        .exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1})
        .signal(device->next_timeline());
    ASSERT_TRUE(q.bind(*device).ok());
    ASSERT_TRUE(q.submit(*device).ok());
  }
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(counter, 1u);
}

TEST(HcqBind, DeviceMayCloseOverABlockedBoundQueue) {
  auto device = open_cpu(1).value();
  const Signal gate = device->create_signal().value();
  ComputeQueue q;
  q.wait(gate, 1).signal(gate, 2);
  ASSERT_TRUE(q.bind(*device).ok());
  ASSERT_TRUE(q.submit(*device).ok());
  device.reset();
  EXPECT_EQ(gate.value(), 0u);
}

TEST(HcqBind, NoCommandCanFollowIt) {
  auto device = open_cpu(1).value();
  ComputeQueue q;
  ASSERT_TRUE(q.memory_barrier().bind(*device).ok());
  EXPECT_EQ(q.memory_barrier().submit(*device).code(), StatusCode::kFailedPrecondition);
}

// ---- Misuse.

class HcqSymbolMisuse : public testing::Test {
 protected:
  std::unique_ptr<Device> device = open_cpu(1).value();
  Signal signal = device->create_signal().value();
  SymbolTable symbols;
};

TEST_F(HcqSymbolMisuse, ValuesThatAreNotGivenAreInvalid) {
  const Symbol v = symbols.add(1);
  ComputeQueue q;
  q.signal(signal, v);
  EXPECT_EQ(q.submit(*device).code(), StatusCode::kInvalidArgument);
  SymbolTable other;
  other.add(1);
  EXPECT_EQ(q.submit(*device, other).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(q.submit(*device, symbols).ok());
  EXPECT_TRUE(signal.wait(1, 20s).ok());
}

TEST_F(HcqSymbolMisuse, SymbolsOfTwoTablesAreInvalid) {
  SymbolTable other;
  ComputeQueue q;
  q.signal(signal, symbols.add(1)).signal(signal, other.add(2));
  EXPECT_EQ(q.submit(*device, symbols).code(), StatusCode::kInvalidArgument);
}

TEST_F(HcqSymbolMisuse, EmptySignalIsInvalidUntilItIsSet) {
  const SignalSymbol empty = symbols.add(Signal());
  ComputeQueue q;
  q.signal(empty, 1);
  EXPECT_EQ(q.submit(*device, symbols).code(), StatusCode::kInvalidArgument);
  symbols.set(empty, signal);
  EXPECT_TRUE(q.submit(*device, symbols).ok());
  EXPECT_TRUE(signal.wait(1, 20s).ok());
}

TEST_F(HcqSymbolMisuse, ValueThatDoesNotFitIsOutOfRangeAndQueuesNothing) {
  const Program program = mark_program();
  std::uint32_t mark = 0;
  const Symbol size = symbols.add(std::uint64_t{1} << 32);
  const Symbol by = symbols.add(std::uint64_t{1} << 32);
  ComputeQueue sized;
  sized.exec(program, program.fill_kernargs({Buffer(&mark, 4)}, {std::uint32_t{1}}), {size, 1, 1},
             {1, 1, 1});
  EXPECT_EQ(sized.submit(*device, symbols).code(), StatusCode::kOutOfRange);
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({Buffer(&mark, 4)}, {Value(Value::Type::kUint32, by)}),
         {1, 1, 1}, {1, 1, 1})
      .signal(signal, 1);
  EXPECT_EQ(q.submit(*device, symbols).code(), StatusCode::kOutOfRange);
  symbols.set(by, 2);
  EXPECT_TRUE(q.submit(*device, symbols).ok());
  ASSERT_TRUE(signal.wait(1, 20s).ok());
  EXPECT_EQ(mark, 2u);
}

TEST_F(HcqSymbolMisuse, TooManyWorkgroupsAreInvalid) {
  const Program program = increment_program();
  std::uint64_t counter = 0;
  const Symbol size = symbols.add(~std::uint32_t{0});
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {size, size, size}, {1, 1, 1});
  EXPECT_EQ(q.submit(*device, symbols).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(counter, 0u);
}

TEST_F(HcqSymbolMisuse, UpdateOfAnotherKindOfCommandIsAnError) {
  const auto code_after = [&](auto update) {
    ComputeQueue q;
    q.signal(signal, 1).wait(signal, symbols.add(1)).memory_barrier();
    update(q);
    return q.submit(*device, symbols).code();
  };
  EXPECT_EQ(code_after([&](ComputeQueue& q) { q.update_wait(0, signal, 1); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_after([&](ComputeQueue& q) { q.update_exec(2, {1, 1, 1}); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_after([&](ComputeQueue& q) { q.update_signal(3, signal, 1); }),
            StatusCode::kOutOfRange);
  EXPECT_EQ(code_after([&](ComputeQueue& q) { q.update_wait(1, signal, 1); }),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_after([&](ComputeQueue& q) { q.update_signal(0, Signal(), 1); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_after([&](ComputeQueue& q) { q.custom({"none", nullptr}, {}); }),
            StatusCode::kInvalidArgument);
}

// ---- A program without a queue.

TEST(HcqLaunch, RunsBehindEverythingSubmittedBefore) {
  auto device = open_cpu(2).value();
  const Program program = increment_program();
  const Signal gate = device->create_signal().value();
  std::uint64_t counter = 0, copied = 0;
  ASSERT_TRUE(CopyQueue()
                  .wait(gate, 1)
                  .copy(Buffer(&copied, 8), Buffer(&counter, 8), 8)
                  .signal(device->next_timeline())
                  .submit(*device)
                  .ok());
  const ArgsState args = program.fill_kernargs({Buffer(&counter, 8)});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(program.launch(*device, args, {1, 1, 1}).ok());
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(copied, 0u);
  EXPECT_EQ(counter, 10u);
}

TEST(HcqLaunch, ReturnsTheKernelsTimeWithoutItsTimeInTheQueue) {
  auto device = open_cpu(1).value();
  const Signal gate = device->create_signal().value();
  ASSERT_TRUE(ComputeQueue().wait(gate, 1).signal(device->next_timeline()).submit(*device).ok());
  const Program program = cpu_program(
                              [](const Workgroup*, void* const* buffers, const void*) {
                                // Two readings of the clock, whose difference the kernel's time
                                // must reach.
                                auto* times = static_cast<Nanoseconds*>(buffers[0]);
                                times[0] = Clock::steady().now();
                                while (Clock::steady().now() < times[0] + 50'000) {
                                }
                                times[1] = Clock::steady().now();
                              },
                              {.name = "spin", .buffer_count = 1})
                              .value();
  Nanoseconds times[2] = {};
  const ArgsState args = program.fill_kernargs({Buffer(times, 16)});
  const Nanoseconds start = Clock::steady().now();
  EXPECT_EQ(program.launch_and_wait(*device, args, {1, 1, 1}, 1ms).status().code(),
            StatusCode::kDeadlineExceeded);
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  const Result<Nanoseconds> ran = program.launch_and_wait(*device, args, {1, 1, 1}, 20s);
  ASSERT_TRUE(ran.ok());
  EXPECT_GE(*ran, times[1] - times[0]);
  EXPECT_LE(*ran, Clock::steady().now() - start);
}

TEST(HcqLaunch, RefusedLaunchTakesNoPointOfTheTimeline) {
  auto device = open_cpu(1).value();
  const Program program = increment_program();
  const std::uint64_t next = device->timeline_value();
  EXPECT_EQ(program.launch(*device, program.fill_kernargs({}), {1, 1, 1}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(device->timeline_value(), next);
  EXPECT_TRUE(device->synchronize(20s).ok());
}

// ---- Kernel arguments in the caller's memory.

TEST(HcqKernargs, InTheCallersMemoryAreReadWhenTheKernelRuns) {
  auto device = open_cpu(1).value();
  const Program program = mark_program();
  std::uint32_t a = 0, b = 0;
  const Signal gate = device->create_signal().value();
  alignas(8) std::array<std::byte, 16> memory;
  ASSERT_EQ(program.kernargs_size(), memory.size());
  const BufferOperand first[] = {Buffer(&a, 4)};
  const BufferOperand second[] = {Buffer(&b, 4)};
  const Value by[] = {std::uint32_t{3}};
  ComputeQueue q;
  q.wait(gate, 1)
      .exec(program, program.fill_kernargs(first, by, memory), {1, 1, 1}, {1, 1, 1})
      .signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(program.fill_kernargs(second, by, memory).status().ok());
  gate.set(1);
  ASSERT_TRUE(device->synchronize(20s).ok());
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(b, 3u);
}

TEST(HcqKernargs, MemoryThatIsTooSmallOrUnalignedIsRefused) {
  const Program program = increment_program();
  std::uint64_t counter = 0;
  alignas(8) std::array<std::byte, 16> memory;
  const BufferOperand buffers[] = {Buffer(&counter, 8)};
  const std::span<std::byte> all(memory);
  EXPECT_EQ(program.fill_kernargs(buffers, {}, all.first(7)).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(program.fill_kernargs(buffers, {}, all.subspan(1)).status().code(),
            StatusCode::kInvalidArgument);
  SymbolTable symbols;
  const BufferOperand symbolic[] = {{symbols.add(), 8}};
  EXPECT_EQ(program.fill_kernargs(symbolic, {}, all).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace halyard::hcq
