// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/hcq/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

#include "drivers/cpu/hcq_device.h"
#include "halyard/hcq/cpu.h"
#include "halyard/hcq/queue.h"
#include "hcq_test_util.h"

namespace halyard::hcq {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Every byte differs from its neighbour and from the same byte of another batch.
std::vector<std::uint8_t> pattern(std::uint64_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 7 + (i >> 10) * 31);
  }
  return bytes;
}

// Blocks both queues of a device, and its timeline.
class Gate {
 public:
  explicit Gate(Device& device) : signal_(device.create_signal().value()) {
    ComputeQueue compute;
    TimelineTurn turn(device);
    check(compute.wait(signal_, 1).signal(turn.next()).submit(device));
    turn.commit();
  }
  ~Gate() { open(); }
  void open() { signal_.set(1); }

 private:
  Signal signal_;
};

TEST(HcqAllocator, CopiesOddSizesBothWaysThroughFewSlots) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device, {.batch_size = kMiB, .batch_count = 4}).value();
  const auto data = pattern(5 * kMiB + 123);
  const Memory memory = allocator.allocate(data.size()).value();
  ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), data.size()).ok());
  std::vector<std::uint8_t> back(data.size());
  ASSERT_TRUE(allocator.copy_out(back.data(), memory.buffer(), back.size()).ok());
  EXPECT_TRUE(back == data);
}

TEST(HcqAllocator, OneThatWasMovedFromSaysSo) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device, {.batch_size = 4096, .batch_count = 1}).value();
  const Memory memory = allocator.allocate(64).value();
  const Allocator other = std::move(allocator);
  std::uint64_t word = 0;
  for (const Status& status : {allocator.allocate(64).status(),
                               allocator.copy_in(memory.buffer(), &word, sizeof word),
                               allocator.copy_out(&word, memory.buffer(), sizeof word)}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), "allocator: it was moved from");
  }
  EXPECT_EQ(allocator.trim(), 0u);
  EXPECT_EQ(allocator.statistics().in_use, 0u);
}

TEST(HcqAllocator, Copies64MiB) {
  auto device = open_cpu(2).value();
  Allocator allocator = Allocator::create(*device).value();
  const auto data = pattern(64 * kMiB);
  const Memory memory = allocator.allocate(data.size()).value();
  ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), data.size()).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_TRUE(std::equal(data.begin(), data.end(),
                         static_cast<const std::uint8_t*>(memory.buffer().pointer())));
}

TEST(HcqAllocator, SourceMayBeRewrittenAtOnce) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device).value();
  const Memory memory = allocator.allocate(256).value();
  for (unsigned i = 0; i < 256; ++i) {
    auto byte = static_cast<std::uint8_t>(i);
    const Buffer target(memory.buffer().va_addr + i, 1);
    ASSERT_TRUE(allocator.copy_in(target, &byte, 1).ok());
    byte = 0xee;
  }
  std::uint8_t back[256];
  ASSERT_TRUE(allocator.copy_out(back, memory.buffer(), 256).ok());
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(back[i], i);
}

TEST(HcqAllocator, CopiesOfOneQueueAreOrdered) {
  auto device = open_cpu(2).value();
  Allocator allocator = Allocator::create(*device).value();
  const auto data = pattern(3 * kMiB);
  const Memory a = allocator.allocate(data.size()).value();
  const Memory b = allocator.allocate(data.size()).value();
  const Memory c = allocator.allocate(data.size()).value();
  ASSERT_TRUE(allocator.copy_in(a.buffer(), data.data(), data.size()).ok());
  CopyQueue q;
  q.wait(device->last_timeline())
      .copy(b.buffer(), a.buffer(), data.size())
      .copy(c.buffer(), b.buffer(), data.size())
      .signal(device->next_timeline());
  ASSERT_TRUE(q.submit(*device).ok());
  std::vector<std::uint8_t> back(data.size());
  ASSERT_TRUE(allocator.copy_out(back.data(), c.buffer(), back.size()).ok());
  EXPECT_TRUE(back == data);
}

TEST(HcqAllocator, TransfersAcrossDevicesAreOrdered) {
  std::unique_ptr<Device> devices[3];
  std::vector<Allocator> allocators;
  std::vector<Memory> memory;
  const auto data = pattern(3 * kMiB);
  for (auto& device : devices) {
    device = open_cpu(1).value();
    allocators.push_back(Allocator::create(*device).value());
    memory.push_back(allocators.back().allocate(data.size()).value());
  }
  const auto& [a, b, c] = devices;
  Gate gate(*a);
  ASSERT_TRUE(allocators[0].copy_in(memory[0].buffer(), data.data(), data.size()).ok());
  ASSERT_TRUE(
      Allocator::transfer(memory[1].buffer(), *b, memory[0].buffer(), *a, data.size()).ok());
  ASSERT_TRUE(
      Allocator::transfer(memory[2].buffer(), *c, memory[1].buffer(), *b, data.size()).ok());
  EXPECT_EQ(c->synchronize(1ms).code(), StatusCode::kDeadlineExceeded);
  gate.open();
  std::vector<std::uint8_t> back(data.size());
  ASSERT_TRUE(allocators[2].copy_out(back.data(), memory[2].buffer(), back.size()).ok());
  EXPECT_TRUE(back == data);
}

TEST(HcqAllocator, ThreadsTransferInBothDirectionsAtOnce) {
  std::unique_ptr<Device> devices[2] = {open_cpu(1).value(), open_cpu(1).value()};
  std::uint64_t cells[2] = {1, 2};
  const auto send = [&](int from) {
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(Allocator::transfer(Buffer(&cells[1 - from], 8), *devices[1 - from],
                                      Buffer(&cells[from], 8), *devices[from], 8)
                      .ok());
    }
  };
  std::thread other(send, 1);
  send(0);
  other.join();
  EXPECT_TRUE(devices[0]->synchronize().ok());
  EXPECT_TRUE(devices[1]->synchronize().ok());
  EXPECT_EQ(cells[0], cells[1]);
}

TEST(HcqAllocator, TransferToUnreachableMemoryIsUnimplemented) {
  auto a = open_cpu(1).value();
  const int elsewhere = 0;
  auto b = cpu::HcqDevice::create(0, {.peer_group = &elsewhere}).value();
  std::uint64_t x = 1, y = 2;
  const Status status = Allocator::transfer(Buffer(&y, 8), *b, Buffer(&x, 8), *a, 8);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(a->timeline_value(), 1u);
  EXPECT_EQ(b->timeline_value(), 1u);
}

TEST(HcqAllocator, CopyInToABlockedDeviceWaitsOnlyOnceAllSlotsAreUsed) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device, {.batch_size = 100, .batch_count = 4}).value();
  const auto data = pattern(500);
  const Memory memory = allocator.allocate(500).value();
  Gate gate(*device);
  ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), 400, kNow).ok());
  const Status status = allocator.copy_in(memory.buffer(), data.data(), 500, 1ms);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("copy_in of 500 bytes ended after 0"), std::string_view::npos)
      << status.message();
  gate.open();
  ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), 500).ok());
  std::vector<std::uint8_t> back(500);
  ASSERT_TRUE(allocator.copy_out(back.data(), memory.buffer(), 500).ok());
  EXPECT_EQ(back, data);
}

TEST(HcqAllocator, CopyOutOfABlockedDeviceQueuesAheadAndEndsAtItsDeadline) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device, {.batch_size = 100, .batch_count = 4}).value();
  const auto data = pattern(900);
  const Memory memory = allocator.allocate(900).value();
  ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), 900).ok());
  ASSERT_TRUE(device->synchronize().ok());  // all slots are free
  std::vector<std::uint8_t> back(900);
  {
    Gate gate(*device);
    const std::uint64_t before = device->timeline_value();
    EXPECT_EQ(allocator.copy_out(back.data(), memory.buffer(), 900, 1ms).code(),
              StatusCode::kDeadlineExceeded);
    EXPECT_EQ(device->timeline_value() - before, 4u);  // queued ahead, one per slot
  }
  ASSERT_TRUE(allocator.copy_out(back.data(), memory.buffer(), 900).ok());
  EXPECT_EQ(back, data);
}

TEST(HcqAllocator, CopiesRefusedByAFullBacklogLoseNoPointAndNoSlot) {
  auto device =
      cpu::HcqDevice::create(
          0, {.limits = {.ring_packets = 4, .kernargs_bytes = 1 << 14, .backlog_packets = 6}})
          .value();
  Allocator allocator = Allocator::create(*device, {.batch_size = 8, .batch_count = 8}).value();
  const Memory memory = allocator.allocate(64).value();
  const auto data = pattern(64);
  const Signal gate = device->create_signal().value();
  CopyQueue blocked;
  ASSERT_TRUE(blocked.wait(gate, 1).submit(*device).ok());
  // One copy goes to the ring, two to the backlog. More attempts than slots are refused.
  std::uint8_t byte = 0;
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(allocator.copy_in(memory.buffer(), data.data(), 64, kNow).code(),
              StatusCode::kResourceExhausted);
    EXPECT_EQ(allocator.copy_out(&byte, memory.buffer(), 1, kNow).code(),
              StatusCode::kResourceExhausted);
  }
  auto other = cpu::HcqDevice::create(0).value();
  EXPECT_EQ(Allocator::transfer(memory.buffer(), *other, memory.buffer(), *device, 8).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(device->timeline_value(), 4u);
  EXPECT_EQ(other->timeline_value(), 1u);
  gate.set(1);
  drain(device->group());
  ASSERT_TRUE(device->synchronize(kNow).ok());
  EXPECT_TRUE(std::equal(data.begin(), data.begin() + 24,
                         static_cast<const std::uint8_t*>(memory.buffer().pointer())));
}

TEST(HcqAllocator, ThreadsShareTheSlots) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device, {.batch_size = 64, .batch_count = 3}).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto data = pattern(1000);
      for (int i = 0; i < 30; ++i) {
        data[500] = static_cast<std::uint8_t>(t * 30 + i);
        const Memory memory = allocator.allocate(1000).value();
        ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), 1000).ok());
        std::vector<std::uint8_t> back(1000);
        ASSERT_TRUE(allocator.copy_out(back.data(), memory.buffer(), 1000).ok());
        ASSERT_EQ(back, data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HcqAllocator, FreedMemoryIsHandedOutAgainOldestFirst) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device).value();
  Memory a = allocator.allocate(1000).value(), b = allocator.allocate(1000).value();
  const std::uint64_t first = a.buffer().va_addr, second = b.buffer().va_addr;
  a = Memory();
  b = Memory();
  const Memory c = allocator.allocate(1000).value(), d = allocator.allocate(990).value();
  EXPECT_EQ(c.buffer().va_addr, first);
  EXPECT_EQ(d.buffer().va_addr, second);
  EXPECT_EQ(d.buffer().size, 990u);
}

TEST(HcqAllocator, MemoryFreedInFlightWaitsForItsWork) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device).value();
  std::uint64_t freed;
  Gate gate(*device);
  {
    const Memory memory = allocator.allocate(4096).value();
    freed = memory.buffer().va_addr;
  }
  EXPECT_NE(allocator.allocate(4096).value().buffer().va_addr, freed);
  gate.open();
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(allocator.allocate(4096).value().buffer().va_addr, freed);
}

TEST(HcqAllocator, SizesAreRoundedUpByAtMostAnEighth) {
  auto device = open_cpu(1).value();
  Allocator allocator = Allocator::create(*device).value();
  const auto taken = [&](std::uint64_t size) {
    const Memory memory = allocator.allocate(size).value();
    EXPECT_EQ(memory.buffer().size, size);
    return allocator.statistics().in_use;
  };
  EXPECT_EQ(taken(0), 64u);
  EXPECT_EQ(taken(64), 64u);
  EXPECT_EQ(taken(65), 128u);
  EXPECT_EQ(taken(512), 512u);
  EXPECT_EQ(taken(513), 576u);
  EXPECT_EQ(taken(1024), 1024u);
  EXPECT_EQ(taken(1025), 1152u);
  EXPECT_EQ(taken(kMiB), kMiB);
  for (std::uint64_t size = 512; size < 100'000; size += 77) {
    const std::uint64_t bytes = taken(size);
    ASSERT_TRUE(bytes >= size && bytes <= size + size / 8 + 1) << size << " takes " << bytes;
  }
}

TEST(HcqAllocator, ExhaustionGivesBackWhatIsCachedAndUnused) {
  auto device = cpu::HcqDevice::create(1, {.memory_size = 3 * kMiB}).value();
  Allocator allocator =
      Allocator::create(*device, {.batch_size = kMiB / 4, .batch_count = 4}).value();
  {
    const Memory cached = allocator.allocate(kMiB).value();
  }
  EXPECT_EQ(allocator.statistics().cached, kMiB);
  Memory large = allocator.allocate(2 * kMiB).value();
  EXPECT_EQ(allocator.statistics().cached, 0u);
  const Status status = allocator.allocate(kMiB).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("no memory for 1048576 bytes; 2097152 are in use"),
            std::string_view::npos)
      << status.message();
  // Memory in flight is not returned.
  Gate gate(*device);
  large = Memory();
  EXPECT_EQ(allocator.trim(), 0u);
  EXPECT_EQ(allocator.allocate(kMiB).status().code(), StatusCode::kResourceExhausted);
  gate.open();
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(allocator.trim(), 2 * kMiB);
  EXPECT_TRUE(allocator.allocate(kMiB).ok());
  EXPECT_EQ(allocator.allocate(~std::uint64_t{0}).status().code(), StatusCode::kResourceExhausted);
}

TEST(HcqAllocator, MemoryMayOutliveItsAllocatorAlsoInFlight) {
  auto device = cpu::HcqDevice::create(1, {.memory_size = kMiB}).value();
  const auto data = pattern(1000);
  Gate gate(*device);
  {
    Memory memory;
    {
      Allocator allocator =
          Allocator::create(*device, {.batch_size = kMiB / 8, .batch_count = 4}).value();
      memory = allocator.allocate(1000).value();
      ASSERT_TRUE(allocator.copy_in(memory.buffer(), data.data(), 1000).ok());
    }
    gate.open();
    ASSERT_TRUE(device->synchronize().ok());
    EXPECT_TRUE(std::equal(data.begin(), data.end(),
                           static_cast<const std::uint8_t*>(memory.buffer().pointer())));
  }
  // The device has all of it again.
  EXPECT_TRUE(Allocator::create(*device, {.batch_size = kMiB, .batch_count = 1}).ok());
}

TEST(HcqAllocator, DeviceFreesWhatIsAbandonedInFlight) {
  auto device = open_cpu(1).value();  // LeakSanitizer detects a leak
  const Signal never = device->create_signal().value();
  ComputeQueue blocked;
  ASSERT_TRUE(blocked.wait(never, 1).signal(device->next_timeline()).submit(*device).ok());
  Allocator allocator = Allocator::create(*device).value();
  const Memory memory = allocator.allocate(1000).value();
  std::uint64_t word = 0;
  ASSERT_TRUE(allocator.copy_in(memory.buffer(), &word, 8).ok());
}

TEST(HcqAllocator, WrongArgumentsAreErrorsThatNameThem) {
  auto device = open_cpu(1).value();
  EXPECT_EQ(Allocator::create(*device, {.batch_size = 0}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Allocator::create(*device, {.batch_count = 0}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Allocator::create(*device, {.batch_size = ~std::uint64_t{0}}).status().code(),
            StatusCode::kResourceExhausted);
  Allocator allocator = Allocator::create(*device).value();
  const Memory memory = allocator.allocate(8).value();
  std::uint8_t bytes[9] = {};
  const Status status = allocator.copy_in(memory.buffer(), bytes, 9);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("copy_in of 9 bytes, the buffer has 8"), std::string_view::npos);
  EXPECT_EQ(allocator.copy_out(bytes, memory.buffer(), 9).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(Allocator::transfer(memory.buffer(), *device, Buffer(bytes, 9), *device, 9).code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(Allocator::transfer(Buffer(bytes, 9), *device, memory.buffer(), *device, 9).code(),
            StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace halyard::hcq
