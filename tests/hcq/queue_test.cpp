// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "drivers/cpu/hcq_device.h"
#include "halyard/hcq/cpu.h"
#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;

// y[i] = a * x[i] + y[i], one group per 16 elements.
void saxpy(const Workgroup* group, void* const* buffers, const void* constants) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<float*>(buffers[1]);
  float a;
  std::uint32_t n;
  std::memcpy(&a, constants, 4);
  std::memcpy(&n, static_cast<const char*>(constants) + 4, 4);
  for (std::size_t i = group->group[0] * 16;
       i < std::min<std::size_t>(n, group->group[0] * 16 + 16); ++i) {
    y[i] += a * x[i];
  }
}

Program saxpy_program() {
  ProgramInfo info{.name = "saxpy", .local_size = {16, 1, 1}, .buffer_count = 2};
  info.constants = {{"a", Value::Type::kFloat32, 0}, {"n", Value::Type::kUint32, 4}};
  info.constants_size = 8;
  return cpu_program(&saxpy, info).value();
}

TEST(HcqQueue, RunsAKernelBetweenWaitAndSignal) {
  auto device = open_cpu(1).value();
  const Program program = saxpy_program();
  std::vector<float> x(1000), y(1000, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  ComputeQueue q;
  q.wait(device->last_timeline())
      .memory_barrier()
      .exec(program,
            program.fill_kernargs({Buffer(x.data(), 4000), Buffer(y.data(), 4000)},
                                  {2.0f, std::uint32_t{1000}}),
            {63, 1, 1}, {16, 1, 1})
      .signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(device->synchronize().ok());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 1.0f + 2.0f * static_cast<float>(i));
}

TEST(HcqQueue, OneThatWasMovedFromSaysSo) {
  auto device = open_cpu(1).value();
  ComputeQueue queue;
  const ComputeQueue other = std::move(queue);
  EXPECT_EQ(queue.command_count(), 0u);
  EXPECT_TRUE(queue.profile().empty());
  EXPECT_EQ(queue.submit(*device).message(), "queue: submit of one that was moved from");
  EXPECT_EQ(queue.bind(*device).code(), StatusCode::kFailedPrecondition);
  const Signal signal = device->create_signal().value();
  queue.set_profiling(true);
  queue.wait(signal, 0).memory_barrier().signal(signal, 1).update_wait(0, signal, 2);
  EXPECT_EQ(queue.submit(*device).message(), "queue: a command of one that was moved from");
  EXPECT_EQ(queue.bind(*device).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(signal.value(), 0u);
  queue = ComputeQueue();
  EXPECT_TRUE(queue.signal(signal, 1).submit(*device).ok());
}

TEST(HcqProgram, SaysWhatAProgramOfTheCpuCannotHave) {
  const auto message = [](ProgramInfo info, Kernel kernel = &saxpy) {
    info.name = "p";
    return std::string(cpu_program(kernel, info).status().message());
  };
  const auto of_one = [&](Value::Type type, std::uint32_t offset, std::uint32_t size) {
    return message({.constants = {{"a", type, offset}}, .constants_size = size});
  };
  EXPECT_EQ(message({}, nullptr), "program 'p': no function");
  EXPECT_EQ(message({.buffer_count = 64, .constants_size = 4096}), "");
  EXPECT_EQ(message({.buffer_count = 65}), "program 'p': 65 buffers; the most is 64");
  EXPECT_EQ(message({.constants_size = 4097}),
            "program 'p': 4097 bytes of constants; the most is 4096");
  EXPECT_EQ(of_one(Value::Type::kFloat64, 8, 16), "");
  EXPECT_EQ(of_one(Value::Type::kFloat64, 8, 15),
            "program 'p': constant 'a' at offset 8 of 15 bytes");
  EXPECT_EQ(of_one(Value::Type::kUint64, 4, 16),
            "program 'p': constant 'a' at offset 4 of 16 bytes");
  EXPECT_EQ(of_one(Value::Type::kInt32, 4, 8), "");
}

TEST(HcqQueue, AnUpdateThatDoesNotFitSaysSo) {
  auto device = open_cpu(1).value();
  const Program program = increment_program(), other = increment_program();
  const CustomCommand nothing{"nothing", [](const std::uint64_t*) {}};
  std::uint64_t large[2] = {}, small = 0;
  const Buffer two(large, 16), one(&small, 8);
  const auto message = [&](auto update) {
    ComputeQueue q;
    q.custom(nothing, {1}).exec(program, program.fill_kernargs({one}), {1, 1, 1}, {1, 1, 1});
    update(q);
    return std::string(q.submit(*device).message());
  };
  EXPECT_EQ(message([&](ComputeQueue& q) { q.update_custom(0, {1, 2, 3, 4}); }), "");
  EXPECT_EQ(message([&](ComputeQueue& q) { q.update_custom(0, {1, 2, 3, 4, 5}); }),
            "queue: update_custom of 5 words from 0 on; it takes at most 4");
  EXPECT_EQ(message([&](ComputeQueue& q) { q.update_exec(1, other.fill_kernargs({one}), {}); }),
            "queue: update_exec of command 1 with arguments of another program");
  CopyQueue copies;
  EXPECT_EQ(copies.copy(two, two, 16).update_copy(0, two, one).submit(*device).message(),
            "queue: update_copy of 16 bytes from 8 to 16 bytes");
  CopyQueue again;
  EXPECT_EQ(again.copy(two, two, 16).update_copy(0, one, two).submit(*device).message(),
            "queue: update_copy of 16 bytes from 16 to 8 bytes");
  CopyQueue larger;
  EXPECT_EQ(larger.copy(two, two, 16).update_copy_size(0, 17).submit(*device).message(),
            "queue: update_copy of 17 bytes from 16 to 16 bytes");
  CopyQueue later;
  EXPECT_EQ(later.copy(one, two, 8).update_copy_size(0, 16).submit(*device).message(),
            "queue: update_copy of 16 bytes from 16 to 8 bytes");
}

TEST(HcqQueue, TwentyThousandIncrementsBehindAClosedGateAllRun) {
  auto device = open_cpu(2).value();
  const Signal gate = device->create_signal().value();
  const Program program = increment_program();
  std::uint64_t counter = 0;
  ComputeQueue first;
  ASSERT_TRUE(first.wait(gate, 1).submit(*device).ok());
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(q.submit(*device).ok());
  ComputeQueue last;
  ASSERT_TRUE(last.signal(device->next_timeline()).submit(*device).ok());
  EXPECT_EQ(device->synchronize(1ms).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(counter, 0u);
  gate.set(1);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(counter, 20'000u);
}

TEST(HcqQueue, FullBacklogIsResourceExhaustedWithNothingQueued) {
  auto device =
      cpu::HcqDevice::create(
          0, {.limits = {.ring_packets = 4, .kernargs_bytes = 1 << 14, .backlog_packets = 6}})
          .value();
  const Signal gate = device->create_signal().value();
  const Signal done = device->create_signal().value();
  ComputeQueue first;
  ASSERT_TRUE(first.wait(gate, 1).submit(*device).ok());
  const Program program = increment_program();
  std::uint64_t counter = 0;
  ComputeQueue three;
  for (int i = 0; i < 3; ++i) {
    three.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  }
  EXPECT_TRUE(three.submit(*device).ok());  // in the ring
  EXPECT_TRUE(three.submit(*device).ok());  // in the backlog
  EXPECT_TRUE(three.submit(*device).ok());
  const Status status = three.submit(*device);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("6 of at most 6"), std::string_view::npos) << status.message();
  gate.set(1);
  drain(device->group());
  EXPECT_EQ(counter, 9u);
  ComputeQueue last;
  EXPECT_TRUE(last.signal(done, 1).submit(*device).ok());
  drain(device->group());
  EXPECT_EQ(done.value(), 1u);
}

TEST(HcqQueue, SubmissionLargerThanTheRingRunsWhole) {
  auto device =
      cpu::HcqDevice::create(0, {.limits = {.ring_packets = 4, .kernargs_bytes = 1 << 14}}).value();
  const Program program = increment_program();
  std::uint64_t counter = 0;
  ComputeQueue q;
  for (int i = 0; i < 1000; ++i) {
    q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  }
  ASSERT_TRUE(q.submit(*device).ok());
  drain(device->group());
  EXPECT_EQ(counter, 1000u);
}

// Each kernel checks that its arguments are intact.
void check_arguments(const Workgroup*, void* const* buffers, const void* constants) {
  auto* next = static_cast<std::uint64_t*>(buffers[0]);
  const auto* values = static_cast<const std::uint64_t*>(constants);
  if (values[0] == *next && values[511] == ~*next) ++*next;
}

TEST(HcqQueue, KernelArgumentsInFlightAreNeverOverwritten) {
  // The ring of arguments holds three of these launches, the packet ring many more.
  auto device =
      cpu::HcqDevice::create(0, {.limits = {.ring_packets = 64, .kernargs_bytes = 1 << 14}})
          .value();
  ProgramInfo info{.name = "check", .buffer_count = 1};
  for (std::uint32_t i = 0; i < 512; ++i)
    info.constants.push_back({"c", Value::Type::kUint64, i * 8});
  info.constants_size = 4096;
  const Program program = cpu_program(&check_arguments, info).value();
  const Signal gate = device->create_signal().value();
  std::uint64_t next = 0;
  ComputeQueue q;
  q.wait(gate, 1);
  ASSERT_TRUE(q.submit(*device).ok());
  for (std::uint64_t i = 0; i < 40; ++i) {
    // 512 values, of which the first and the last differ between launches.
    const std::uint64_t a = i, b = ~i;
#define HALYARD_8(v) v, v, v, v, v, v, v, v
#define HALYARD_64(v)                                                                 \
  HALYARD_8(v), HALYARD_8(v), HALYARD_8(v), HALYARD_8(v), HALYARD_8(v), HALYARD_8(v), \
      HALYARD_8(v), HALYARD_8(v)
    ComputeQueue launch;
    launch.exec(program,
                program.fill_kernargs({Buffer(&next, 8)},
                                      {HALYARD_64(a), HALYARD_64(a), HALYARD_64(a), HALYARD_64(a),
                                       HALYARD_64(b), HALYARD_64(b), HALYARD_64(b), HALYARD_64(b)}),
                {1, 1, 1}, {1, 1, 1});
    ASSERT_TRUE(launch.submit(*device).ok());
  }
  gate.set(1);
  drain(device->group());
  EXPECT_EQ(next, 40u);
}

TEST(HcqQueue, WaitSetLateBlocksTheQueueUntilThen) {
  auto device = open_cpu(1).value();
  const Signal late = device->create_signal().value();
  ComputeQueue q;
  q.wait(late, 1).signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  EXPECT_EQ(device->synchronize(2ms).code(), StatusCode::kDeadlineExceeded);
  late.set(1);
  EXPECT_TRUE(device->synchronize().ok());
}

TEST(HcqQueue, BlockedComputeQueueDoesNotStopTheCopyQueue) {
  auto device = open_cpu(1).value();
  const Signal never = device->create_signal().value();
  const Signal copied = device->create_signal().value();
  ComputeQueue blocked;
  ASSERT_TRUE(blocked.wait(never, 1).submit(*device).ok());
  std::uint64_t from = 42, to = 0;
  CopyQueue copy;
  copy.copy(Buffer(&to, 8), Buffer(&from, 8), 8).signal(copied, 1);
  ASSERT_TRUE(copy.submit(*device).ok());
  ASSERT_TRUE(copied.wait(1).ok());
  EXPECT_EQ(to, 42u);
}

TEST(HcqQueue, QueuesOfTwoDevicesOrderEachOther) {
  auto a = open_cpu(1).value(), b = open_cpu(1).value();
  const Signal signal = a->create_signal().value();
  std::vector<std::uint64_t> x(100'000, 7), y(100'000), z(100'000);
  const std::uint64_t bytes = x.size() * 8;
  CopyQueue second;
  second.wait(signal, 1)
      .copy(Buffer(z.data(), bytes), Buffer(y.data(), bytes), bytes)
      .signal(b->next_timeline());
  ASSERT_TRUE(second.submit(*b).ok());
  CopyQueue first;
  first.copy(Buffer(y.data(), bytes), Buffer(x.data(), bytes), bytes).signal(signal, 1);
  ASSERT_TRUE(first.submit(*a).ok());
  ASSERT_TRUE(b->synchronize().ok());
  EXPECT_EQ(z, x);
}

TEST(HcqQueue, SignalAndProgramMayBeDroppedWhileQueued) {
  auto device = open_cpu(1).value();
  Signal gate = device->create_signal().value();
  std::uint64_t counter = 0;
  {
    Program program = increment_program();
    Signal other = device->create_signal().value();
    ComputeQueue q;
    q.wait(gate, 1)
        .exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1})
        .signal(other, 1)
        .wait(other, 1)
        .signal(device->next_timeline());
    ASSERT_TRUE(q.submit(*device).ok());
  }
  gate.set(1);
  gate = Signal();
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(counter, 1u);
}

TEST(HcqQueue, DeviceMayBeDestroyedWithWorkQueued) {
  Signal gate;
  std::uint64_t counter = 0;
  {
    auto device = open_cpu(2).value();
    gate = device->create_signal().value();
    const Program program = increment_program();
    ComputeQueue q;
    q.wait(gate, 1).exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1},
                         {1, 1, 1});
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(q.submit(*device).ok());
  }
  gate.set(1);
  EXPECT_EQ(counter, 0u);
}

TEST(HcqQueue, ManyThreadsMaySubmitToOneDevice) {
  auto device = open_cpu(2).value();
  const Program program = increment_program();
  constexpr int kThreads = 4, kEach = 3000;
  std::uint64_t counters[kThreads] = {};
  std::vector<std::thread> threads;
  for (std::uint64_t& counter : counters) {
    threads.emplace_back([&] {
      ComputeQueue q;
      q.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
      for (int i = 0; i < kEach; ++i) ASSERT_TRUE(q.submit(*device).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ComputeQueue last;
  ASSERT_TRUE(last.signal(device->next_timeline()).submit(*device).ok());
  ASSERT_TRUE(device->synchronize().ok());
  for (const std::uint64_t counter : counters) EXPECT_EQ(counter, std::uint64_t{kEach});
}

TEST(HcqQueue, LargeGridIsSharedByWorkersAndComplete) {
  auto device = open_cpu(4).value();
  const Program program = cpu_program(&mark_group, {.name = "mark",
                                                    .buffer_count = 1,
                                                    .constants = {{"by", Value::Type::kUint32, 0}},
                                                    .constants_size = 4})
                              .value();
  std::vector<std::uint32_t> marks(1000, 0);
  ComputeQueue q;
  q.exec(program, program.fill_kernargs({Buffer(marks.data(), 4000)}, {std::uint32_t{1}}),
         {1000, 1, 1}, {1, 1, 1});
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(q.submit(*device).ok());
  ComputeQueue last;
  ASSERT_TRUE(last.signal(device->next_timeline()).submit(*device).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(marks, std::vector<std::uint32_t>(1000, 200));
}

TEST(HcqQueue, TimestampsLieWithinTheHostsInterval) {
  auto device = open_cpu(1).value();
  const Signal before = device->create_signal().value(), after = device->create_signal().value();
  const Nanoseconds start = Clock::steady().now();
  ComputeQueue q;
  q.timestamp(before).timestamp(after).signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_LE(start, before.timestamp());
  EXPECT_LE(before.timestamp(), after.timestamp());
  EXPECT_LE(after.timestamp(), Clock::steady().now());
}

TEST(HcqQueue, WrongArgumentsAreErrorsThatNameThem) {
  auto device = cpu::HcqDevice::create(0).value();
  const Program program = saxpy_program();
  float data[16] = {};
  const Buffer b(data, sizeof data);
  EXPECT_EQ(program.fill_kernargs({b}, {1.0f, 16u}).status().code(), StatusCode::kInvalidArgument);
  const ArgsState typed = program.fill_kernargs({b, b}, {1.0f, 16});
  EXPECT_EQ(typed.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(typed.status().message().find("'n' is uint32, int32 was given"),
            std::string_view::npos);
  ComputeQueue bad_args;
  EXPECT_EQ(bad_args.exec(program, typed, {1, 1, 1}, {16, 1, 1}).submit(*device).code(),
            StatusCode::kInvalidArgument);
  ComputeQueue bad_size;
  EXPECT_EQ(bad_size.exec(program, program.fill_kernargs({b, b}, {1.0f, 16u}), {1, 1, 1}, {8, 1, 1})
                .submit(*device)
                .code(),
            StatusCode::kInvalidArgument);
  ComputeQueue foreign;
  EXPECT_EQ(foreign
                .exec(increment_program(), program.fill_kernargs({b, b}, {1.0f, 16u}), {1, 1, 1},
                      {1, 1, 1})
                .submit(*device)
                .code(),
            StatusCode::kInvalidArgument);
  ComputeQueue huge;
  EXPECT_EQ(
      huge.exec(program, program.fill_kernargs({b, b}, {1.0f, 16u}), {~0u, ~0u, 2}, {16, 1, 1})
          .submit(*device)
          .code(),
      StatusCode::kInvalidArgument);
  CopyQueue copy;
  EXPECT_EQ(copy.copy(b, b, 65).submit(*device).code(), StatusCode::kOutOfRange);
  ComputeQueue empty;
  EXPECT_EQ(empty.signal(Signal(), 1).submit(*device).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(open_cpu(257).status().code(), StatusCode::kInvalidArgument);
}

// Each step waits for a few earlier ones of any queue, and checks that they are complete.
TEST(HcqQueue, RandomWaitsAcrossDevicesAreAllMetInOrder) {
  constexpr std::size_t kQueues = 8;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Signal> signals;
  for (std::size_t i = 0; i < kQueues / 2; ++i) devices.push_back(open_cpu(1).value());
  for (std::size_t i = 0; i < kQueues; ++i) {
    signals.push_back(devices[i / 2]->create_signal().value());
  }
  const CustomCommand expect{"expect", [](const std::uint64_t* words) {
                               const auto& signal = *reinterpret_cast<const Signal*>(words[0]);
                               if (signal.value() < words[1]) {
                                 ++*reinterpret_cast<std::atomic<int>*>(words[2]);
                               }
                             }};
  std::atomic<int> early{0};
  std::mt19937 random(7);
  std::uint64_t steps[kQueues] = {};
  const auto build = [&](auto q, std::size_t own) {
    for (int waits = static_cast<int>(random() % 4); waits > 0; --waits) {
      const std::size_t other = random() % kQueues;
      if (steps[other] == 0) continue;
      const std::uint64_t value = 1 + random() % steps[other];
      q.wait(signals[other], value).custom(expect, {word(&signals[other]), value, word(&early)});
    }
    q.signal(signals[own], ++steps[own]);
    ASSERT_TRUE(q.submit(*devices[own / 2]).ok());
  };
  for (int step = 0; step < 5000; ++step) {
    const std::size_t own = random() % kQueues;
    own % 2 == 0 ? build(ComputeQueue(), own) : build(CopyQueue(), own);
  }
  for (std::size_t i = 0; i < kQueues; ++i) ASSERT_TRUE(signals[i].wait(steps[i], 20s).ok());
  EXPECT_EQ(early.load(), 0);
}

}  // namespace
}  // namespace halyard::hcq
