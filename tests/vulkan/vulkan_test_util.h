// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the tests of the vulkan driver: the fake loader, and lanes without an engine.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/native_call.h"
#include "drivers/vulkan/allocator.h"
#include "drivers/vulkan/arguments.h"
#include "drivers/vulkan/command_buffer.h"
#include "drivers/vulkan/lane.h"
#include "drivers/vulkan/library.h"
#include "drivers/vulkan/native_device.h"
#include "lanes/open_lanes.h"
#include "vulkan/fake_vulkan.h"

namespace halyard::vulkan {

using halyard::testing::command;
using halyard::testing::CountingNotify;
using halyard::testing::fill;
using halyard::testing::issue;
using halyard::testing::kBarrier;
using halyard::testing::kGone;
using halyard::testing::range;
using halyard::testing::wait_until;
using timeline::Edge;

// The library that HALYARD_VULKAN_LIBRARY names in these tests.
inline testing::FakeVulkan& fake() {
  static testing::FakeVulkan* const it = [] {
    void* const library = dlopen(HALYARD_FAKE_VULKAN_LIBRARY, RTLD_NOW | RTLD_NODELETE);
    const auto get = reinterpret_cast<decltype(&testing::halyard_fake_vulkan)>(
        library != nullptr ? dlsym(library, "halyard_fake_vulkan") : nullptr);
    return get != nullptr ? get() : nullptr;
  }();
  return *it;
}

// If there is no Vulkan device, skips its tests, or fails them if HALYARD_REQUIRE_VULKAN is set.
class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("HALYARD_VULKAN_LIBRARY", HALYARD_FAKE_VULKAN_LIBRARY, 1);
    setenv("HALYARD_CACHE_DIR", "/proc/no folder", 1);  // the user's own stays as it is
    fake().sleeps_for_any = sleeps_for_any_;
    fake().gpu = true;
    const auto library = Library::open();
    if (library.ok() && !(*library)->devices().empty()) return;
    if (std::getenv("HALYARD_REQUIRE_VULKAN") != nullptr) FAIL() << library.status().to_string();
    GTEST_SKIP() << "no Vulkan device: " << library.status().message();
  }
  void TearDown() override {
    EXPECT_EQ(fake().violations, 0) << fake().violation;
    reset();
  }

  bool sleeps_for_any_ = true;

 private:
  static void reset() {
    fake().lacks = nullptr;
    fake().discrete = fake().frozen = fake().lost = fake().was_lost = false;
    fake().slow = fake().has_bar = fake().bar_is_full = false;
    fake().by_descriptor = testing::FakeVulkan::kReal;
    fake().timelines_by_descriptor = 0;
    fake().another_driver = false;
    fake().max_groups = fake().max_items = 0;
    fake().skew = fake().ticks_ahead = 0;
    fake().violations = 0;
  }
};

struct CallsObserver final : base::CallObserver {
  int before(const base::CallSite& its) noexcept override {
    if (&its != site) return 0;
    const int call = calls.fetch_add(1);
    if (call < from || call >= until) return 0;
    ++failed;
    return error != 0 ? error.load() : its.error;
  }
  std::atomic<const base::CallSite*> site{nullptr};
  std::atomic<int> calls{0}, failed{0}, from{0}, until{0}, error{0};
};

// Counts the calls of a site and fails some of them. Only one may exist at a time. Threads of a
// device may call the observer after its object is destroyed, so the observer is static.
class Calls {
 public:
  explicit Calls(std::string_view site) {
    observer.calls = observer.failed = 0;
    observer.from = observer.until = 0;
    observer.site = nullptr;
    for (const base::CallSite* it : base::call_sites()) {
      if (it->name == site) observer.site = it;
    }
    EXPECT_NE(observer.site, nullptr) << site;
    base::observe_calls(&observer);
  }
  ~Calls() { observer.site = nullptr; }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // The next `count` calls fail, with `error` or with the site's error.
  void fail(int count = 1, int error = 0) {
    observer.error = error;
    observer.from = observer.calls.load();
    observer.until = observer.calls + count;
  }
  int count() const { return observer.calls; }
  int failed() const { return observer.failed; }

 private:
  static inline CallsObserver observer;
};

// A VkDevice with lanes of its own.
class Native {
 public:
  Native()
      : library_(Library::open().value()),
        device_(open_.get(library_, 0).value()),
        heap_(ArgumentHeap::create(Ref<NativeDevice>(device_.get())).value()) {}

  const ArgumentHeap& heap() const { return heap_; }
  NativeDevice& device() const { return *device_.get(); }
  std::unique_ptr<Lane> lane(hal::QueueKind kind = hal::QueueKind::kCompute) {
    return Lane::create(heap_, kind, hal::QueuePriority::kNormal).value();
  }
  Result<Ref<DeviceMemory>> allocate(const DeviceMemory::Request& request) {
    return DeviceMemory::allocate(Ref<NativeDevice>(device_.get()), request, nullptr);
  }
  Ref<DeviceMemory> memory(std::uint64_t size,
                           hal::MemoryType type = hal::MemoryType::kHostVisible) {
    return allocate({.size = size, .type = type}).value();
  }

 private:
  Ref<Library> library_;
  OpenDevices open_;
  HandleRef<NativeDevice> device_;
  ArgumentHeap heap_;
};

// The lane that was opened last, whose sequence the test advances in place of a device.
class SemaphoreGate final : public halyard::testing::Gate {
 public:
  explicit SemaphoreGate(timeline::NativeQueue& lane)
      : lane_(lane), device_(fake().device), semaphore_(fake().semaphore) {}

  Edge at(std::uint64_t n) override { return {&lane_, n}; }
  void open(std::uint64_t n) override {
    if (n <= opened_) return;
    opened_ = n;
    EXPECT_EQ(fake().signal(device_, semaphore_, n), VK_SUCCESS);
  }

 private:
  timeline::NativeQueue& lane_;
  const VkDevice device_;
  const VkSemaphore semaphore_;
  std::uint64_t opened_ = 0;
};

class Gate {
 public:
  explicit Gate(Native& native) : lane_(native.lane()), gate_(*lane_) {}

  Lane& lane() { return *lane_; }
  Edge at(std::uint64_t sequence) { return gate_.at(sequence); }
  void open(std::uint64_t sequence) { gate_.open(sequence); }

 private:
  const std::unique_ptr<Lane> lane_;
  SemaphoreGate gate_;
};

}  // namespace halyard::vulkan
