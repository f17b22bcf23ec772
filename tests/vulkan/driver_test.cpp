// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vulkan driver in a separate runtime. tests/conformance covers the behaviour of every driver.
#include "drivers/vulkan/driver.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "drivers/serial/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "lanes/driver_checks.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class VulkanDriver : public VulkanTest {
 protected:
  VulkanDriver() : registry_(std::make_unique<hal::DriverRegistry>()) {
    check(register_vulkan_driver(*registry_));
#if HALYARD_DRIVER_SERIAL
    check(serial::register_serial_driver(*registry_));
#endif
  }
  void TearDown() override {
    registry_.reset();
    VulkanTest::TearDown();
  }
  hal::Device open(const std::string& uri = "vulkan://") { return registry_->open(uri).value(); }
  std::vector<hal::DeviceInfo> listed() {
    std::vector<hal::DeviceInfo> all = registry_->enumerate().value();
    std::erase_if(all, [](const hal::DeviceInfo& info) { return info.driver != "vulkan"; });
    return all;
  }
  hal::Buffer visible(const hal::Device& device, std::uint64_t size = 4096) {
    return device.allocate({.size = size, .memory = hal::MemoryType::kHostVisible}).value();
  }

  std::unique_ptr<hal::DriverRegistry> registry_;
};

// Lavapipe closes any descriptor first, and only then reports that it is not memory.
TEST_F(VulkanDriver, ADescriptorThatIsNoMemoryStaysTheCallers) {
  const hal::Device device = open();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const std::size_t before = base::list_folder("/proc/self/fd").value().size();
  EXPECT_FALSE(device.import_descriptor(null, {.size = 4096}).ok());
  EXPECT_EQ(base::list_folder("/proc/self/fd").value().size(), before) << "no copy is left";
  EXPECT_EQ(close(null), 0);
  EXPECT_EQ(device.import_descriptor(null, {.size = 4096}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(VulkanDriver, OpensAllDevicesOrOne) {
  const auto all = registry_->open_all("vulkan://?devices=3").value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].info().uri, "vulkan://2?devices=3");
  EXPECT_EQ(open("vulkan://1?devices=2").info().uri, "vulkan://1?devices=2");
  EXPECT_EQ(open("vulkan://?devices=2&cache=0").info().uri, "vulkan://0?cache=0&devices=2");
  EXPECT_EQ(open("vulkan://?cache=0").info().uri, "vulkan://0?cache=0");
  EXPECT_EQ(open("vulkan://?poll_time=1000000").info().uri, "vulkan://0?poll_time=1000000");
  EXPECT_EQ(open().info().uri, "vulkan://0");
}

TEST_F(VulkanDriver, NamesTheErrorOfAUri) {
  halyard::testing::expect_refused(
      *registry_, "vulkan",
      {"vulkan://?devices=0", "vulkan://?devices=65", "vulkan://?devices=x", "vulkan://?workers=1",
       "vulkan://?cache=2", "vulkan://?poll_time=-1", "vulkan://?poll_time=1000001"},
      {"vulkan://64", "vulkan://x", "vulkan://2?devices=2"});
}

// A wait of 5 ms for work whose end is hidden reads the semaphore some 70 times before it sleeps.
TEST_F(VulkanDriver, AThreadThatWaitsPollsAGpuAndSleepsForACpu) {
  const auto reads = [&](const char* uri) {
    const hal::Device device = open(uri);
    const hal::Semaphore done = device.create_semaphore().value();
    fake().frozen = true;
    check(device.queue().fill(visible(device), 1, 1, {.signal = {{done, 1}}}));
    const Calls calls("vulkan.vkGetSemaphoreCounterValue");
    EXPECT_EQ(done.wait(1, 5ms).code(), StatusCode::kDeadlineExceeded);
    const int count = calls.count();
    fake().frozen = false;
    check(done.wait(1, 60s));
    return count;
  };
  while (reads("vulkan://") < 300) {  // a busy machine may read less often
  }
  while (reads("vulkan://?poll_time=10000") < 300) {
  }
  EXPECT_LT(reads("vulkan://?poll_time=0"), 300);
  fake().gpu = false;
  registry_ = std::make_unique<hal::DriverRegistry>();  // reads the list of devices again
  check(register_vulkan_driver(*registry_));
  EXPECT_LT(reads("vulkan://"), 300);
  while (reads("vulkan://?poll_time=10000") < 300) {
  }
}

TEST_F(VulkanDriver, ListsWithoutOpening) {
  const Calls devices("vulkan.vkCreateDevice");
  const auto all = listed();
  EXPECT_EQ(devices.count(), 0);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].uri, "vulkan://0");
  EXPECT_THAT(all[0].targets, ::testing::ElementsAre("spirv-1.5"));
}

// Compares the description with Vulkan's own properties.
TEST_F(VulkanDriver, ADeviceDescribesItselfRightly) {
  const auto library = Library::open().value();
  const PhysicalDevice& physical = library->devices()[0];
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  library->functions().vkGetPhysicalDeviceProperties2(physical.handle, &properties);
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  const hal::Device device = open();
  const hal::DeviceInfo& info = device.info();
  EXPECT_EQ(info.driver, "vulkan");
  EXPECT_EQ(info.name, properties.properties.deviceName);
  EXPECT_GT(info.memory_size, 0u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(info.limits.max_groups[i], limits.maxComputeWorkGroupCount[i]);
  }
  EXPECT_LE(info.limits.max_workgroup_items, limits.maxComputeWorkGroupInvocations);
  EXPECT_LE(info.limits.max_shared_bytes, limits.maxComputeSharedMemorySize);
  EXPECT_GE(info.limits.max_buffer_size, 1u << 30);
  EXPECT_TRUE(info.limits.indirect_dispatch);
}

TEST_F(VulkanDriver, WithoutALoaderThereIsNoDevice) {
  setenv("HALYARD_VULKAN_LIBRARY", "/no/such/libvulkan.so", 1);
  EXPECT_TRUE(listed().empty());
  const Status status = registry_->open("vulkan://").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/libvulkan.so"));
}

TEST_F(VulkanDriver, WithoutADriverOrADeviceThereIsNone) {
  for (const char* lacks : {"drivers", "devices"}) {
    hal::DriverRegistry registry;
    check(register_vulkan_driver(registry));
    fake().lacks = lacks;
    const auto all = registry.enumerate();
    ASSERT_TRUE(all.ok()) << all.status().to_string();
    EXPECT_TRUE(all->empty());
    EXPECT_EQ(registry.open("vulkan://").status().code(), StatusCode::kNotFound) << lacks;
  }
}

// An error would hide the devices of all other drivers.
TEST_F(VulkanDriver, AnOldLoaderIsNoDeviceAndSaysSoWhenOpened) {
  fake().lacks = "loader 1.3";
  const auto all = registry_->enumerate();
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  EXPECT_TRUE(listed().empty());
  const Status status = registry_->open("vulkan://").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.3"));
}

TEST_F(VulkanDriver, ADeviceThatLacksSomethingIsListedWithIt) {
  for (const char* lacks :
       {"timelineSemaphore", "bufferDeviceAddress", "synchronization2", "hostQueryReset",
        "shaderRoundingModeRTEFloat32", "shaderSignedZeroInfNanPreserveFloat32", "Vulkan 1.3"}) {
    hal::DriverRegistry registry;
    check(register_vulkan_driver(registry));
    fake().lacks = lacks;
    const auto all = registry.enumerate().value();
    ASSERT_FALSE(all.empty());
    EXPECT_THAT(all[0].name, HasSubstr(lacks));
    EXPECT_TRUE(all[0].targets.empty()) << lacks;
    const Status status = registry.open("vulkan://0").status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << lacks;
    EXPECT_THAT(std::string(status.message()), HasSubstr(lacks));
  }
}

TEST_F(VulkanDriver, DoesWithoutExtensions) {
  alignas(hal::Device::kImportAlignment) std::byte bytes[64]{};
  for (const char* lacks :
       {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME,
        VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME}) {
    hal::DriverRegistry registry;
    check(register_vulkan_driver(registry));
    fake().lacks = lacks;
    const hal::Device device = registry.open("vulkan://0").value();
    const hal::Buffer x = visible(device);
    const hal::Semaphore done = device.create_semaphore().value();
    check(device.queue().fill(x, 7, 1, {.signal = {{done, 1}}}));
    check(done.wait(1, 60s));
    EXPECT_EQ(x.map().value().bytes()[4095], std::byte{7});
    const bool imports = lacks != std::string_view(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    const Status imported = device.import_memory(bytes, [] {}).status();
    EXPECT_EQ(imported.code(), imports ? StatusCode::kOk : StatusCode::kUnimplemented);
  }
}

// Memory that the host does not see, and queues that only copy.
TEST_F(VulkanDriver, ServesADiscreteDevice) {
  fake().discrete = true;
  const hal::Device device = open();
  EXPECT_EQ(fake().priorities, 210u) << "a queue of each";
  const hal::Buffer own =
      device.allocate({.size = 4096, .memory = hal::MemoryType::kDeviceLocal}).value();
  EXPECT_FALSE(own.map().ok());
  const hal::Buffer back =
      device.allocate({.size = 4096, .memory = hal::MemoryType::kHostLocal}).value();
  const hal::Queue copies = device.queue(hal::QueueKind::kCopy);
  const hal::Queue urgent = device.create_queue({.priority = hal::QueuePriority::kHigh}).value();
  const hal::Semaphore done = device.create_semaphore().value();
  const std::byte sent[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  check(copies.copy(own, back, {.wait = {{done, 3}}, .signal = {{done, 4}}}));
  check(device.queue().update(own, 5, sent, {.wait = {{done, 2}}, .signal = {{done, 3}}}));
  check(copies.fill({own, 1, 4093}, 9, 1, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
  check(urgent.fill(own, 8, 1, {.signal = {{done, 1}}}));
  check(done.wait(4, 60s));
  const hal::Mapping mapping = back.map().value();
  for (const auto& [at, value] : {std::pair{0, 8}, {1, 9}, {5, 1}, {7, 3}, {8, 9}, {4095, 8}}) {
    EXPECT_EQ(mapping.bytes()[at], static_cast<std::byte>(value)) << at;
  }
}

TEST_F(VulkanDriver, MemoryHasTheAlignmentThatIsAskedFor) {
  const hal::Device device = open();
  for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::uint64_t size : {1u, 100u, 5000u}) {
      const hal::Buffer buffer =
          device
              .allocate(
                  {.size = size, .memory = hal::MemoryType::kHostVisible, .alignment = alignment})
              .value();
      EXPECT_EQ(buffer.device_address() % alignment, 0u) << size << " bytes at " << alignment;
    }
  }
}

TEST_F(VulkanDriver, ExhaustionIsAnErrorWithTheSize) {
  const hal::Device device = open();
  for (const char* site :
       {"vulkan.vkAllocateMemory", "vulkan.vkCreateBuffer", "vulkan.vkBindBufferMemory"}) {
    Calls calls(site);
    calls.fail(2);  // the driver tries once more
    const Status status = device.allocate({.size = 12'345'678}).status();
    EXPECT_EQ(calls.failed(), 2);
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << site;
    EXPECT_EQ(status.native_error(), "VK_ERROR_OUT_OF_DEVICE_MEMORY") << site;
    EXPECT_THAT(std::string(status.message()), HasSubstr("12345678")) << site;
  }
  EXPECT_TRUE(device.allocate({.size = 12'345'678}).ok());
}

TEST_F(VulkanDriver, ASubmissionWithoutMemoryFailsAloneWithWhatDependsOnIt) {
  const hal::Device device = open();
  const hal::Buffer x = visible(device);
  const hal::Semaphore failed = device.create_semaphore().value();
  const hal::Semaphore other = device.create_semaphore().value();
  {
    Calls calls("vulkan.vkQueueSubmit2");
    calls.fail(1, VK_ERROR_OUT_OF_HOST_MEMORY);
    const Status status = device.queue().fill(x, 1, 1, {.signal = {{failed, 1}}});
    const Status waited = status.ok() ? failed.wait(1, 60s) : status;
    EXPECT_EQ(waited.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(waited.native_error(), "VK_ERROR_OUT_OF_HOST_MEMORY");
  }
  check(device.queue().fill(x, 2, 1, {.signal = {{other, 1}}}));
  check(other.wait(1, 60s));
  check(device.status());
}

class VulkanLoss : public VulkanDriver {
 protected:
  void expect_lost(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kDeviceLost) << status.to_string();
    EXPECT_EQ(status.native_error(), "VK_ERROR_DEVICE_LOST") << status.to_string();
  }

  // Prepares work in flight, work that waits for it, sleeping threads and a callback, then calls
  // `lose` with a function that submits more work. All work ends, another driver's device
  // continues, and the device can be opened again.
  void lose_with(const std::function<void(const std::function<Status()>& submit)>& lose) {
    {
      const auto devices = registry_->open_all("vulkan://?devices=2").value();
      const hal::Device& device = devices[0];
      const hal::Buffer x = visible(device), y = visible(devices[1]);
      const hal::Semaphore done = device.create_semaphore().value();
      const hal::Semaphore gate = device.create_semaphore().value();
      const hal::Semaphore there = devices[1].create_semaphore().value();
      fake().frozen = true;  // in flight until the loss
      fake().was_lost = true;
      check(device.queue().fill(x, 1, 1, {.signal = {{done, 1}}}));
      check(device.queue(hal::QueueKind::kCopy)
                .copy(x, y, {.wait = {{done, 1}}, .signal = {{done, 2}}}));
      check(device.queue().fill(x, 1, 1, {.wait = {{gate, 1}, {done, 2}}, .signal = {{done, 3}}}));
      check(devices[1].queue().fill(y, 1, 1, {.wait = {{done, 3}}, .signal = {{there, 1}}}));
      std::atomic<int> called{0};
      const hal::Registration registration =
          done.on_reach(3, [&](const Status& status) { called += status.ok() ? 100 : 1; }).value();
      std::vector<std::thread> threads;
      for (const auto& [semaphore, value] : {std::pair{&done, 1u}, {&done, 3u}, {&there, 1u}}) {
        threads.emplace_back(
            [this, semaphore, value] { expect_lost(semaphore->wait(value, 60s)); });
      }
      lose([&] {
        return device.queue().barrier({.signal = {{device.create_semaphore().value(), 1}}});
      });
      for (std::thread& thread : threads) thread.join();
      (void)gate.signal(1);
      while (called == 0) sched_yield();
      EXPECT_EQ(called, 1);
      expect_lost(device.status());
      expect_lost(device.queue().barrier({}));
      const Status open_still = registry_->open("vulkan://").status();
      EXPECT_EQ(open_still.code(), StatusCode::kUnavailable) << open_still.to_string();
#if HALYARD_DRIVER_SERIAL
      const hal::Device bystander = open("serial://");
      const hal::Buffer z = visible(bystander);
      const hal::Semaphore own = bystander.create_semaphore().value();
      check(bystander.queue().fill(z, 1, 1, {.signal = {{own, 1}}}));
      check(own.wait(1, 60s));
#endif
    }
    fake().lost = fake().frozen = false;
    Result<hal::Device> again = registry_->open("vulkan://");
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!again.ok() && std::chrono::steady_clock::now() < until) {
      sched_yield();  // the lost device closes on a thread of the runtime
      again = registry_->open("vulkan://");
    }
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    const hal::Buffer x = visible(*again);
    const hal::Semaphore done = again->create_semaphore().value();
    check(again->queue().fill(x, 5, 1, {.signal = {{done, 1}}}));
    check(done.wait(1, 60s));
  }
};

TEST_F(VulkanLoss, OfTheDeviceItself) {
  lose_with([](const auto&) { fake().lost = true; });
}

TEST_F(VulkanLoss, ReportedByASubmission) {
  lose_with([](const auto& submit) {
    Calls calls("vulkan.vkQueueSubmit2");
    calls.fail(1);
    (void)submit();
    EXPECT_EQ(calls.failed(), 1);
  });
}

TEST_F(VulkanLoss, ReportedByAPoll) {
  lose_with([](const auto&) {
    Calls calls("vulkan.vkGetSemaphoreCounterValue");
    calls.fail(1);
    while (calls.failed() == 0) sched_yield();
  });
}

TEST_F(VulkanLoss, ReportedToTheThreadThatWakesWaiters) {
  lose_with([](const auto&) {
    Calls calls("vulkan.vkWaitSemaphores");
    calls.fail(1);
    while (calls.failed() == 0) sched_yield();
  });
}

TEST_F(VulkanLoss, AtOpeningIsAnErrorAndNoMore) {
  Calls calls("vulkan.vkCreateDevice");
  calls.fail(1, VK_ERROR_DEVICE_LOST);
  expect_lost(registry_->open("vulkan://").status());
  EXPECT_TRUE(registry_->open("vulkan://").ok());
}

TEST_F(VulkanDriver, ClosesAfterWorkInFlightWithNothingLeftBehind) {
  halyard::testing::expect_closes_with_nothing_left_behind(*registry_, "vulkan://?devices=2");
}

// The VkBuffer belongs to a VkDevice that is closed.
TEST_F(VulkanDriver, MemoryOfAClosedDeviceIsNotUsedByTheNext) {
  std::optional<hal::Buffer> old;
  {
    const hal::Device device = open();
    old = visible(device);
  }
  const hal::Device device = open();
  const hal::Buffer x = visible(device);
  const hal::Semaphore done = device.create_semaphore().value();
  Status status = device.queue().copy(*old, x, {.signal = {{done, 1}}});
  if (status.ok()) status = done.wait(1, 60s);
  EXPECT_TRUE(status.ok()) << "a buffer keeps its device open: " << status.to_string();
}

TEST_F(VulkanDriver, ADeviceThatClosesDoesSoBeforeItsLibraryEndsWithTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto returns_from_main = [] {
    const hal::Device device = hal::open("vulkan://").value();
    const hal::Buffer buffer = device.allocate({.size = 4096}).value();
    const hal::Semaphore done = device.create_semaphore().value();
    check(device.queue().fill(buffer, 1, 1, {.signal = {{done, 1}}}));
    check(done.wait(1, kForever));
    return 0;
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_EXIT(std::exit(returns_from_main()), ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace halyard::vulkan
