// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of a steady state of a vulkan device: native calls, and allocations except Vulkan's own.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "counts/allocations.h"
#include "drivers/vulkan/driver.h"
#include "hal/device/registry.h"
#include "halyard/halyard.h"
#include "vulkan/vulkan_test_util.h"

namespace halyard::vulkan {
namespace {

using namespace std::chrono_literals;

class VulkanCounts : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    check(register_vulkan_driver(registry_));
    device_ = registry_.open("vulkan://").value();
    queue_ = device_.queue();
    done_ = device_.create_semaphore().value();
    for (hal::Buffer& buffer : buffers_) {
      buffer = device_.allocate({.size = 1024, .memory = hal::MemoryType::kHostVisible}).value();
    }
  }

  hal::Function mix() {
    const std::string path =
        std::filesystem::canonical("/proc/self/exe").parent_path() / "kernels/vulkan_kernels.hyx";
    executable_ = device_.load(path).value();
    return executable_.function("mix").value();
  }

  // Calls `submit` with the point to signal, and waits for that.
  template <class F>
  void run(F&& submit) {
    const hal::Point point{done_, ++value_};
    check(submit(point));
    check(done_.wait(value_, 60s));
  }
  template <class F>
  int calls(std::string_view site, int rounds, F&& submit) {
    for (int i = 0; i < 8; ++i) run(submit);
    const Calls counted(site);
    for (int i = 0; i < rounds; ++i) run(submit);
    return counted.count();
  }

  hal::DriverRegistry registry_;
  hal::Device device_;
  hal::Queue queue_;
  hal::Semaphore done_;
  hal::Buffer buffers_[4];
  hal::Executable executable_;
  std::uint64_t value_ = 0;
};

TEST_F(VulkanCounts, OneSubmitForWhatIsReleasedTogether) {
  const hal::Semaphore gate = device_.create_semaphore().value();
  constexpr std::uint64_t kSubmissions = 16;
  for (std::uint64_t i = 1; i <= kSubmissions; ++i) {
    check(queue_.fill(buffers_[i % 4], 1, 1, {.wait = {{gate, 1}}, .signal = {{done_, i}}}));
  }
  const Calls submits("vulkan.vkQueueSubmit2");
  check(gate.signal(1));
  check(done_.wait(kSubmissions, 60s));
  EXPECT_EQ(submits.count(), 1);
}

TEST_F(VulkanCounts, OneSubmitForEachOfAChain) {
  EXPECT_EQ(calls("vulkan.vkQueueSubmit2", 20,
                  [&](const hal::Point& point) { return queue_.barrier({.signal = {point}}); }),
            20);
}

TEST_F(VulkanCounts, AReplayRecordsNothing) {
  hal::Recorder recorder(device_);
  recorder.fill(buffers_[0], 3, 1).barrier().copy(buffers_[0], buffers_[1]);
  const hal::CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(
      calls("vulkan.vkBeginCommandBuffer", 20,
            [&](const hal::Point& point) { return queue_.execute(commands, {.signal = {point}}); }),
      0);
}

TEST_F(VulkanCounts, AReplayWithOtherBuffersOfDispatchesRecordsNothing) {
  const hal::Function function = mix();
  hal::Recorder recorder(device_);
  recorder.dispatch(function, {.items = 256}, {hal::slot(0), hal::slot(1)}, {1u, 256u});
  const hal::CommandBuffer commands = recorder.finish().value();
  int round = 0;
  EXPECT_EQ(calls("vulkan.vkBeginCommandBuffer", 20,
                  [&](const hal::Point& point) {
                    ++round;
                    return queue_.execute(
                        commands, {.bindings = {buffers_[round % 2], buffers_[2 + round % 2]},
                                   .signal = {point}});
                  }),
            0);
}

TEST_F(VulkanCounts, AReplayWithTheSameBuffersOfCopiesRecordsNothing) {
  hal::Recorder recorder(device_);
  recorder.copy(hal::slot(0, 0, 1024), hal::slot(1));
  const hal::CommandBuffer commands = recorder.finish().value();
  EXPECT_EQ(calls("vulkan.vkBeginCommandBuffer", 20,
                  [&](const hal::Point& point) {
                    return queue_.execute(
                        commands, {.bindings = {buffers_[0], buffers_[1]}, .signal = {point}});
                  }),
            0);
}

TEST_F(VulkanCounts, AReplayWithOtherBuffersOfAnyCommandRecordsNothing) {
  const hal::Function function = mix();
  const std::uint32_t ones[] = {1, 1, 1};
  const auto counts = std::as_bytes(std::span(ones));
  const auto bytes = std::as_bytes(std::span(ones, 1));
  const struct {
    const char* name;
    std::function<void(hal::Recorder&)> record;
  } rows[] = {
      {"copy", [](auto& r) { r.copy(hal::slot(0, 1, 100), hal::slot(1, 2)); }},
      {"fill", [](auto& r) { r.fill(hal::slot(0, 4, 8), 7, 4).fill(hal::slot(1, 0, 3), 7, 1); }},
      {"fill to the end", [](auto& r) { r.fill(hal::slot(0), 7, 1).fill(hal::slot(1, 2), 7, 2); }},
      {"update", [&](auto& r) { r.update(hal::slot(0, 3), bytes).fill(hal::slot(1), 7, 1); }},
      {"counts",
       [&](auto& r) {
         r.update(hal::slot(0), counts)
             .barrier()
             .dispatch_indirect(function, hal::slot(0), {hal::slot(1), buffers_[2]}, {1u, 64u});
       }},
  };
  for (const auto& row : rows) {
    hal::Recorder recorder(device_);
    row.record(recorder);
    const hal::CommandBuffer commands = recorder.finish().value();
    int round = 0;
    EXPECT_EQ(calls("vulkan.vkBeginCommandBuffer", 20,
                    [&](const hal::Point& point) {
                      ++round;
                      return queue_.execute(
                          commands, {.bindings = {buffers_[round % 2], buffers_[1 - round % 2]},
                                     .signal = {point}});
                    }),
              0)
        << row.name;
  }
}

TEST_F(VulkanCounts, ASteadySubmissionAllocatesNothing) {
  if (!counts::counts_allocations()) GTEST_SKIP() << "a sanitizer counts its own";
  const hal::Function function = mix();
  hal::Recorder recorder(device_);
  recorder.fill(buffers_[0], 3, 1).barrier().copy(buffers_[0], buffers_[1]);
  const hal::CommandBuffer commands = recorder.finish().value();
  const auto round = [&] {
    run([&](const hal::Point& point) { return queue_.barrier({.signal = {point}}); });
    run([&](const hal::Point& point) {
      return queue_.fill(buffers_[0], 1, 1, {.signal = {point}});
    });
    run([&](const hal::Point& point) {
      return queue_.copy(buffers_[0], buffers_[1], {.signal = {point}});
    });
    run([&](const hal::Point& point) { return queue_.execute(commands, {.signal = {point}}); });
    run([&](const hal::Point& point) {
      return queue_.dispatch(function, {.items = 256}, {buffers_[0], buffers_[1]}, {1u, 256u},
                             {.signal = {point}});
    });
  };
  // By then each slot of the lane has held each kind of submission.
  for (std::uint32_t i = 0; i < kMaxInFlight; ++i) round();
  fake().count_allocations = counts::thread_allocations;
  // Whether a wait sleeps depends on which thread is faster. Memory that a wait needed once is
  // kept.
  constexpr int kSteady = 20;
  int steady = 0;
  for (int i = 0; i < 2000 && steady < kSteady; ++i) {
    const std::uint64_t before = counts::thread_allocations();
    const std::uint64_t foreign = fake().foreign_here();
    round();
    const std::uint64_t here = counts::thread_allocations() - before;
    steady = here == fake().foreign_here() - foreign ? steady + 1 : 0;
  }
  EXPECT_EQ(steady, kSteady);
  fake().count_allocations = nullptr;
}

}  // namespace
}  // namespace halyard::vulkan
