// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver queries the properties of a device before it uses them: kinds of memory, clocks, ways
// to share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/tracer.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using hal::MemoryType;
using ::testing::HasSubstr;

constexpr VkExternalMemoryFeatureFlags kExports = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
                                       kImports = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
                                       kDedicated = VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;

class VulkanDevice : public VulkanTest {
 protected:
  void TearDown() override {
    native_.reset();
    VulkanTest::TearDown();
  }
  // Created on first use, after the test has chosen the device's properties.
  Native& native() {
    if (native_ == nullptr) native_ = std::make_unique<Native>();
    return *native_;
  }

 private:
  std::unique_ptr<Native> native_;
};

TEST_F(VulkanDevice, ACopyLaneWithoutTimestampsIsStampedInTheDevicesTicks) {
  fake().discrete = true;
  fake().lacks = "timestamps of copies";
  fake().ticks_ahead = std::uint64_t{1} << 50;
  trace::Tracer tracer(Clock::steady());
  trace::Stamps stamps;
  stamps.tracer = &tracer;
  const auto memory = native().memory(64);
  const hal::Operation write = fill(memory, 1);
  const auto lane = native().lane(hal::QueueKind::kCopy);
  const Calls stamped("vulkan.vkGetQueryPoolResults");
  std::uint64_t host = 0, before = 0, after = 0;
  ASSERT_TRUE(native().device().read_clocks(host, before).ok());
  ASSERT_EQ(issue(*lane, write, 1, {}, &stamps).count, 1u);
  wait_until(*lane, 1);
  ASSERT_TRUE(native().device().read_clocks(host, after).ok());
  EXPECT_EQ(stamped.count(), 0);
  EXPECT_LE(before, static_cast<std::uint64_t>(stamps.begin));
  EXPECT_LE(stamps.begin, stamps.end);
  EXPECT_LE(static_cast<std::uint64_t>(stamps.end), after);
}

TEST_F(VulkanDevice, WithoutEitherClockTheHostStamps) {
  for (const char* const clock : {"the host's clock", "the device's clock"}) {
    fake().lacks = clock;
    const auto devices = Library::open().value();
    EXPECT_FALSE(devices->devices()[0].calibrated_timestamps) << clock;
  }
  fake().lacks = nullptr;
  const auto devices = Library::open().value();
  EXPECT_TRUE(devices->devices()[0].calibrated_timestamps);
}

TEST_F(VulkanDevice, HostVisibleMemoryIsTheDevicesOwnWhileItsHeapHasRoom) {
  fake().discrete = fake().has_bar = true;
  const auto first = native().memory(4096, MemoryType::kHostVisible);
  EXPECT_EQ(fake().memory_type, testing::FakeVulkan::kBar);
  fake().bar_is_full = true;
  const auto second = native().memory(4096, MemoryType::kHostVisible);
  EXPECT_EQ(fake().memory_type, 1u);
  EXPECT_NE(second->host_pointer(), nullptr);
  fake().bar_is_full = false;
  const auto third = native().memory(4096, MemoryType::kHostVisible);
  EXPECT_EQ(fake().memory_type, testing::FakeVulkan::kBar);
}

TEST_F(VulkanDevice, FullHeapsOfAllKindsAreExhaustion) {
  fake().discrete = fake().has_bar = true;
  (void)native();
  for (const MemoryType type : {MemoryType::kHostVisible, MemoryType::kDeviceLocal}) {
    Calls allocations("vulkan.vkAllocateMemory");
    allocations.fail(3);
    const auto memory = native().allocate({.size = 4096, .type = type});
    EXPECT_EQ(memory.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(memory.status().message(), HasSubstr("4096 bytes"));
    EXPECT_EQ(allocations.count(), type == MemoryType::kHostVisible ? 3 : 1);
  }
}

TEST_F(VulkanDevice, MemoryThatIsNotSharedIsUnimplementedInWords) {
  const struct {
    VkExternalMemoryFeatureFlags has;
    Sharing sharing;
    const char* says;
  } rows[] = {{kImports, Sharing::kExport, "exports no buffers"},
              {kExports, Sharing::kImport, "imports no buffers"},
              {0, Sharing::kExport, "shares no memory"}};
  for (const auto& row : rows) {
    fake().by_descriptor = row.has;
    Native native;
    const auto memory = native.allocate({.size = 64, .sharing = row.sharing});
    EXPECT_EQ(memory.status().code(), StatusCode::kUnimplemented) << row.says;
    EXPECT_THAT(memory.status().message(), HasSubstr(row.says));
  }
}

TEST_F(VulkanDevice, HostMemoryIsNotImportedWhereBuffersOrTypesOfMemoryDoNot) {
  alignas(4096) static std::byte page[4096];
  const struct {
    const char* lacks;
    const char* says;
  } rows[] = {{"imported buffers", "as buffers"},
              {"types of host memory", "no memory type takes this host memory"}};
  for (const auto& row : rows) {
    fake().lacks = row.lacks;
    Native native;
    const auto memory =
        DeviceMemory::import(Ref<NativeDevice>(&native.device()), page, 64, nullptr);
    EXPECT_EQ(memory.status().code(), StatusCode::kUnimplemented);
    EXPECT_THAT(memory.status().message(), HasSubstr(row.says));
  }
}

// The fake loader reports a device that is destroyed before its objects.
TEST_F(VulkanDevice, AnImportThatFailsLeavesNothingBehind) {
  alignas(4096) static std::byte page[4096];
  const struct {
    const char* site;
    StatusCode code;
  } rows[] = {{"vulkan.vkCreateBuffer", StatusCode::kResourceExhausted},
              // NVIDIA's driver returns this error for memory that another device has mapped.
              {"vulkan.vkAllocateMemory", StatusCode::kUnimplemented},
              {"vulkan.vkBindBufferMemory", StatusCode::kResourceExhausted}};
  for (const auto& [site, code] : rows) {
    const Native native;
    Calls calls(site);
    calls.fail(1);
    const auto memory =
        DeviceMemory::import(Ref<NativeDevice>(&native.device()), page, 64, nullptr);
    EXPECT_EQ(memory.status().code(), code) << site;
    EXPECT_EQ(memory.status().native_error(), "VK_ERROR_OUT_OF_DEVICE_MEMORY") << site;
  }
}

// The fake loader notes an allocation without a VkMemoryDedicatedAllocateInfo.
TEST_F(VulkanDevice, SharedMemoryIsDedicatedToItsBufferWhereThatIsNeeded) {
  fake().by_descriptor = kExports | kImports | kDedicated;
  const auto shared = native().allocate(
      {.size = 64, .type = MemoryType::kHostVisible, .sharing = Sharing::kExport});
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  const int descriptor = (*shared)->export_descriptor().value();
  const auto same = native().allocate({.size = 64,
                                       .type = MemoryType::kHostVisible,
                                       .sharing = Sharing::kImport,
                                       .descriptor = descriptor});
  if (!same.ok()) close(descriptor);
  EXPECT_TRUE(same.ok()) << same.status().to_string();
}

// Vulkan guarantees an alignment of only 64 bytes for mapped memory, and none for addresses.
TEST_F(VulkanDevice, MemoryIsAlignedWhereverItsBufferBegins) {
  fake().skew = 192;
  const auto lane = native().lane();
  std::uint64_t sequence = 0;
  for (const std::uint64_t alignment : {0, 64, 128, 256, 4096}) {
    const auto memory =
        native()
            .allocate({.size = 100, .type = MemoryType::kHostVisible, .alignment = alignment})
            .value();
    const std::uint64_t least = alignment != 0 ? alignment : 64;
    EXPECT_EQ(memory->device_address() % least, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host_pointer()) % least, 0u);
    std::fill_n(memory->host_pointer(), 100, std::byte{1});
    const hal::Operation write = fill(memory, 0x0707'0707);
    ASSERT_EQ(issue(*lane, write, ++sequence).count, 1u);
    wait_until(*lane, sequence);
    EXPECT_EQ(memory->host_pointer()[0], std::byte{7}) << alignment;
    EXPECT_EQ(memory->host_pointer()[99], std::byte{7}) << alignment;
  }
}

// The device is out of memory for a while. The thread still reads counters, so it wakes the waiter.
TEST_F(VulkanDevice, TheThreadThatWakesWaitersRestsWhenItsWaitsFail) {
  Gate gate(native());
  CountingNotify notify;
  Calls waits("vulkan.vkWaitSemaphores");
  constexpr int kFailures = 20;
  const Nanoseconds begin = Clock::steady().now();
  waits.fail(1'000'000, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  ASSERT_TRUE(gate.lane().arm(1, notify).ok());
  while (waits.failed() < kFailures) sched_yield();
  EXPECT_GE(Clock::steady().now() - begin, (kFailures - 1) * 1'000'000);
  gate.open(1);
  while (notify.count == 0) sched_yield();
  EXPECT_TRUE(gate.lane().poll().fault.ok());
}

TEST_F(VulkanDevice, AWaitThatFailsForNoReasonIsALossWithItsName) {
  Gate gate(native());
  CountingNotify notify;
  Calls waits("vulkan.vkWaitSemaphores");
  waits.fail(1, VK_ERROR_UNKNOWN);
  // The thread's wait may fail before this returns. Then arm() returns the error.
  if (gate.lane().arm(1, notify).ok()) {
    while (notify.count == 0) sched_yield();
  }
  const Status fault = gate.lane().poll().fault;
  EXPECT_EQ(fault.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(fault.native_error(), "VK_ERROR_UNKNOWN");
}

}  // namespace
}  // namespace halyard::vulkan
