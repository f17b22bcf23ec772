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

#include "base/parker.h"
#include "drivers/metal/allocator.h"
#include "drivers/metal/command_buffer.h"
#include "drivers/metal/functions.h"
#include "drivers/metal/lane.h"
#include "drivers/metal/native_device.h"
#include "drivers/metal/retained.h"
#include "hal/recording/command.h"
#include "halyard/base/clock.h"
#include "simulation/metal/framework/process.h"

namespace halyard::metal {

using timeline::Edge;

class CountingNotify final : public base::Notify {
 public:
  void notify() noexcept override { ++count; }
  std::atomic<int> count{0};
};

// An open device with its own lanes.
class Native {
 public:
  explicit Native(const DeviceOptions& options = {.page = 16384, .split_after = 64},
                  std::size_t index = 0)
      : heap_(ArgumentHeap::create(open(options, index)).value()) {}

  const ArgumentHeap& heap() const { return heap_; }
  NativeDevice& device() const { return heap_.device(); }
  std::unique_ptr<Lane> lane() { return Lane::create(heap_, nullptr).value(); }
  Ref<DeviceMemory> memory(std::uint64_t size,
                           hal::MemoryType type = hal::MemoryType::kHostVisible) {
    return DeviceMemory::allocate(heap_.shared_device(), size, 0, type, nullptr).value();
  }

 private:
  static Ref<NativeDevice> open(const DeviceOptions& options, std::size_t index) {
    const auto all = copy_all_devices();
    auto physical =
        PhysicalDevice::create(Retained<id<MTLDevice>>::share([all.get() objectAtIndex:index]));
    return NativeDevice::create(physical.value(), options).value();
  }
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

inline timeline::IssueResult issue(Lane& lane, const hal::Operation& operation,
                                   std::uint64_t sequence, const std::vector<Edge>& waits = {},
                                   trace::Stamps* stamps = nullptr) {
  const timeline::Issue issue{.waits = waits,
                              .operation = &operation,
                              .sequence = sequence,
                              .want_marker = false,
                              .stamps = stamps};
  return lane.issue({&issue, 1}, timeline::Doorbell::kRing);
}

inline const hal::Operation kBarrier;

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

// Sleeps until the lane has reached `sequence`, as a waiter of the engine does, but without a
// timeout, so a lost notification hangs.
inline void wait_until(Lane& lane, std::uint64_t sequence) {
  base::Parker& parker = base::ParkerPool::acquire();
  for (;;) {
    const ScopedPool pool;
    const std::uint32_t epoch = parker.prepare();
    const timeline::Progress progress = lane.poll();
    ASSERT_TRUE(progress.fault.ok()) << progress.fault.to_string();
    if (progress.sequence >= sequence) break;
    ASSERT_TRUE(lane.arm(sequence, parker).ok());
    parker.park(epoch, Deadline::kForeverTime);
  }
  base::ParkerPool::release(parker);
}

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

// Calls abandon() as the engine does, until the lane has stopped or the call gives up.
inline timeline::Abandoned stop(Lane& lane) {
  const Status gone(StatusCode::kDeviceLost, "gone");
  for (;;) {
    const ScopedPool pool;
    const timeline::Abandoned answer = lane.abandon(gone, 0);
    if (answer != timeline::Abandoned::kStopping) return answer;
  }
}

inline hal::Operation command(const hal::Command& command) {
  hal::Operation operation;
  operation.kind = hal::OperationKind::kCommand;
  operation.command = command;
  return operation;
}

inline hal::CommandRange range(const Ref<DeviceMemory>& memory, std::uint64_t offset,
                               std::uint64_t length) {
  return {{memory.get(), offset, length}};
}

inline hal::Operation fill(const Ref<DeviceMemory>& memory, std::uint32_t pattern) {
  return command(
      hal::Command(hal::FillCommand{range(memory, 0, memory->size()), pattern, sizeof pattern}));
}

}  // namespace halyard::metal
