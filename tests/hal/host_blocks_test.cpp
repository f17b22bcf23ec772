// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that a device copies only from memory of its driver: the blocks, and updates that use them.
#include "hal/memory/host_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/failing_calls.h"
#include "hal/fake_driver.h"

namespace halyard::hal {
namespace {

using testing::FakeMemory;

struct Blocks {
  HostBlock allocate(std::uint64_t size) {
    if (HostBlock block = blocks->take(size)) return block;
    return blocks->add(chunk(size), size).value();
  }
  Ref<Memory> chunk(std::uint64_t size) {
    return Ref<FakeMemory>::adopt(
        new FakeMemory(control, HostBlocks::chunk_size(size), MemoryType::kHostLocal, nullptr));
  }
  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  Ref<HostBlocks> blocks = Ref<HostBlocks>::adopt(new HostBlocks);
};

TEST(HostBlocks, GiveTheBytesAskedForInTheirMemory) {
  Blocks b;
  for (const std::uint64_t size : {1u, 256u, 257u, 65536u, 65537u, 262144u, 20u << 20}) {
    const HostBlock block = b.allocate(size);
    ASSERT_TRUE(block) << size;
    EXPECT_GE(block.size(), size);
    EXPECT_LE(block.offset() + block.size(), block.memory().size()) << size;
    EXPECT_EQ(block.data(), block.memory().host_pointer() + block.offset());
    EXPECT_EQ(block.offset() % 16, 0u);
    std::memset(block.data(), 0xab, size);  // for the address sanitizer
  }
}

TEST(HostBlocks, OfOneChunkAreDistinctAndFillIt) {
  Blocks b;
  std::vector<HostBlock> all;
  std::set<std::uint64_t> offsets;
  constexpr std::uint64_t kCount = HostBlocks::kChunk / 1024;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    all.push_back(b.allocate(1000));
    EXPECT_TRUE(offsets.insert(all.back().offset()).second);
  }
  EXPECT_EQ(b.control->live_memories, 1);
  all.push_back(b.allocate(1000));
  EXPECT_EQ(b.control->live_memories, 2);
}

TEST(HostBlocks, AreUsedAgainWhateverTheirSize) {
  for (const std::uint64_t size : {100u, 60'000u, 300'000u, 16u << 20}) {
    Blocks b;
    const std::byte* const first = b.allocate(size).data();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(b.allocate(size).data(), first) << size;
    EXPECT_EQ(b.control->live_memories, 1) << size;
  }
}

TEST(HostBlocks, LargerThanAnyClassAreFreedAsTheyComeBack) {
  Blocks b;
  {
    const HostBlock block = b.allocate(HostBlocks::kLargest + 1);
    EXPECT_EQ(block.size(), HostBlocks::kLargest + 1);
  }
  EXPECT_EQ(b.control->live_memories, 0);
}

TEST(HostBlocks, KeepsAtMostSoManyFreeBytesOfALargeClass) {
  Blocks b;
  {
    std::vector<HostBlock> all;
    for (int i = 0; i < 6; ++i) all.push_back(b.allocate(HostBlocks::kLargest));
    EXPECT_EQ(b.control->live_memories, 6);
  }
  EXPECT_EQ(b.control->live_memories,
            static_cast<int>(HostBlocks::kMaxFreeBytes / HostBlocks::kLargest));
}

TEST(HostBlocks, InUseOutliveTheirDevice) {
  Blocks b;
  {
    const HostBlock small = b.allocate(10), large = b.allocate(1 << 20);
    b.blocks = {};
    EXPECT_EQ(b.control->live_memories, 2);
    std::memset(small.data(), 1, 10);
    std::memset(large.data(), 1, 1 << 20);
  }
  EXPECT_EQ(b.control->live_memories, 0);
}

TEST(HostBlocks, WithoutMemoryToKeepThemTheChunkIsFreed) {
  Blocks b;
  Ref<Memory> chunk = b.chunk(1);
  const halyard::testing::FailingCalls failing("array.resize");
  EXPECT_EQ(b.blocks->add(std::move(chunk), 1).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(b.control->live_memories, 0);
}

TEST(HostBlocks, AreSafeFromSeveralThreads) {
  Blocks b;
  const auto work = [&](int fill) {
    for (int i = 0; i < 2000; ++i) {
      HostBlock block = b.allocate(static_cast<std::uint64_t>(i) * 200 + 1);
      std::memset(block.data(), fill, 64);
      EXPECT_EQ(block.data()[63], static_cast<std::byte>(fill));
    }
  };
  std::thread other(work, 2);
  work(1);
  other.join();
}

// --- updates ------------------------------------------------------------------------------------

class HostBlockUpdates : public ::testing::Test {
 protected:
  HostBlockUpdates() {
    control->needs_host_blocks = true;
    check(registry.add(std::make_unique<testing::FakeDriver>(control)));
    device = registry.open("fake://").value();
    target = device.allocate({.size = 8192, .memory = MemoryType::kHostVisible}).value();
  }
  std::byte first_byte() { return target.map().value().bytes()[0]; }

  std::shared_ptr<testing::Control> control = std::make_shared<testing::Control>();
  DriverRegistry registry;
  Device device;
  Buffer target;
};

// The fake device reads only its own memory.
TEST_F(HostBlockUpdates, OfAQueueNameTheMemoryOfTheirBytes) {
  const std::vector<std::byte> early(5000, std::byte{7}), late(5000, std::byte{8});
  const Semaphore s = device.create_semaphore().value();
  check(device.queue().update(target, 0, late, {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  check(device.queue().update(target, 0, early, {}));
  check(device.queue().flush());
  EXPECT_EQ(first_byte(), std::byte{7});
  check(s.signal(1));
  check(s.wait(2));
  EXPECT_EQ(first_byte(), std::byte{8});
  EXPECT_EQ(control->updates_from_driver_memory, 2);
}

TEST_F(HostBlockUpdates, OfARecordingShareBlocksAndKeepTheirBytes) {
  constexpr std::size_t kCount = 200, kBytes = 40;
  std::vector<std::byte> bytes(kBytes);
  Recorder recorder(device);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::ranges::fill(bytes, static_cast<std::byte>(i));
    recorder.update(target.subspan(i * kBytes, kBytes).value(), bytes);
  }
  const int before = control->live_memories;
  const CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(control->live_memories, before);
  for (int round = 0; round < 2; ++round) check(device.queue().execute(commands, ExecuteInfo{}));
  const Mapping mapping = target.map().value();
  for (std::size_t at = 0; at < kCount * kBytes; ++at) {
    ASSERT_EQ(mapping.bytes()[at], static_cast<std::byte>(at / kBytes)) << at;
  }
  EXPECT_EQ(control->updates_from_driver_memory, 2 * static_cast<int>(kCount));
}

TEST_F(HostBlockUpdates, AllocateNothingInTheSteadyState) {
  const std::vector<std::byte> bytes(5000);
  check(device.queue().update(target, 0, bytes, {}));
  check(device.queue().wait_idle());
  const int before = control->live_memories;
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "no more");
  for (int i = 0; i < 100; ++i) {
    check(device.queue().update(target, 0, bytes, {}));
    check(device.queue().wait_idle());
  }
  EXPECT_EQ(control->live_memories, before);
}

TEST_F(HostBlockUpdates, OfNoBytesNeedNoBlock) {
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "no more");
  check(device.queue().update(target.subspan(0, 0).value(), 0, {}, {}));
}

TEST_F(HostBlockUpdates, WithoutABlockAreRefusedWithTheDriversError) {
  const std::vector<std::byte> bytes(100);
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "no more");
  const Status status = device.queue().update(target, 0, bytes, {});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("update"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("no more"), std::string::npos) << status.message();
  Recorder recorder(device);
  recorder.update(target.subspan(0, 100).value(), bytes);
  EXPECT_EQ(recorder.finish().status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace halyard::hal
