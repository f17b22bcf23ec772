// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of a submission: no allocation, and no system call while a worker is awake.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "cpu_test_util.h"
#include "drivers/cpu/ring_group.h"
#include "halyard/hcq/allocator.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/graph.h"

namespace {
std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void* counted(std::size_t size, std::align_val_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto align = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(align, (size + align - 1) / align * align);
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(std::size_t size, std::align_val_t align) { return counted(size, align); }
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return counted(size, align);
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }

namespace halyard::cpu {
namespace {

TEST(CpuCounts, IssueHelpAndPollAllocateNothing) {
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  auto& other = lane_of(*device);
  hal::Operation barrier;
  const timeline::Edge edge{&other, 0};
  const std::uint64_t before = allocations.load();
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const timeline::Issue issue{
        .waits = {&edge, 1}, .operation = &barrier, .sequence = i, .want_marker = false};
    ASSERT_EQ(lane.issue({&issue, 1}, timeline::Doorbell::kRing).count, 1u);
    ASSERT_TRUE(lane.help(i));
    ASSERT_EQ(lane.poll().sequence, i);
  }
  EXPECT_EQ(allocations.load() - before, 0u);
  EXPECT_EQ(device->group().wakes(), 0u);
}

TEST(CpuCounts, ArmAllocatesOnlyForANotifyItHasNotSeen) {
  auto device = stepped_device();
  auto& lane = lane_of(*device);
  hal::Operation barrier;
  base::Parker parker;
  ASSERT_TRUE(lane.arm(1, parker).ok());
  const std::uint64_t before = allocations.load();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(lane.arm(i, parker).ok());
    ASSERT_EQ(issue(lane, barrier, i).count, 1u);
    help_all(lane);
  }
  EXPECT_EQ(allocations.load() - before, 0u);
}

// A worker that does not return from its kernel is awake.
TEST(CpuCounts, IssueToAnAwakeWorkerMakesNoSystemCall) {
  auto device = device_with(1);
  auto& lane = lane_of(*device);
  static std::atomic<bool> running, finish;
  running = finish = false;
  auto ring = cpu::Ring::create(device->group(), nullptr, 2).value();
  const cpu::CustomFunction busy = [](cpu::Ring&, const std::uint64_t*, cpu::Slice&) {
    running = true;
    while (!finish) base::spin_pause();
    return cpu::Outcome::kDone;
  };
  ring->push(cpu::PacketKind::kCustom, 0, reinterpret_cast<std::uintptr_t>(busy));
  device->group().bell(*ring);
  while (!running) base::spin_pause();
  hal::Operation barrier;
  const std::uint64_t wakes = device->group().wakes();
  const std::uint64_t before = allocations.load();
  for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_EQ(issue(lane, barrier, i).count, 1u);
  EXPECT_EQ(device->group().wakes() - wakes, 0u);
  EXPECT_EQ(allocations.load() - before, 0u);
  finish = true;
  while (lane.poll().sequence < 100) base::spin_pause();
  device->close();
}

TEST(CpuCounts, BurstToASleepingWorkerMakesOneSystemCallAtMost) {
  auto device = device_with(1);
  auto& lane = lane_of(*device);
  hal::Operation barrier;
  std::vector<timeline::Issue> batch(64);
  for (std::uint64_t i = 0; i < 64; ++i) batch[i] = {{}, &barrier, i + 1, false};
  EXPECT_EQ(lane.issue(batch, timeline::Doorbell::kRing).count, 64u);
  while (lane.poll().sequence < 64) base::spin_pause();
  EXPECT_LE(device->group().wakes(), 1u);
}

TEST(CpuCounts, HcqAllocatorAllocatesNothingForMemoryItHas) {
  auto device = hcq::open_cpu(1).value();
  hcq::Allocator allocator = hcq::Allocator::create(*device).value();
  {
    const hcq::Memory first = allocator.allocate(1000).value();
  }
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 1000; ++i) {
    const hcq::Memory memory = allocator.allocate(1000).value();
    ASSERT_TRUE(memory);
  }
  EXPECT_EQ(allocations.load() - before, 0u);
}

// The first wait that sleeps allocates objects that all later waits reuse.
void sleep_once(const hcq::Device& device) {
  const hcq::Signal never = device.create_signal().value();
  ASSERT_EQ(never.wait(1, std::chrono::milliseconds(1)).code(), StatusCode::kDeadlineExceeded);
}

// The list has three commands and grows twice.
TEST(CpuCounts, HcqCopyAllocatesOnlyItsCommands) {
  auto device = hcq::open_cpu(1).value();
  hcq::Allocator allocator = hcq::Allocator::create(*device, {.batch_count = 2}).value();
  const hcq::Memory memory = allocator.allocate(1000).value();
  char bytes[1000] = {};
  const auto copy_both_ways = [&] {
    ASSERT_TRUE(allocator.copy_in(memory.buffer(), bytes, sizeof bytes).ok());
    ASSERT_TRUE(allocator.copy_out(bytes, memory.buffer(), sizeof bytes).ok());
  };
  copy_both_ways();
  sleep_once(*device);
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 100; ++i) copy_both_ways();
  EXPECT_LE(allocations.load() - before, 200u * 4);
}

// Whatever changes between replays: addresses, sizes, signals.
TEST(CpuCounts, HcqReplayAllocatesNothing) {
  auto first = hcq::open_cpu(1).value(), second = hcq::open_cpu(1).value();
  const hcq::Program program = hcq::cpu_program([](const Workgroup*, void* const*, const void*) {},
                                                {.name = "nothing", .buffer_count = 1})
                                   .value();
  std::uint64_t x[2] = {}, y = 0;
  hcq::GraphRecorder recorder;
  const hcq::GraphBuffer input = recorder.add_input(8);
  const hcq::Symbol size = recorder.add_value(1);
  recorder.exec(*first, program, {input}, {}, {size, 1, 1})
      .copy(*second, hcq::GraphBuffer(hcq::Buffer(&y, 8)), input, 8);
  hcq::Graph graph = recorder.finish().value();
  const auto replay = [&](std::uint64_t i) {
    const hcq::Buffer inputs[] = {hcq::Buffer(&x[i % 2], 8)};
    graph.set(size, 1 + i % 3);
    ASSERT_TRUE(graph.replay(inputs).ok());
    ASSERT_TRUE(graph.wait().ok());
  };
  for (std::uint64_t i = 0; i < 10; ++i) replay(i);
  sleep_once(*first);
  const std::uint64_t before = allocations.load();
  for (std::uint64_t i = 0; i < 100; ++i) replay(i);
  EXPECT_EQ(allocations.load() - before, 0u);
}

TEST(CpuCounts, AGraphOfCommandsRunsWithoutAnAllocation) {
  constexpr std::uint64_t kFills = 1000;
  auto device = device_with(2);
  auto& lane = lane_of(*device);
  const Ref<hal::Memory> memory = allocate(*device, 4 * kFills);
  std::vector<hal::Command> commands;
  for (std::uint64_t i = 0; i < kFills; ++i) {
    commands.push_back(fill({{memory.get(), 4 * i, 4}}, 7));
  }
  const auto native = device->prepare({.commands = commands}).value();
  hal::Operation operation;
  operation.kind = hal::OperationKind::kExecute;
  operation.native = native.get();
  const std::uint64_t before = allocations.load();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(issue(lane, operation, i).count, 1u);
    while (lane.poll().sequence < i) lane.help(i);
  }
  EXPECT_EQ(allocations.load() - before, 0u);
}

}  // namespace
}  // namespace halyard::cpu
