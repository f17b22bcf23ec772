// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metal driver in a runtime. tests/conformance covers the contract of all drivers.
#include "drivers/metal/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/failing_calls.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "simulation/metal/framework/process.h"

namespace halyard::metal {
namespace {

using namespace std::chrono_literals;
using sim::metal::DeviceKind;
using ::testing::HasSubstr;

class MetalDriver : public ::testing::Test {
 protected:
  void SetUp() override { begin({}); }
  void begin(sim::metal::Options options) {
    TearDown();
    options.prints = options.aborts = false;
    sim::metal::begin_process(std::move(options));
    registry_ = std::make_unique<hal::DriverRegistry>();
    check(register_metal_driver(*registry_));
  }
  void TearDown() override {
    if (registry_ == nullptr) return;
    registry_.reset();
    const auto end = sim::metal::end_process();
    EXPECT_EQ(end.misuse, "");
    EXPECT_EQ(end.leaks, "");
  }
  hal::Device open(const std::string& uri = "metal://") { return registry_->open(uri).value(); }

  std::unique_ptr<hal::DriverRegistry> registry_;
};

TEST_F(MetalDriver, OpensAllDevicesOrOne) {
  const auto all = registry_->open_all("metal://?devices=3").value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].info().uri, "metal://2?devices=3");
  EXPECT_EQ(open("metal://1?devices=2").info().uri, "metal://1?devices=2");
  EXPECT_EQ(open("metal://?heaps=1&managed=1&split=7").info().uri,
            "metal://0?heaps=1&managed=1&split=7");
  EXPECT_EQ(open().info().uri, "metal://0");
  EXPECT_EQ(registry_->open("metal://5").status().code(), StatusCode::kNotFound);
}

TEST_F(MetalDriver, NamesUnknownOptionsAndValues) {
  const auto refused = [&](const std::string& uri) {
    const Status status = registry_->open(uri).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << uri;
    return std::string(status.message());
  };
  EXPECT_THAT(refused("metal://?speed=1"), HasSubstr("'speed'"));
  EXPECT_THAT(refused("metal://?split=0"), HasSubstr("split is '0'"));
  EXPECT_THAT(refused("metal://?page=5000"), HasSubstr("page is 5000"));
}

TEST_F(MetalDriver, ListsWhatIsThere) {
  begin({.devices = {DeviceKind::kUnified, DeviceKind::kDiscrete}});
  const std::vector<hal::DeviceInfo> listed = registry_->enumerate().value();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[1].uri, "metal://1");
  EXPECT_EQ(listed[0].targets, std::vector<std::string>{"msl-3.0"});
  EXPECT_GT(listed[0].memory_size, 0u);
}

TEST_F(MetalDriver, NoDeviceIsAnEmptyListAndNotFound) {
  begin({.devices = {}});
  EXPECT_TRUE(registry_->enumerate().value().empty());
  EXPECT_EQ(registry_->open("metal://").status().code(), StatusCode::kNotFound);
}

// In some sessions Metal lists no device but has a default device.
TEST_F(MetalDriver, AsksForTheDefaultDeviceWhereNoneIsListed) {
  const testing::FailingCalls failing("metal.MTLCopyAllDevices");
  EXPECT_EQ(registry_->enumerate().value().size(), 1u);
}

TEST_F(MetalDriver, DevicesOfOneProcessWaitForEachOther) {
  begin({.devices = {DeviceKind::kUnified, DeviceKind::kDiscrete}});
  const auto devices = registry_->open_all("metal://").value();
  const hal::Semaphore done = devices[0].create_semaphore().value();
  const hal::Buffer first =
      devices[0].allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
  const hal::Buffer second =
      devices[1].allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
  check(devices[1].queue().fill(second, 7, 4, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  check(devices[0].queue().fill(first, 5, 4, {.signal = {{done, 1}}}));
  check(done.wait(2, 10s));
  EXPECT_FALSE(devices[0].can_access(devices[1])) << "two GPUs do not share memory";
}

TEST_F(MetalDriver, ALostDeviceCanBeOpenedAgain) {
  {
    const hal::Device device = open();
    const hal::Semaphore done = device.create_semaphore().value();
    const hal::Buffer buffer = device.allocate({.size = 64}).value();
    sim::metal::fail_next(0, 3);
    (void)device.queue().fill(buffer, 7, 4, {.signal = {{done, 1}}});
    const Status failed = done.wait(1, 10s);
    EXPECT_EQ(failed.code(), StatusCode::kDeviceLost);
    EXPECT_EQ(failed.native_error(), "MTLCommandBufferErrorPageFault");
  }
  const hal::Device again = open();
  const hal::Semaphore done = again.create_semaphore().value();
  const hal::Buffer buffer = again.allocate({.size = 64}).value();
  check(again.queue().fill(buffer, 7, 4, {.signal = {{done, 1}}}));
  EXPECT_TRUE(done.wait(1, 10s).ok());
}

TEST_F(MetalDriver, ARemovedDeviceIsLostAndUnavailable) {
  begin({.devices = {DeviceKind::kUnified, DeviceKind::kRemovable}});
  const hal::Device device = open("metal://1");
  const hal::Semaphore done = device.create_semaphore().value();
  const hal::Buffer buffer = device.allocate({.size = 64}).value();
  sim::metal::remove_device(1);
  (void)device.queue().fill(buffer, 7, 4, {.signal = {{done, 1}}});
  EXPECT_FALSE(done.wait(1, 10s).ok());
  EXPECT_FALSE(registry_->open("metal://1").ok());
  EXPECT_TRUE(registry_->open("metal://0").ok());
}

}  // namespace
}  // namespace halyard::metal
