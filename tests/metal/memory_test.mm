// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the metal driver: storage modes, alignment, imports, heaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/failing_calls.h"
#include "metal/metal_test_util.h"

namespace halyard::metal {
namespace {

using hal::MemoryType;

class MetalMemory : public MetalTest, public ::testing::WithParamInterface<sim::metal::DeviceKind> {
 protected:
  void SetUp() override {
    sim::metal::Options options;
    options.devices = {GetParam()};
    begin(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Of, MetalMemory,
                         ::testing::Values(sim::metal::DeviceKind::kUnified,
                                           sim::metal::DeviceKind::kDiscrete),
                         [](const auto& which) {
                           return std::string(which.param == sim::metal::DeviceKind::kUnified
                                                  ? "AUnifiedDevice"
                                                  : "ADiscreteDevice");
                         });

TEST_P(MetalMemory, HasTheStorageModeOfItsType) {
  const auto device = native().memory(64, MemoryType::kDeviceLocal);
  EXPECT_EQ([device->buffer() storageMode], MTLStorageModePrivate);
  EXPECT_EQ(device->host_pointer(), nullptr);
  for (const MemoryType type : {MemoryType::kHostVisible, MemoryType::kHostLocal}) {
    const auto memory = native().memory(64, type);
    EXPECT_EQ([memory->buffer() storageMode], MTLStorageModeShared);
    EXPECT_EQ([memory->buffer() hazardTrackingMode], MTLHazardTrackingModeUntracked);
    EXPECT_NE(memory->host_pointer(), nullptr);
    EXPECT_EQ(memory->device_address(), 0u);
  }
}

TEST_P(MetalMemory, OfNoBytesIsABuffer) {
  for (const MemoryType type : {MemoryType::kDeviceLocal, MemoryType::kHostVisible}) {
    const auto memory = native().memory(0, type);
    EXPECT_EQ(memory->size(), 0u);
    EXPECT_GE([memory->buffer() length], 4u);
  }
}

TEST_P(MetalMemory, IsAlignedForTheHost) {
  for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
    const auto memory = DeviceMemory::allocate(native().heap().shared_device(), 100, alignment,
                                               MemoryType::kHostVisible, nullptr)
                            .value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host_pointer()) % alignment, 0u);
    EXPECT_EQ(memory->host_pointer(),
              static_cast<std::byte*>([memory->buffer() contents]) + memory->offset_in_buffer());
  }
}

TEST_P(MetalMemory, ThatIsNotThereIsRefusedWithItsSize) {
  const std::uint64_t most = [native().device().handle() maxBufferLength];
  const auto allocate = [&](std::uint64_t size) {
    return DeviceMemory::allocate(native().heap().shared_device(), size, 0,
                                  MemoryType::kDeviceLocal, nullptr)
        .status();
  };
  EXPECT_EQ(allocate(most + 4).code(), StatusCode::kResourceExhausted);
  const halyard::testing::FailingCalls failing("metal.newBufferWithLength");
  const Status status = allocate(4096);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("4096 bytes"), std::string_view::npos) << status.message();
}

TEST_P(MetalMemory, ImportsPagesInPlace) {
  constexpr std::size_t kPage = 16384;
  auto* const pages = static_cast<std::byte*>(std::aligned_alloc(kPage, 2 * kPage));
  std::fill_n(pages, 2 * kPage, std::byte{0});
  {
    const auto memory =
        DeviceMemory::import(native().heap().shared_device(), pages + 100, 1000, nullptr).value();
    EXPECT_EQ(memory->host_pointer(), pages + 100);
    EXPECT_EQ(memory->offset_in_buffer(), 100u);
    EXPECT_EQ([memory->buffer() length], kPage);
    const auto lane = native().lane();
    const hal::Operation write =
        command(hal::Command(hal::FillCommand{range(memory, 0, 1000), 5, 1}));
    ASSERT_EQ(issue(*lane, write, 1).count, 1u);
    wait_until(*lane, 1);
  }
  EXPECT_EQ(pages[99], std::byte{0});
  EXPECT_EQ(pages[100], std::byte{5});
  EXPECT_EQ(pages[1099], std::byte{5});
  EXPECT_EQ(pages[1100], std::byte{0});
  std::free(pages);
}

// Any thread may drop the last reference. Metal's objects need a pool when they are deallocated.
TEST_P(MetalMemory, AndAllElseMayEndOnAThreadWithoutAPool) {
  auto native =
      std::make_unique<Native>(DeviceOptions{.page = 16384, .uses_heaps = true, .split_after = 64});
  auto memory = native->memory(4096, MemoryType::kDeviceLocal);
  auto lane = native->lane();
  ASSERT_EQ(issue(*lane, fill(memory, 1), 1).count, 1u);
  wait_until(*lane, 1);
  std::thread([&] { lane = nullptr; }).join();
  std::thread([&] { memory = nullptr; }).join();
  std::thread([&] { native = nullptr; }).join();
}

TEST_P(MetalMemory, ComesFromHeapsIfThatIsChosen) {
  Native heaps({.page = 16384, .uses_heaps = true, .split_after = 64});
  const auto small = heaps.memory(4096, MemoryType::kDeviceLocal);
  const auto other = heaps.memory(4096, MemoryType::kDeviceLocal);
  EXPECT_NE([small->buffer() heap], nil);
  EXPECT_EQ([small->buffer() heap], [other->buffer() heap]);
  const auto large = heaps.memory(32 << 20, MemoryType::kDeviceLocal);
  EXPECT_EQ([large->buffer() heap], nil);
  const auto visible = heaps.memory(4096);
  EXPECT_EQ([visible->buffer() heap], nil);
  const auto lane = heaps.lane();
  ASSERT_EQ(issue(*lane, fill(small, 0x0101'0101), 1).count, 1u);
  const hal::Operation copy =
      command(hal::Command(hal::CopyCommand{range(small, 0, 4096), range(visible, 0, 4096)}));
  ASSERT_EQ(issue(*lane, copy, 2).count, 1u);
  wait_until(*lane, 2);
  EXPECT_EQ(visible->host_pointer()[4095], std::byte{1});
}

}  // namespace
}  // namespace halyard::metal
