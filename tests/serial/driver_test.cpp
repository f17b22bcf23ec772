// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The serial driver in a separate runtime. tests/conformance covers the behaviour of every driver.
#include "drivers/serial/driver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "lanes/driver_checks.h"

namespace halyard::serial {
namespace {

using namespace std::chrono_literals;
using hal::Device;
using hal::Semaphore;

class SerialDriver : public ::testing::Test {
 protected:
  SerialDriver() { check(register_serial_driver(registry_)); }
  Device open(const std::string& uri = "serial://") { return registry_.open(uri).value(); }

  hal::DriverRegistry registry_;
};

TEST_F(SerialDriver, OpensAllDevicesOrOne) {
  const auto all = registry_.open_all("serial://?devices=3").value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].info().uri, "serial://2?devices=3");
  EXPECT_EQ(open("serial://1?devices=2").info().uri, "serial://1?devices=2");
  EXPECT_EQ(open("serial://1?peers=0&devices=2").info().uri, "serial://1?devices=2&peers=0");
  EXPECT_EQ(open("serial://?peers=0").info().uri, "serial://0?peers=0");
  const auto listed = registry_.enumerate().value();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].uri, "serial://0");
  EXPECT_FALSE(listed[0].targets.empty());
}

TEST_F(SerialDriver, NamesTheErrorOfAUri) {
  testing::expect_refused(registry_, "serial",
                          {"serial://?devices=0", "serial://?devices=65", "serial://?devices=x",
                           "serial://?workers=1", "serial://?peers=2"},
                          {"serial://1", "serial://x", "serial://2?devices=2"});
}

TEST_F(SerialDriver, DevicesThatAreNoPeersReachNoMemoryButTheirOwn) {
  const auto apart = registry_.open_all("serial://?devices=2&peers=0").value();
  EXPECT_TRUE(apart[0].can_access(apart[0]));
  EXPECT_FALSE(apart[0].can_access(apart[1]));
  EXPECT_FALSE(apart[1].can_access(open()));
  EXPECT_TRUE(apart[1].can_access(open("serial://1?devices=2&peers=0"))) << "the same device";
  EXPECT_TRUE(open().can_access(open("serial://1?devices=2")));
}

TEST_F(SerialDriver, MemoryHasNoAddressAndCommandsFindItByItsRoot) {
  const Device device = open();
  const hal::Queue queue = device.queue();
  const Semaphore s = device.create_semaphore().value();
  const hal::Pool pool = device.create_pool({}).value();
  const hal::Buffer below = queue.allocate(pool, {.size = 64}, {.signal = {{s, 1}}}).value();
  const hal::Buffer pooled =
      queue.allocate(pool, {.size = 64}, {.wait = {{s, 1}}, .signal = {{s, 2}}}).value();
  const hal::Buffer own =
      device.allocate({.size = 64, .memory = hal::MemoryType::kHostVisible}).value();
  check(queue.fill(pooled.subspan(16).value(), 0x0403'0201, 4,
                   {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  check(queue.copy(pooled, own, {.wait = {{s, 3}}, .signal = {{s, 4}}}));
  check(s.wait(4, 60s));
  for (const hal::Buffer& buffer : {own, pooled, pooled.subspan(16).value()}) {
    EXPECT_EQ(buffer.device_address(), 0u);
  }
  const hal::Mapping mapping = own.map().value();
  EXPECT_EQ(mapping.bytes()[16], std::byte{1});
  EXPECT_EQ(mapping.bytes()[63], std::byte{4});
}

TEST_F(SerialDriver, ClosesAfterWorkInFlightWithNothingLeftBehind) {
  testing::expect_closes_with_nothing_left_behind(registry_, "serial://?devices=2");
}

}  // namespace
}  // namespace halyard::serial
