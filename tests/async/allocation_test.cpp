// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations of an await in a steady state, counted on all threads by a replacement of malloc.
#include <cstddef>
#include <stop_token>
#include <vector>

#include "async/allocation_test_util.h"

namespace halyard::async {
namespace {

using testing::saxpy;

using AsyncAllocation = testing::AllocationTest;

TEST_F(AsyncAllocation, TheCountIsReal) {
  EXPECT_EQ(least_allocations(
                [] {
                  int* volatile number = new int;  // volatile, so that the compiler keeps the pair
                  delete number;
                },
                1000),
            1000u);
}

TEST_F(AsyncAllocation, AKernelCallOnTensorsThatAreThereAllocatesNothing) {
  const Shared<Tensor<float>> x = sync_wait(ones<float>({16, 16}) | share, runtime);
  Partition<Tensor<float>> y = sync_wait(ones<float>({16, 16}) | partition(4, 4), runtime);
  EXPECT_EQ(least_allocations([&] { y = sync_wait(saxpy(2.0f, x, std::move(y)) | last, runtime); }),
            0u);
}

// Both shapes have as many bytes, so their launches replace each other in one cache entry.
TEST_F(AsyncAllocation, KernelCallsOnTwoShapesInTurnAllocateNothing) {
  const auto x = [&](const Shape& shape) { return sync_wait(ones<float>(shape) | share, runtime); };
  const auto y = [&](const Shape& shape) {
    return sync_wait(ones<float>(shape) | partition(4, 4), runtime);
  };
  const Shared<Tensor<float>> x1 = x({16, 16}), x2 = x({32, 8});
  Partition<Tensor<float>> y1 = y({16, 16}), y2 = y({32, 8});
  EXPECT_EQ(least_allocations([&] {
              y1 = sync_wait(saxpy(2.0f, x1, std::move(y1)) | last, runtime);
              y2 = sync_wait(saxpy(2.0f, x2, std::move(y2)) | last, runtime);
            }),
            0u);
}

TEST_F(AsyncAllocation, ArithmeticThatWritesOverATensorAllocatesNothing) {
  const Shared<Tensor<float>> x = sync_wait(ones<float>({16, 16}) | share, runtime);
  Tensor<float> y = sync_wait(empty<float>({16, 16}), runtime);
  EXPECT_EQ(least_allocations([&] { y = sync_wait(add(x, x, std::move(y)), runtime); }), 0u);
}

Task<Partition<Tensor<float>>> step(Shared<Tensor<float>> x, Partition<Tensor<float>> y) {
  co_return co_await (saxpy(2.0f, std::move(x), std::move(y)) | last);
}

Task<Partition<Tensor<float>>> two_steps(Shared<Tensor<float>> x, Partition<Tensor<float>> y) {
  auto once = co_await step(x, std::move(y));
  co_return co_await step(std::move(x), std::move(once));
}

TEST_F(AsyncAllocation, TasksThatAwaitTasksAllocateNothing) {
  const Shared<Tensor<float>> x = sync_wait(ones<float>({16, 16}) | share, runtime);
  Partition<Tensor<float>> y = sync_wait(ones<float>({16, 16}) | partition(4, 4), runtime);
  EXPECT_EQ(least_allocations([&] { y = sync_wait(two_steps(x, std::move(y)), runtime); }), 0u);
}

TEST_F(AsyncAllocation, AReplayAllocatesNothing) {
  auto y = sync_wait(ones<float>({16, 16}) | partition(4, 4), runtime);
  const auto x = sync_wait(ones<float>({16, 16}) | share, runtime);
  const auto step = sync_wait(record(saxpy(2.0f, x, std::move(y))), runtime);
  EXPECT_EQ(least_allocations([&] { sync_wait(step.replay(), runtime); }), 0u);
}

TEST_F(AsyncAllocation, AReplayThatUsesManyArraysAllocatesNothing) {
  const auto array = [] { return fill(scratch<float>(16), 1.0f); };
  const auto four = [&] { return zip(array(), array(), array(), array()); };
  const auto step = sync_wait(record(zip(four(), four(), four())), runtime);
  EXPECT_EQ(least_allocations([&] { sync_wait(step.replay(), runtime); }), 0u);
}

TEST_F(AsyncAllocation, AReplayOnArraysThatItIsGivenAllocatesNothing) {
  auto y = sync_wait(zeros<float>({16, 16}), runtime);
  const auto x = sync_wait(ones<float>({16, 16}) | share, runtime);
  const auto step =
      sync_wait(record([](Shared<Tensor<float>> from,
                          Tensor<float> to) { return copy(std::move(from), std::move(to)); },
                       x.shape(), y.shape()),
                runtime);
  EXPECT_EQ(least_allocations([&] { y = sync_wait(step.replay(x, std::move(y)) | last, runtime); }),
            0u);
}

TEST_F(AsyncAllocation, CellsAndPartsOnOtherQueuesAllocateNothing) {
  runtime = Runtime::open("cpu://?check=0&workers=1", {.queues = 2}).value();
  const auto x = sync_wait(ones<float>({16, 16}) | share, runtime);
  Partition<Tensor<float>> y = sync_wait(ones<float>({16, 16}) | partition(4, 4), runtime);
  EXPECT_EQ(least_allocations([&] {
              auto [a, x1, y1] =
                  unzip(saxpy(2.0f, x, std::move(y)) | on(runtime.device().queue(1)));
              auto shared = value(2.0f) | share;
              y = sync_wait(saxpy(shared, x, std::move(y1)) | last, runtime);
            }),
            0u);
}

// All tasks wait at once.
TEST_F(AsyncAllocation, ANurseryWithTasksAllocatesNothing) {
  const auto x = sync_wait(ones<float>({16, 16}) | share, runtime);
  const auto into = [](Shared<Tensor<float>> of, Partition<Tensor<float>>& tiles) -> Task<> {
    tiles = co_await (saxpy(2.0f, std::move(of), std::move(tiles)) | last);
  };
  for (const std::size_t tasks : {1, 2, 5}) {
    std::vector<Partition<Tensor<float>>> y;
    for (std::size_t i = 0; i < tasks; ++i) {
      y.push_back(sync_wait(ones<float>({16, 16}) | partition(4, 4), runtime));
    }
    std::stop_source stop;
    const auto side_by_side = [&]() -> Task<> {
      Nursery nursery;
      for (auto& tiles : y) co_await nursery.spawn(into(x, tiles));
      co_await nursery.join();
    };
    EXPECT_EQ(least_allocations([&] { sync_wait(side_by_side(), runtime); }), 0u) << tasks;
    EXPECT_EQ(least_allocations([&] { sync_wait(side_by_side(), runtime, stop.get_token()); }), 0u)
        << tasks << " that may be stopped";
  }
}

// A new shape has no cached launch yet, but its function is cached.
TEST_F(AsyncAllocation, AKernelIsBoundOnce) {
  std::uint64_t size = 0, least = ~std::uint64_t{0};
  for (int i = 0; i < 200; ++i) {
    const Shared<Tensor<float>> ones = ones_of({++size, 4});
    Partition<Tensor<float>> y = tiles_of({size, 4});
    const std::uint64_t before = counts::allocations();
    y = sync_wait(saxpy(2.0f, ones, std::move(y)) | last, runtime);
    least = std::min(least, counts::allocations() - before);
  }
  EXPECT_EQ(least, 0u);
}

// The HAL allocates both: the buffer and its memory object (Queue::allocate).
TEST_F(AsyncAllocation, ANewTensorAllocatesTwice) {
  EXPECT_LE(least_allocations([&] { (void)sync_wait(zeros<float>({16, 16}), runtime); }, 2000),
            2000u);
}

}  // namespace
}  // namespace halyard::async
