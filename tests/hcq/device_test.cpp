// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/cpu/hcq_device.h"
#include "drivers/cpu/ring_group.h"
#include "halyard/hcq/allocator.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/graph.h"
#include "halyard/hcq/queue.h"
#include "hcq/command_list.h"
#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kEndOf32Bits = std::uint64_t{1} << 32;

std::unique_ptr<cpu::HcqDevice> narrow_device(std::uint64_t limit, std::uint64_t start = 0) {
  return cpu::HcqDevice::create(
             1, {.signal_bits = 32, .timeline_limit = limit, .timeline_start = start})
      .value();
}

// wait(last) -> increment -> signal(next).
Status submit_increment(Device& device, std::uint64_t& counter) {
  static const Program program =
      cpu_program(&increment, {.name = "increment", .buffer_count = 1}).value();
  TimelineTurn turn(device);
  ComputeQueue q;
  q.wait(turn.last())
      .exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1})
      .signal(turn.next());
  Status status = q.submit(device);
  if (status.ok()) turn.commit();
  return status;
}

TEST(HcqDevice, OpenCpuWithoutANumberHasAWorkerForEachCore) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  const std::unique_ptr<Device> device = open_cpu().value();
  EXPECT_EQ(threads() - before, cpu::core_count());
}

TEST(HcqDevice, OpenCpuTakesUpTo256Workers) {
  EXPECT_TRUE(open_cpu(256).ok());
  const Status refused = open_cpu(257).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "cpu: 257 workers, at most 256 are possible");
}

TEST(HcqDevice, SubmissionBeyond32BitsIsRefusedWhereHardwareHasNoMore) {
  auto device = narrow_device(cpu::HcqDeviceOptions::kNever, kEndOf32Bits - 20);
  std::uint64_t counter = 0;
  Status status;
  while (counter < 40 && (status = submit_increment(*device, counter)).ok()) {
    ASSERT_TRUE(device->synchronize().ok());
  }
  EXPECT_EQ(counter, 19u);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("signal of 4294967296 is beyond"), std::string_view::npos)
      << status.message();
  const Signal signal = device->create_signal().value();
  ComputeQueue q;
  EXPECT_EQ(q.wait(signal, kEndOf32Bits).submit(*device).code(), StatusCode::kOutOfRange);
}

TEST(HcqDevice, TimelineGoesOnWithAnotherSignalBefore32BitsEnd) {
  auto device = narrow_device(kEndOf32Bits - 1, kEndOf32Bits - 20);
  std::uint64_t counter = 0;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    ASSERT_TRUE(submit_increment(*device, counter).ok());
    ASSERT_TRUE(device->synchronize().ok());
    ASSERT_EQ(counter, i);
  }
  EXPECT_EQ(device->timeline_value(), 22u);
}

TEST(HcqDevice, SubmissionsWithoutATurnGoOnAcrossTwoChangesOfTheSignal) {
  auto device = narrow_device(15);
  const Program program = cpu_program(&increment, {.name = "increment", .buffer_count = 1}).value();
  std::uint64_t counter = 0;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    ComputeQueue q;
    q.wait(device->last_timeline())
        .exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1})
        .signal(device->next_timeline());
    ASSERT_TRUE(q.submit(*device).ok());
    ASSERT_TRUE(device->synchronize().ok());
    ASSERT_EQ(counter, i);
  }
  EXPECT_EQ(device->timeline_value(), 11u);
}

TEST(HcqDevice, WorkIsOrderedAcrossChangesOfTheSignalWithoutSynchronising) {
  auto device = narrow_device(3);
  const Signal gate = device->create_signal().value();
  ComputeQueue first;
  ASSERT_TRUE(first.wait(gate, 1).signal(device->next_timeline()).submit(*device).ok());
  // Alternating queues: only the timeline orders these copies.
  std::uint64_t cells[41] = {42};
  for (int i = 0; i < 40; ++i) {
    TimelineTurn turn(*device);
    CopyQueue copy;
    ComputeQueue pass_on;
    if (i % 2 == 0) {
      copy.wait(turn.last()).copy(Buffer(&cells[i + 1], 8), Buffer(&cells[i], 8), 8);
      ASSERT_TRUE(copy.signal(turn.next()).submit(*device).ok());
    } else {
      static const Program move = cpu_program(
                                      +[](const Workgroup*, void* const* buffers, const void*) {
                                        auto* cell = static_cast<std::uint64_t*>(buffers[0]);
                                        cell[1] = cell[0];
                                      },
                                      {.name = "move", .buffer_count = 1})
                                      .value();
      pass_on.wait(turn.last())
          .exec(move, move.fill_kernargs({Buffer(&cells[i], 16)}), {1, 1, 1}, {1, 1, 1})
          .signal(turn.next());
      ASSERT_TRUE(pass_on.submit(*device).ok());
    }
    turn.commit();
  }
  gate.set(1);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(cells[40], 42u);
}

TEST(HcqDevice, PointsKeptAcrossManyChangesOfTheSignalStayTrue) {
  auto device = narrow_device(4);
  const Signal gate = device->create_signal().value();
  std::uint64_t counter = 0;
  ASSERT_TRUE(submit_increment(*device, counter).ok());
  const Point reached = device->last_timeline();
  ASSERT_TRUE(reached.wait().ok());
  ComputeQueue blocked;
  ASSERT_TRUE(blocked.wait(gate, 1).submit(*device).ok());
  ASSERT_TRUE(submit_increment(*device, counter).ok());
  const Point open = device->last_timeline();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(submit_increment(*device, counter).ok());
  EXPECT_TRUE(reached.reached());
  EXPECT_FALSE(open.reached());
  EXPECT_EQ(open.wait(1ms).code(), StatusCode::kDeadlineExceeded);
  gate.set(1);
  EXPECT_TRUE(open.wait().ok());
  ASSERT_TRUE(device->synchronize().ok());
  // A queue can also wait for them, after all those changes.
  ComputeQueue q;
  q.wait(reached).wait(open).signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  EXPECT_TRUE(device->synchronize().ok());
}

TEST(HcqDevice, EachThreadTakesPointsOfItsOwnAcrossChangesOfTheSignal) {
  auto device = narrow_device(7);
  constexpr int kThreads = 4, kEach = 500;
  std::vector<Point> points[kThreads];
  std::vector<std::thread> threads;
  for (auto& mine : points) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) mine.push_back(device->next_timeline());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::pair<SignalObject*, std::uint64_t>> all;
  for (const auto& mine : points) {
    for (const Point& point : mine) all.emplace_back(point.signal.object(), point.value);
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  for (const auto& [signal, value] : all) ASSERT_TRUE(value >= 1 && value <= 7);
}

TEST(HcqDevice, ThreadsSubmitInTurnAcrossChangesOfTheSignal) {
  auto device = narrow_device(5);
  constexpr int kThreads = 4, kEach = 200;
  std::uint64_t counter = 0;  // plain: only the timeline orders the increments
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        ASSERT_TRUE(submit_increment(*device, counter).ok());
        if (i % 16 == 0) {
          ASSERT_TRUE(device->synchronize().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(counter, std::uint64_t{kThreads * kEach});
}

TEST(HcqDevice, WideTimelineKeepsItsSignal) {
  auto device = cpu::HcqDevice::create(1, {.timeline_start = kEndOf32Bits - 20}).value();
  const Signal first = device->timeline_signal();
  std::uint64_t counter = 0;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(submit_increment(*device, counter).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(device->timeline_signal(), first);
  EXPECT_EQ(first, device->last_timeline().signal);
  EXPECT_EQ(device->timeline_value(), kEndOf32Bits + 21);
}

TEST(HcqDevice, NarrowTimelineChangesItsSignalAtHalfOf32Bits) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
  auto device = cpu::HcqDevice::create(0, {.signal_bits = 32, .timeline_start = kHalf - 1}).value();
  EXPECT_EQ(device->next_timeline().value, kHalf);
  const Point next = device->next_timeline();
  EXPECT_EQ(next.value, 1u);
  EXPECT_EQ(next.signal.value(), 0u);
}

TEST(HcqDevice, RefusedSubmissionInATurnTakesNoPoint) {
  auto device =
      cpu::HcqDevice::create(
          0, {.limits = {.ring_packets = 4, .kernargs_bytes = 1 << 14, .backlog_packets = 3}})
          .value();
  const Signal gate = device->create_signal().value();
  ComputeQueue blocked;
  ASSERT_TRUE(blocked.wait(gate, 1).submit(*device).ok());
  std::uint64_t counter = 0;
  ASSERT_TRUE(submit_increment(*device, counter).ok());
  ASSERT_TRUE(submit_increment(*device, counter).ok());
  EXPECT_EQ(submit_increment(*device, counter).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(device->timeline_value(), 3u);
  gate.set(1);
  drain(device->group());
  EXPECT_TRUE(device->synchronize(kNow).ok());
  ASSERT_TRUE(submit_increment(*device, counter).ok());
  drain(device->group());
  EXPECT_TRUE(device->synchronize(kNow).ok());
  EXPECT_EQ(counter, 3u);
}

// ---- Traits.

TEST(HcqDevice, CopiesRunOnTheComputeQueueIfThereIsNoOther) {
  auto device = cpu::HcqDevice::create(0, {.has_copy_queue = false}).value();
  const Signal gate = device->create_signal().value(), done = device->create_signal().value();
  std::uint64_t source = 5, target = 0;
  CopyQueue copies;
  copies.copy(Buffer(&target, 8), Buffer(&source, 8), 8).signal(done, 1);
  ASSERT_TRUE(ComputeQueue().wait(gate, 1).submit(*device).ok());
  ASSERT_TRUE(copies.submit(*device).ok());
  drain(device->group());
  EXPECT_EQ(done.value(), 0u) << "behind what was submitted to the other queue before";
  gate.set(1);
  drain(device->group());
  EXPECT_EQ(done.value(), 1u);
  EXPECT_EQ(target, 5u);
}

TEST(HcqDevice, AllocatorsAndGraphsNeedNoCopyQueue) {
  auto device = cpu::HcqDevice::create(2, {.has_copy_queue = false}).value();
  Allocator allocator = Allocator::create(*device, {.batch_size = 4096, .batch_count = 2}).value();
  std::vector<std::uint64_t> values(2000), read(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 3 * i;
  const std::uint64_t bytes = 8 * values.size();
  const Memory a = allocator.allocate(bytes).value(), b = allocator.allocate(bytes).value();
  ASSERT_TRUE(allocator.copy_in(a.buffer(), values.data(), bytes).ok());
  const Program program = increment_program();
  GraphRecorder recorder;
  const GraphBuffer x(a.buffer()), y(b.buffer());
  recorder.exec(*device, program, {x}, {}, {1, 1, 1})
      .copy(*device, y, x, bytes)
      .exec(*device, program, {y}, {}, {1, 1, 1});
  Graph graph = recorder.finish().value();
  EXPECT_EQ(graph.statistics().queues, 1u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(graph.replay({}, 20s).ok());
  ASSERT_TRUE(allocator.copy_out(read.data(), b.buffer(), bytes, 20s).ok());
  values[0] = 4;
  EXPECT_EQ(read, values);
}

TEST(HcqDevice, RefusesProgramsAndWordsOfOtherHardware) {
  class OtherImage final : public KernelImage {
   public:
    OtherImage() noexcept : KernelImage("other") {}
  };
  auto device = cpu::HcqDevice::create(0).value();
  const Program other(Ref<ProgramObject>::adopt(
      new ProgramObject(Ref<KernelImage>::adopt(new OtherImage), {.name = "o"})));
  ComputeQueue q;
  q.exec(other, other.fill_kernargs({}), {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(q.submit(*device).message(), "queue: its kernels are for other, the device is for cpu");
  EXPECT_EQ(q.bind(*device).code(), StatusCode::kInvalidArgument);
  std::uint64_t counter = 0;
  const Program program = increment_program();
  ComputeQueue both;
  both.exec(program, program.fill_kernargs({Buffer(&counter, 8)}), {1, 1, 1}, {1, 1, 1});
  both.exec(other, other.fill_kernargs({}), {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(both.submit(*device).message(), "queue: 'o' is for other, an earlier kernel for cpu");
  const std::uint32_t words[] = {1, 2};
  EXPECT_EQ(ComputeQueue().raw(words).submit(*device).code(), StatusCode::kUnimplemented);
  EXPECT_EQ(cpu_program(&increment, {.name = "i", .max_local_size = 8}).status().message(),
            "program 'i': a kernel for the CPU has one local size");
  drain(device->group());
  EXPECT_EQ(counter, 0u);
}

}  // namespace
}  // namespace halyard::hcq
