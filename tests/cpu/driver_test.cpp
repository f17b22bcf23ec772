// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/cpu/driver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "drivers/cpu/ring_group.h"

namespace halyard::cpu {
namespace {

hal::Uri uri(std::string path, std::map<std::string, std::string, std::less<>> options = {}) {
  return {.driver = "cpu", .path = std::move(path), .options = std::move(options)};
}

TEST(CpuDriver, EnumeratesOneDevice) {
  const auto devices = make_cpu_driver()->enumerate().value();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].uri, "cpu://0");
  EXPECT_EQ(devices[0].driver, "cpu");
  EXPECT_FALSE(devices[0].name.empty());
  EXPECT_GT(devices[0].memory_size, 0u);
  EXPECT_EQ(devices[0].workers, std::min(cpu::core_count(), 256u));
}

TEST(CpuDriver, OpensAllDevicesOrOne) {
  const auto driver = make_cpu_driver();
  const auto all = driver->open(uri("", {{"devices", "3"}, {"workers", "2"}})).value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2]->info().uri, "cpu://2?devices=3&workers=2");
  EXPECT_EQ(all[2]->info().workers, 2u);
  const auto one = driver->open(uri("1", {{"devices", "2"}})).value();
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]->info().uri, "cpu://1?devices=2");
  EXPECT_EQ(one[0]->wait_domain(), all[0]->wait_domain());
  EXPECT_EQ(one[0]->memory_domain(), all[0]->memory_domain());
}

TEST(CpuDriver, BadOptionsAreInvalidArgumentsThatNameThem) {
  const auto driver = make_cpu_driver();
  for (const auto& [name, value] :
       {std::pair{"devices", "0"}, std::pair{"devices", "65"}, std::pair{"workers", "257"},
        std::pair{"workers", "-1"}, std::pair{"workers", ""}, std::pair{"devices", "2x"},
        std::pair{"strict", "2"}, std::pair{"strict", "yes"}, std::pair{"cores", "2"}}) {
    const Status status = driver->open(uri("", {{name, value}})).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name << value;
    EXPECT_NE(status.message().find(name), std::string_view::npos) << status.message();
  }
}

TEST(CpuDriver, AStrictDeviceHidesItsOwnMemoryFromTheHost) {
  const auto driver = make_cpu_driver();
  for (const char* strict : {"0", "1"}) {
    const auto devices = driver->open(uri("0", {{"strict", strict}, {"workers", "1"}})).value();
    EXPECT_EQ(devices[0]->info().uri, "cpu://0?strict=" + std::string(strict) + "&workers=1");
    for (const std::uint64_t size : {64u, 4u << 20}) {
      const auto sees = [&](hal::MemoryType type) {
        return devices[0]->allocate(size, 0, type).value()->host_pointer() != nullptr;
      };
      EXPECT_EQ(sees(hal::MemoryType::kDeviceLocal), strict[0] == '0');
      EXPECT_TRUE(sees(hal::MemoryType::kHostVisible));
      EXPECT_TRUE(sees(hal::MemoryType::kHostLocal));
    }
  }
}

TEST(CpuDriver, UnknownOrdinalIsNotFound) {
  const auto driver = make_cpu_driver();
  for (const char* path : {"1", "x", "4294967296", "-1", "0/"}) {
    EXPECT_EQ(driver->open(uri(path)).status().code(), StatusCode::kNotFound) << path;
  }
}

}  // namespace
}  // namespace halyard::cpu
