// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of CUDA calls, and their threads, of common patterns of submissions.
#include <gmock/gmock.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/atomic.h"
#include "cuda/cuda_test_util.h"
#include "cuda/native_calls.h"

namespace halyard::cuda {
namespace {

class CudaCounts : public CudaTest {
 protected:
  CudaCounts() { check(first.wait_idle()); }

  hal::Device device = registry.open("cuda://0").value();
  hal::Queue first = device.queue();
  hal::Executable executable = device.load(kernels()).value();
  hal::Function add = executable.function("add").value();
  hal::Buffer x = device.allocate({.size = 256}).value();
  hal::Semaphore done = device.create_semaphore().value();
  std::vector<hal::Point> points;

  void dispatch(hal::Queue& queue, const hal::SubmitInfo& options) {
    dispatch(queue, x, options);
  }

  void dispatch(hal::Queue& queue, const hal::Buffer& buffer, const hal::SubmitInfo& options) {
    check(queue.dispatch(add, {.items = {64}}, {buffer, buffer},
                         {std::uint32_t{1}, std::uint32_t{64}}, options));
  }
};

TEST_F(CudaCounts, ADispatchIsALaunchAndAMarker) {
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const NativeCalls calls;
    dispatch(first, {.signal = {{done, i}}});
    check(done.wait(i, kForever));
    EXPECT_EQ(calls.count("cuLaunchKernel"), 1);
    EXPECT_EQ(calls.count("cuEventRecord"), 1);
    EXPECT_EQ(calls.count("cuStreamWaitEvent"), calls.count("cuLaunchHostFunc")) << "the notification";
  }
}

// A copy from other memory of the host may wait for the stream.
TEST_F(CudaCounts, TheBytesOfAnUpdateLieInPinnedMemory) {
  const std::uint32_t seven = 7;
  const NativeCalls calls;
  check(first.update(x, 0, std::as_bytes(std::span(&seven, 1)), {.signal = {{done, 1}}}));
  EXPECT_EQ(calls.count("cuMemHostAlloc"), 1) << "the first of a device";
  check(done.wait(1, kForever));
}

// The capacity of a lane.
TEST_F(CudaCounts, AChainOnALaneIsALaunchEachAndAMarkerForEach32) {
  constexpr int kChain = kMaxInFlight;
  const NativeCalls calls;
  for (std::uint64_t i = 0; i < std::uint64_t{kChain}; ++i) {
    dispatch(first, {.wait = {{done, i}}, .signal = {{done, i + 1}}});
  }
  EXPECT_EQ(calls.count("cuLaunchKernel"), kChain);
  EXPECT_LE(calls.count("cuEventRecord"), kChain / 32);
  EXPECT_EQ(calls.count("cuStreamWaitEvent"), 0);
  EXPECT_EQ(calls.count("cuLaunchHostFunc"), 0);
  EXPECT_EQ(calls.elsewhere(), 0);
  check(done.wait(kChain, kForever));
}

TEST_F(CudaCounts, AParkedChainIsALaunchEachAndAMarkerForEach32) {
  constexpr int kChain = kMaxInFlight;
  const NativeCalls calls;
  for (std::uint64_t i = 0; i < std::uint64_t{kChain}; ++i) {
    dispatch(first, {.wait = {{done, i + 1}}, .signal = {{done, i + 2}}});
  }
  EXPECT_EQ(calls.count("cuLaunchKernel"), 0);
  check(done.signal(1));
  // The signalling thread issues a bounded number of submissions. A thread of Halyard issues the
  // rest.
  while (calls.count("cuLaunchKernel") < kChain) base::spin_pause();
  EXPECT_LE(calls.count("cuEventRecord"), kChain / 32);
  EXPECT_EQ(calls.count("cuStreamWaitEvent"), 0);
  EXPECT_EQ(calls.count("cuLaunchHostFunc"), 0);
  check(done.wait(kChain + 1, kForever));
  EXPECT_EQ(calls.count("cuLaunchKernel"), kChain);
}

TEST_F(CudaCounts, AnEdgeToAnotherLaneIsARecordAndAWait) {
  constexpr int kTurns = 64;
  hal::Queue second = device.create_queue({}).value();
  const NativeCalls calls;
  for (std::uint64_t i = 0; i < std::uint64_t{kTurns}; ++i) {
    dispatch(i % 2 == 0 ? first : second, {.wait = {{done, i}}, .signal = {{done, i + 1}}});
  }
  check(done.wait(kTurns, kForever));
  EXPECT_EQ(calls.count("cuLaunchKernel"), kTurns);
  EXPECT_LE(calls.count("cuEventRecord"), kTurns);
  EXPECT_LE(calls.count("cuStreamWaitEvent") - calls.count("cuLaunchHostFunc"), kTurns);
}

TEST_F(CudaCounts, AForkAndJoinOfEightHasOneMarkerForTheForkAndOneForEachBranch) {
  constexpr std::uint64_t kBranches = 8;
  std::vector<hal::Queue> queues;
  for (std::uint64_t i = 0; i < kBranches; ++i) queues.push_back(device.create_queue({}).value());
  const hal::Semaphore ended = device.create_semaphore().value();
  std::vector<hal::Semaphore> each;
  std::vector<hal::Buffer> buffers;  // branches run at the same time
  std::vector<hal::Point> all;
  for (std::uint64_t i = 0; i < kBranches; ++i) {
    each.push_back(device.create_semaphore().value());
    buffers.push_back(device.allocate({.size = 256}).value());
    all.emplace_back(each.back(), 1);
  }
  const NativeCalls calls;
  dispatch(first, {.signal = {{done, 1}}});
  for (std::uint64_t i = 0; i < kBranches; ++i) {
    dispatch(queues[i], buffers[i], {.wait = {{done, 1}}, .signal = {{each[i], 1}}});
  }
  dispatch(first, {.wait = all, .signal = {{ended, 1}}});
  EXPECT_EQ(calls.count("cuLaunchKernel"), 10);
  EXPECT_LE(calls.count("cuEventRecord"), 9);
  EXPECT_LE(calls.count("cuStreamWaitEvent"), 16);
  EXPECT_EQ(calls.count("cuLaunchHostFunc"), 0);
  EXPECT_EQ(calls.elsewhere(), 0);
  check(ended.wait(1, kForever));
}

TEST_F(CudaCounts, AWaitMakesTheContextCurrentOnceHoweverOftenItPolls) {
  constexpr int kNotReady = 600, kPolls = 50;
  NativeCalls calls;
  dispatch(first, {.signal = {{done, 1}}});
  calls.reset();
  calls.fail("cuEventQuery", kNotReady, kPolls);
  check(done.wait(1, kForever));
  EXPECT_GT(calls.count("cuEventQuery"), kPolls);
  EXPECT_LE(calls.count("cuCtxGetCurrent"), kPolls / 5) << "threads of the runtime look, too";
}

TEST_F(CudaCounts, MemoryOfAPoolThatIsThereTakesNoCalls) {
  const hal::Pool pool = device.create_pool({}).value();
  const auto at = [this](std::uint64_t value) {
    points = {hal::Point(done, value - 1), hal::Point(done, value)};
    return hal::SubmitInfo{.wait = {&points[0], 1}, .signal = {&points[1], 1}};
  };
  const hal::Buffer keeps_the_slab = first.allocate(pool, {.size = 256}, at(1)).value();
  check(done.wait(1, kForever));
  const NativeCalls calls;
  const hal::Buffer y = first.allocate(pool, {.size = 256}, at(2)).value();
  check(first.deallocate(y, at(3)));
  EXPECT_EQ(calls.count("cu"), calls.elsewhere());
  check(done.wait(3, kForever));
}

}  // namespace
}  // namespace halyard::cuda
