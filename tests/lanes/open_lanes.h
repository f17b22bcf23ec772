// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenLanes: lanes of one device, without an engine. A driver's `Fixture` is a ::testing::Test with
//
//     std::unique_ptr<hal::DeviceImpl> open_device()
//     static constexpr bool kDropsWork      // abandon() drops work that waits for another lane
//
// and, if its lanes cannot wait for work that is not issued yet,
//
//     std::unique_ptr<testing::Gate> open_gate(hal::DeviceImpl&)
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "hal/device/driver.h"
#include "lanes/lane_calls.h"

namespace halyard::testing {

class OpenLane {
 public:
  explicit OpenLane(timeline::NativeQueue& queue) : queue_(queue) {}

  timeline::Entered<timeline::NativeQueue> operator->() const { return enter(queue_); }
  Edge at(std::uint64_t sequence) const { return {&queue_, sequence}; }
  timeline::IssueResult issue(std::span<const timeline::Issue> batch) const {
    return enter(queue_)->issue(batch, timeline::Doorbell::kRing);
  }
  // Issues an operation, and expects that the lane takes it.
  void give(const hal::Operation& operation, std::uint64_t sequence,
            const std::vector<Edge>& waits = {}, trace::Stamps* stamps = nullptr) const {
    const auto result = testing::issue(queue_, operation, sequence, waits, stamps);
    EXPECT_TRUE(result.count == 1 && !result.unmarked) << result.status.to_string();
  }
  void wait_until(std::uint64_t sequence) const { testing::wait_until(queue_, sequence); }
  void stop() const { EXPECT_EQ(testing::stop(queue_), Abandoned::kStopped); }

 private:
  timeline::NativeQueue& queue_;
};

// Work that ends when it is told: the edge at(n) is reached once open(n) is called. Edges are
// taken, and opened, in ascending order.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual Edge at(std::uint64_t n) = 0;
  virtual void open(std::uint64_t n) = 0;
};

// A lane into which the test issues late.
class LaneGate final : public Gate {
 public:
  explicit LaneGate(const OpenLane& lane) : lane_(lane) {}
  Edge at(std::uint64_t n) override { return lane_.at(n); }
  void open(std::uint64_t n) override {
    while (opened_ < n) lane_.give(kBarrier, ++opened_);
  }

 private:
  const OpenLane& lane_;
  std::uint64_t opened_ = 0;
};

// What a test gives to a lane lives until the lane has ended.
template <class Fixture>
class OpenLanes : public Fixture {
 protected:
  timeline::Entered<hal::DeviceImpl> device() {
    if (device_ == nullptr) device_ = this->open_device();
    return {*device_, device_->entry_guard()};
  }
  const OpenLane& lane() {
    const auto kind = hal::QueueKind::kCompute;
    return lanes_.emplace_back(*device()->open_lane(kind, hal::QueuePriority::kNormal).value());
  }
  Gate& gate() {
    if constexpr (requires { this->open_gate(*device_); }) {
      gates_.push_back(this->open_gate(*device()));
    } else {
      gates_.push_back(std::make_unique<LaneGate>(lane()));
    }
    return *gates_.back();
  }
  CountingNotify& notify() { return notifies_.emplace_back(); }
  // Zeroed memory that the host sees.
  const Ref<hal::Memory>& memory(std::uint64_t size) {
    memories_.push_back(device()->allocate(size, 0, hal::MemoryType::kHostVisible).value());
    std::fill_n(memories_.back()->host_pointer(), size, std::byte{0});
    return memories_.back();
  }
  hal::Operation& keep(const hal::Operation& operation) {
    return operations_.emplace_back(operation);
  }

  // Ends all lanes and the device.
  void close() {
    if (device_ == nullptr) return;
    for (const auto& gate : gates_) gate->open(kMostSteps);
    for (const OpenLane& lane : lanes_) lane.stop();
    gates_.clear();
    device()->close();
    device_.reset();
  }
  void TearDown() override {
    close();
    memories_.clear();
    Fixture::TearDown();
  }

 private:
  static constexpr std::uint64_t kMostSteps = 2;  // of a gate

  std::deque<hal::Operation> operations_;
  std::deque<CountingNotify> notifies_;
  std::deque<Ref<hal::Memory>> memories_;
  std::unique_ptr<hal::DeviceImpl> device_;
  std::deque<OpenLane> lanes_;
  std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace halyard::testing
