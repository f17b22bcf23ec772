// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timelines that file descriptors name. Lavapipe lacks them, so the fake loader implements them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr VkExternalSemaphoreFeatureFlags kExported = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT,
                                          kImported = VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;

class VulkanSharedTimeline : public VulkanTest {
 protected:
  void TearDown() override {
    device_ = {};
    registry_.reset();
    VulkanTest::TearDown();
  }
  const hal::Device& device() {
    if (!device_) {
      registry_.emplace();
      check(register_vulkan_driver(*registry_));
      device_ = registry_->open("vulkan://").value();
    }
    return device_;
  }

  std::optional<hal::DriverRegistry> registry_;
  hal::Device device_;
};

TEST_F(VulkanSharedTimeline, AnImportedOneIsTheExportedOne) {
  fake().timelines_by_descriptor = kExported | kImported;
  hal::SharedTimeline exported = device().create_shared_timeline(3).value();
  const hal::SharedTimeline imported =
      device().import_timeline(exported.export_descriptor().value()).value();
  EXPECT_EQ(imported.query().value(), 3u);
  check(exported.signal(5));
  EXPECT_EQ(imported.query().value(), 5u);
  check(imported.wait(5, 0s));
  check(imported.signal(6));
  check(exported.wait(6, 0s));
  exported = {};
  EXPECT_EQ(imported.query().value(), 6u);
}

TEST_F(VulkanSharedTimeline, AWaitEndsWithTheOtherSidesSignal) {
  fake().timelines_by_descriptor = kExported | kImported;
  const hal::SharedTimeline exported = device().create_shared_timeline().value();
  const hal::SharedTimeline imported =
      device().import_timeline(exported.export_descriptor().value()).value();
  EXPECT_EQ(imported.wait(1, 1ms).code(), StatusCode::kDeadlineExceeded);
  std::thread other([&] { check(exported.signal(1)); });
  EXPECT_TRUE(imported.wait(1).ok());
  other.join();
}

TEST_F(VulkanSharedTimeline, IsJoinedToSemaphoresOfSubmissions) {
  fake().timelines_by_descriptor = kExported | kImported;
  const hal::SharedTimeline timeline = device().create_shared_timeline().value();
  const hal::Semaphore semaphore = device().create_semaphore().value();
  const hal::Registration kept = semaphore
                                     .on_reach(7,
                                               [timeline](const Status& status) {
                                                 if (status.ok()) (void)timeline.signal(7);
                                               })
                                     .value();
  check(device().queue().barrier({.signal = {{semaphore, 7}}}));
  check(timeline.wait(7, 60s));
}

TEST_F(VulkanSharedTimeline, ValuesOnlyGrow) {
  fake().timelines_by_descriptor = kExported | kImported;
  const hal::SharedTimeline timeline = device().create_shared_timeline(3).value();
  for (const std::uint64_t value : {0, 2, 3}) {
    EXPECT_EQ(timeline.signal(value).code(), StatusCode::kInvalidArgument) << value;
  }
  EXPECT_EQ(timeline.query().value(), 3u);
}

TEST_F(VulkanSharedTimeline, ADescriptorOfSomethingElseIsRefusedAndStaysTheCallers) {
  fake().timelines_by_descriptor = kExported | kImported;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto timeline = device().import_timeline(ends[0]);
  EXPECT_EQ(timeline.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(timeline.status().native_error(), "VK_ERROR_INVALID_EXTERNAL_HANDLE");
  EXPECT_EQ(close(ends[0]), 0);
  close(ends[1]);
  EXPECT_EQ(device().import_timeline(-1).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(VulkanSharedTimeline, AnImportedOneIsNotExported) {
  fake().timelines_by_descriptor = kExported | kImported;
  const hal::SharedTimeline exported = device().create_shared_timeline().value();
  const hal::SharedTimeline imported =
      device().import_timeline(exported.export_descriptor().value()).value();
  EXPECT_EQ(imported.export_descriptor().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(VulkanSharedTimeline, ADeviceWithoutThemSaysSo) {
  const auto made = device().create_shared_timeline();
  EXPECT_EQ(made.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(made.status().message(), HasSubstr("VK_KHR_external_semaphore_fd"));
  const auto imported = device().import_timeline(0);
  EXPECT_EQ(imported.status().code(), StatusCode::kUnimplemented);
}

TEST_F(VulkanSharedTimeline, ADeviceThatExportsAloneImportsNone) {
  fake().timelines_by_descriptor = kExported;
  EXPECT_TRUE(device().create_shared_timeline().ok());
  const auto imported = device().import_timeline(0);
  EXPECT_EQ(imported.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(imported.status().message(), HasSubstr("imports no timelines"));
}

TEST_F(VulkanSharedTimeline, FailsWithItsDevice) {
  fake().timelines_by_descriptor = kExported | kImported;
  const hal::SharedTimeline timeline = device().create_shared_timeline().value();
  fake().lost = fake().was_lost = true;
  EXPECT_EQ(timeline.query().status().code(), StatusCode::kDeviceLost);
  EXPECT_EQ(timeline.signal(1).code(), StatusCode::kDeviceLost);
  EXPECT_EQ(timeline.wait(1).code(), StatusCode::kDeviceLost);
}

TEST_F(VulkanSharedTimeline, AnEmptyHandleIsRefused) {
  const hal::SharedTimeline none;
  EXPECT_EQ(none.query().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(none.signal(1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(none.wait(1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(none.export_descriptor().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(hal::Device().import_timeline(0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(hal::Device().create_shared_timeline().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace halyard::vulkan
