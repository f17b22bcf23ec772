// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the arms of V1 to V8: a queue and a semaphore of Halyard, and a timeline semaphore of
// raw Vulkan.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "vulkan_raw.h"
#include "world.h"

namespace halyard::bench {

// Halyard's side. Throws Unavailable if there is no Vulkan device.
struct VulkanQueue {
  hal::Device device;
  hal::Queue queue;
  hal::Semaphore done;
  std::uint64_t value = 0;

  VulkanQueue();
  void expect_done() const { verify(done.query().value() == value, "Halyard's semaphore"); }
};

// Raw Vulkan's side.
struct RawQueue {
  std::shared_ptr<RawVulkan> vulkan;
  VkSemaphore done;
  std::uint64_t value = 0;

  RawQueue();
  // Submits the commands, if any, after `waits`, and signals the next value.
  void submit(VkCommandBuffer commands, std::span<const VkSemaphoreSubmitInfo> waits = {}) {
    const VkSemaphoreSubmitInfo signal = point(done, ++value);
    const VkCommandBufferSubmitInfo buffer = commands_info(commands);
    const VkSubmitInfo2 submit =
        submission(waits, {&buffer, commands != VK_NULL_HANDLE ? std::size_t{1} : std::size_t{0}},
                   {&signal, 1});
    vulkan->submit({&submit, 1});
  }
  void wait() const { vulkan->wait({&done, 1}, {&value, 1}); }
  void expect_done() const { verify(vulkan->value(done) == value, "the timeline semaphore"); }
};

// Throws Unavailable unless both use the same physical device.
void expect_one_device(const VulkanQueue& halyard, const RawQueue& raw);

// Runs `state->run(count)` and checks its results.
template <class State>
Arm arm(const char* name, std::shared_ptr<State> state, int count) {
  return {name, [state = std::move(state), count] {
            const Sample sample = state->run(count);
            state->expect_done();
            return sample;
          }};
}

template <class Halyard, class Raw>
Arms arms(const char* halyard_name, const char* raw_name, int count) {
  auto halyard = std::make_shared<Halyard>();
  auto raw = std::make_shared<Raw>();
  expect_one_device(*halyard, *raw);
  return {arm(halyard_name, std::move(halyard), count), arm(raw_name, std::move(raw), count), {}};
}

// One time for each of `count` operations.
template <class F>
Sample each_by_itself(int count, F&& operation) {
  Sample sample;
  for (int i = 0; i < count; ++i) sample.times.push_back(time_each(1, operation));
  return sample;
}

// One time for each loop of 50 operations, which take microseconds.
template <class F>
Sample in_loops(int count, F&& operation) {
  constexpr int kLoop = 50;
  Sample sample;
  for (int i = 0; i < count; ++i) {
    sample.times.push_back(time_each(kLoop, [&] {
      for (int k = 0; k < kLoop; ++k) operation();
    }));
  }
  return sample;
}

std::vector<Row> vulkan_submit_rows();  // V1, V3, V4, V5, V8
std::vector<Row> vulkan_kernel_rows();  // V2, V6, V7

}  // namespace halyard::bench
