// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a traced runtime with a vulkan device.
#include <cstdio>
#include <fstream>
#include <string>

#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "trace/events.h"
#include "trace/file_trace.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;
using halyard::testing::json;
using halyard::testing::slices;

using VulkanTrace = VulkanTest;

// The queue that waited shows its end.
TEST_F(VulkanTrace, HasTheTimesOfWorkThatOnlyAnotherQueueWaitsFor) {
  constexpr std::uint32_t kLinks = 300;  // more than a lane takes at once
  const std::string path = ::testing::TempDir() + "vulkan_trace_test.json";
  hal::DriverRegistry registry(trace::FileTrace::open(path).value());
  check(register_vulkan_driver(registry));
  {
    const hal::Device device = registry.open("vulkan://").value();
    const hal::Queue first = device.create_queue({}).value();
    const hal::Queue second = device.create_queue({}).value();
    const hal::Buffer buffer = device.allocate({.size = 64}).value();
    const hal::Semaphore between = device.create_semaphore().value();
    const hal::Semaphore done = device.create_semaphore().value();
    for (std::uint32_t i = 1; i <= kLinks; ++i) {
      check(first.fill(buffer, i, 4, {.signal = {{between, i}}}));
      check(second.barrier({.wait = {{between, i}}, .signal = {{done, i}}}));
      ASSERT_TRUE(done.wait(i, 60s).ok());
    }
  }
  check(registry.shutdown(60s));
  const json trace = json::parse(std::ifstream(path));
  halyard::testing::expect_well_formed(trace);
  EXPECT_EQ(slices(trace, "command").size(), kLinks);
  EXPECT_EQ(slices(trace, "submission").size(), 2 * kLinks);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace halyard::vulkan
