// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device with pools whose lanes and runtime threads run only when a test steps them.
#pragma once

#include <functional>
#include <thread>

#include "hal/device/device.h"
#include "hal/fake_driver.h"
#include "hal/memory/pool.h"

namespace halyard::hal::testing {

inline constexpr std::uint64_t kSlab = 4096;

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() { control->automatic = false; }
  ~PoolTest() override {
    queue = copy = {};
    device = {};
    for (int i = 0; i < 100 && control->open_devices != 0; ++i) {
      run_all();
      (void)registry.step(base::Shell::kReclaim);
    }
    EXPECT_EQ(control->open_devices, 0);
    EXPECT_EQ(control->live_memories, 0);
  }

  // Steps the shells until they have nothing to do.
  void step() {
    for (bool ran = true; ran;) {
      ran = false;
      for (const auto shell : {base::Shell::kIssue, base::Shell::kCompletion, base::Shell::kHost,
                               base::Shell::kReclaim}) {
        ran |= registry.step(shell);
      }
    }
  }
  // Steps the lanes too.
  void run_all() {
    for (int i = 0; i < 8; ++i) {
      step();
      for (FakeLane* lane : control->lanes) {
        if (lane != nullptr) lane->run();
      }
    }
    step();
  }
  Pool make_pool(PoolInfo info = {}) {
    info.memory = MemoryType::kHostVisible;
    if (info.slab_size == PoolInfo().slab_size) info.slab_size = kSlab;
    if (info.name.empty()) info.name = "small";
    return device.create_pool(info).value();
  }
  // A pool of at most one slab.
  Pool one_slab(bool hidden_waits = true) {
    return make_pool({.max_size = kSlab, .hidden_waits = hidden_waits});
  }
  Buffer allocate(const Pool& pool, std::uint64_t size, const SubmitInfo& info = {}) {
    return allocate(queue, pool, size, info);
  }
  Buffer allocate(const Queue& on, const Pool& pool, std::uint64_t size,
                  const SubmitInfo& info = {}) {
    return on.allocate(pool, {.size = size, .memory = MemoryType::kHostVisible}, info).value();
  }
  Semaphore semaphore() { return device.create_semaphore().value(); }
  bool has_memory(const Buffer& buffer) { return buffer.map().ok(); }

  std::shared_ptr<Control> control = std::make_shared<Control>();
  StepSource source;
  DriverRegistry registry{source};
  Device device = [this] {
    check(registry.add(std::make_unique<FakeDriver>(control)));
    return registry.open("fake://").value();
  }();
  Queue queue = device.queue();
  Queue copy = device.queue(QueueKind::kCopy);
  FakeLane& compute_lane = *control->lanes.at(0);
  FakeLane& copy_lane = *control->lanes.at(1);
};

}  // namespace halyard::hal::testing
