// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common parts of the tests of the metal driver: a process of the simulated framework for each
// test, and lanes without an engine. Included by Objective-C++ sources.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/metal/allocator.h"
#include "drivers/metal/command_buffer.h"
#include "drivers/metal/functions.h"
#include "drivers/metal/lane.h"
#include "drivers/metal/native_device.h"
#include "drivers/metal/retained.h"
#include "halyard/base/clock.h"
#include "lanes/lane_calls.h"
#include "simulation/metal/framework/process.h"

namespace halyard::metal {

using testing::command;
using testing::CountingNotify;
using testing::fill;
using testing::issue;
using testing::kBarrier;
using testing::kGone;
using testing::range;
using testing::stop;
using testing::wait_until;
using timeline::Edge;

// An open device with its own lanes.
class Native {
 public:
  static constexpr DeviceOptions kOptions = {.page = 16384, .split_after = 64};

  explicit Native(const DeviceOptions& options = kOptions, std::size_t index = 0)
      : heap_(ArgumentHeap::create(open(options, index)).value()) {}

  const ArgumentHeap& heap() const { return heap_; }
  NativeDevice& device() const { return heap_.device(); }
  std::unique_ptr<Lane> lane() { return Lane::create(heap_, guard_.get()).value(); }
  Ref<DeviceMemory> memory(std::uint64_t size,
                           hal::MemoryType type = hal::MemoryType::kHostVisible) {
    return DeviceMemory::allocate(heap_.shared_device(), size, 0, type, nullptr).value();
  }
  static Ref<PhysicalDevice> physical(std::size_t index) {
    const auto all = copy_all_devices();
    auto handle = Retained<id<MTLDevice>>::share([all.get() objectAtIndex:index]);
    return PhysicalDevice::create(std::move(handle)).value();
  }

 private:
  static Ref<NativeDevice> open(const DeviceOptions& options, std::size_t index) {
    return NativeDevice::create(physical(index), options).value();
  }
  const Ref<timeline::EntryGuard> guard_ = Ref<timeline::EntryGuard>::adopt(new PoolGuard);
  ArgumentHeap heap_;
};

// Each test is a separate process for Metal. At its end, checks that there was no misuse and no
// leak.
class MetalTest : public ::testing::Test {
 protected:
  bool sets_events_ = false;  // the test abandons a lane with work in flight

  // Called before native() is used.
  void begin(sim::metal::Options options = {}) {
    end();
    options.prints = options.aborts = false;
    sim::metal::begin_process(std::move(options));
    pool_.emplace();
    began_ = true;
  }
  void SetUp() override { begin(); }
  void TearDown() override { end(); }
  Native& native() {
    if (native_ == nullptr) native_ = std::make_unique<Native>();
    return *native_;
  }
  void end() {
    if (!std::exchange(began_, false)) return;
    native_.reset();
    pool_.reset();
    // Blocks are released shortly after their call, together with the events that they retain.
    const Nanoseconds until = Clock::steady().now() + 20'000'000'000;
    while (sim::metal::live_objects("MTLSharedEvent") != 0 && Clock::steady().now() < until) {
      sched_yield();
    }
    const auto result = sim::metal::end_process();
    // After abandon(), the event already has the value when a running buffer signals it.
    if (!result.misuse.starts_with("event-not-larger") || !sets_events_) {
      EXPECT_EQ(result.misuse, "");
    }
    EXPECT_EQ(result.leaks, "");
  }

 private:
  bool began_ = false;
  std::optional<ScopedPool> pool_;
  std::unique_ptr<Native> native_;
};

// A lane whose sequence the test advances. Other lanes may wait for work that is not issued yet; an
// event permits that, though the engine never does it.
class Gate {
 public:
  explicit Gate(Native& native) : lane_(native.lane()) {}

  Lane& lane() { return *lane_; }
  Edge at(std::uint64_t sequence) { return {lane_.get(), sequence}; }
  void open(std::uint64_t sequence) {
    while (opened_ < sequence) ASSERT_EQ(issue(*lane_, kBarrier, ++opened_).count, 1u);
  }

 private:
  const std::unique_ptr<Lane> lane_;
  std::uint64_t opened_ = 0;
};

// Polls and probes until there is a fault, and returns it; fails the test if there is none in 10 s.
inline Status fault_of(Lane& lane) {
  const Nanoseconds end = Clock::steady().now() + 10'000'000'000;
  while (Clock::steady().now() < end) {
    const ScopedPool pool;
    (void)lane.probe();
    const timeline::Progress progress = lane.poll();
    if (!progress.fault.ok()) return progress.fault;
  }
  ADD_FAILURE() << "no fault; the lane has reached " << lane.poll().sequence;
  return {};
}

}  // namespace halyard::metal
