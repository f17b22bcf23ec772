// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with elements of 8 and 16 bits, and devices that cannot store them.
#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using ::testing::HasSubstr;

class VulkanElements : public VulkanTest {
 protected:
  static std::string file(const std::string& name) {
    return std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels" / (name + ".hyx");
  }

  // Returns the results of the only kernel of a file for `values`.
  template <class T>
  static std::vector<T> run(const hal::Device& device, const char* name, const char* kernel,
                            const std::vector<T>& values) {
    const hal::Buffer x = device
                              .allocate({.size = values.size() * sizeof(T),
                                         .memory = hal::MemoryType::kHostVisible})
                              .value();
    const auto mapping = x.map().value();
    const auto elements = mapping.as<T>();
    std::ranges::copy(values, elements.begin());
    const hal::Semaphore done = device.create_semaphore().value();
    const auto n = static_cast<std::uint32_t>(values.size());
    const hal::Function function = device.load(file(name)).value().function(kernel).value();
    check(device.queue().dispatch(function, {.items = {n}}, {x}, {n}, {.signal = {{done, 1}}}));
    check(done.wait(1, kForever));
    return {elements.begin(), elements.end()};
  }
};

TEST_F(VulkanElements, AreReadAndWritten) {
  hal::DriverRegistry registry;
  check(register_vulkan_driver(registry));
  const hal::Device device = registry.open("vulkan://0").value();
  std::vector<std::uint8_t> bytes, inverted;
  for (int i = 0; i < 251; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i));
    inverted.push_back(static_cast<std::uint8_t>(255 - i));
  }
  EXPECT_EQ(run(device, "bytes", "invert", bytes), inverted);
  const std::vector<std::uint16_t> halves = {0x3c00, 0x8000, 0x0001, 0xfc00, 0x7bff};
  EXPECT_EQ(run(device, "halves", "negate", halves),
            (std::vector<std::uint16_t>{0xbc00, 0x0000, 0x8001, 0x7c00, 0xfbff}));
}

TEST_F(VulkanElements, AWorkgroupThatIsTooLargeForTheDeviceIsRefused) {
  fake().max_items = 63;
  hal::DriverRegistry registry;
  check(register_vulkan_driver(registry));
  const hal::Device device = registry.open("vulkan://0").value();
  const Status refused = device.load(file("bytes")).value().function("invert").status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(),
              HasSubstr("items in dimension x of a workgroup; the device has 63"));
}

TEST_F(VulkanElements, OfASizeThatTheDeviceCannotStoreAreRefused) {
  for (const bool bytes : {true, false}) {
    const char* const lacks = bytes ? "storageBuffer8BitAccess" : "storageBuffer16BitAccess";
    hal::DriverRegistry registry;
    check(register_vulkan_driver(registry));
    fake().lacks = lacks;
    const hal::Device device = registry.open("vulkan://0").value();
    const Status refused = device.load(file(bytes ? "bytes" : "halves")).status();
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(bytes ? "elements of 8 bits" : "elements of 16 bits"));
    EXPECT_THAT(std::string(refused.message()), HasSubstr(std::string(" lacks ") + lacks));
    EXPECT_TRUE(device.load(file(bytes ? "halves" : "bytes")).ok());
  }
}

}  // namespace
}  // namespace halyard::vulkan
