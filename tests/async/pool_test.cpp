// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allocate_from(): the pool that an operation's memory comes from and returns to.
#include "halyard/hal/pool.h"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "async/async_test_util.h"
#include "async/stepped_world.h"
#include "halyard/async/deadline.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using testing::await_into;
using testing::Handmade;
using testing::refused_with;
using namespace std::chrono_literals;

const Shape kShape = {64, 64};

class AsyncPool : public AsyncTest {
 protected:
  hal::Pool create(const hal::PoolInfo& info = {}, std::size_t device = 0) const {
    return runtime.device(device).hal().create_pool(info).value();
  }
  // The number of blocks of this pool that are in use.
  static std::uint64_t blocks(const hal::Pool& pool) { return pool.statistics().blocks; }
  auto tensor() const { return ones<float>(kShape); }

  const hal::Pool pool = create();
};

TEST_F(AsyncPool, HasTheMemoryOfThatOperationAndOfNoOther) {
  const Tensor<float> x = run(tensor() | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 1u);
  const auto [a, b, c] = run(zip(tensor(), allocate_from(tensor(), pool), tensor()));
  EXPECT_EQ(blocks(pool), 2u);
  const auto [d, e] = run(zip(tensor(), tensor()) | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 4u);
}

TEST_F(AsyncPool, GetsItsMemoryBackBehindTheLastUse) {
  const hal::Pool small = create({.slab_size = 1 << 16, .max_size = 1 << 16});
  const Shape all = {1 << 14};
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(elements(ones<float>(all) | allocate_from(small)), Each(1));
  }
  EXPECT_EQ(small.statistics().reuses, 49u);
  EXPECT_EQ(failure(ones<float>({1 << 15}) | allocate_from(small)).code(),
            StatusCode::kResourceExhausted);
}

TEST_F(AsyncPool, InsideAnotherCountsAlone) {
  const hal::Pool inner = create();
  const auto [a, b, c] =
      run(zip(tensor(), tensor() | allocate_from(inner), tensor()) | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 2u);
  EXPECT_EQ(blocks(inner), 1u);
}

TEST_F(AsyncPool, OfAShareDoesNotDependOnWhoNeedsItFirst) {
  const Shared<Tensor<float>> x = run(tensor() | share | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 0u);
  const Shared<Tensor<float>> y = run(tensor() | allocate_from(pool) | share);
  EXPECT_EQ(blocks(pool), 1u);
}

TEST_F(AsyncPool, IsThatOfPartsOnItsDeviceOnly) {
  const auto [a, b] = run(join(tensor(), tensor()) | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 2u);
  EXPECT_THAT(elements(tensor() | copy_to(runtime.device(1)) | allocate_from(pool)), Each(1));
}

TEST_F(AsyncPool, IsThatOfWhatAPolicyPlacesWhetherItIsNamedInsideOrOutside) {
  const auto [inside, outside] =
      run(zip(schedule(tensor() | allocate_from(pool), global_policy(0)),
              tensor() | schedule(global_policy(0)) | allocate_from(pool)));
  EXPECT_EQ(blocks(pool), 2u);
  const hal::Pool there = create({}, 1);
  const Tensor<float> x = run(schedule(tensor() | allocate_from(there), global_policy(1)));
  EXPECT_EQ(blocks(there), 1u);
  const Tensor<float> y = run(tensor() | schedule(global_policy(1)) | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 2u) << "it is on another device";
}

TEST_F(AsyncPool, IsThatOfAnotherQueueOfItsDevice) {
  runtime = Runtime::create({runtime.device().hal()}, {.queues = 2}).value();
  const auto second = runtime.device().queue(1);
  const auto [a, b] =
      run(zip(tensor() | on(second) | allocate_from(pool), tensor() | allocate_from(pool)));
  EXPECT_EQ(blocks(pool), 2u);
  const Tensor<float> c = sync_wait(tensor() | allocate_from(pool) | on(second));
  EXPECT_EQ(blocks(pool), 3u);
}

TEST_F(AsyncPool, OfMemoryForTheHostHasWhatTheHostReads) {
  const hal::Pool host = create({.memory = hal::MemoryType::kHostLocal});
  const Tensor<float> x = run(tensor() | allocate_from(host));
  EXPECT_EQ(blocks(host), 0u);
  EXPECT_THAT(run(to_host(tensor()) | allocate_from(host)), Each(1));
  EXPECT_EQ(host.statistics().peak_used_bytes, kShape.elements() * sizeof(float));
}

TEST_F(AsyncPool, HasTheScratchOfARecording) {
  const auto fill_scratch = [](Tensor<float>) { return fill(scratch<float>(kShape), 2.0f); };
  const auto without = run(record(fill_scratch, kShape));
  EXPECT_EQ(blocks(pool), 0u);
  const auto whole = run(record(fill_scratch, kShape) | allocate_from(pool));
  EXPECT_EQ(blocks(pool), 1u);
  const auto part = run(record(
      [&](Tensor<float> x) { return fill_scratch(std::move(x)) | allocate_from(pool); }, kShape));
  EXPECT_EQ(blocks(pool), 2u);
  run(part.replay(tensor()));
  EXPECT_THAT(elements(part.output()), Each(2));
}

// Two arrays of kMost elements are more than the pool ever has.
class AsyncSmallPool : public AsyncPool {
 protected:
  const Shape kMost = {3 << 12};
  auto one() const { return ones<float>(kMost) | allocate_from(small); }

  template <class Op>
  Status status_within(std::chrono::milliseconds time, Op operation) {
    return run([](Op awaited, Deadline when) -> Task<Status> {
      const auto result = co_await as_result(with_deadline(std::move(awaited), when));
      co_return result.status();
    }(std::move(operation), time));
  }
  // If an allocation whose await has ended still held memory, this allocation would wait for it.
  void expect_free() { EXPECT_TRUE(status_within(20s, to_host(one())).ok()); }

  const hal::Pool small = create({.slab_size = 1 << 16, .max_size = 1 << 16});
};

TEST_F(AsyncSmallPool, IsLeftByATreeThatWaitsForItself_AtItsDeadline) {
  EXPECT_THAT(status_within(5ms, zip(one(), one())),
              refused_with(StatusCode::kDeadlineExceeded, "bytes of pool"));
  expect_free();
}

TEST_F(AsyncSmallPool, IsLeftByATreeThatWaitsForItself_WhenAStopIsRequested) {
  std::stop_source source;
  const std::jthread stopping([&] {
    while (small.statistics().blocks == 0) std::this_thread::yield();
    source.request_stop();
  });
  const auto stopped =
      sync_wait(as_result(zip(one(), one()) | on(runtime.device()) | stop_with(source.get_token())));
  EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
  expect_free();
}

TEST_F(AsyncSmallPool, IsLeftByATreeWhoseCoroutineIsDestroyed) {
  {
    std::optional<Result<std::tuple<Tensor<float>, Tensor<float>>>> out;
    const Handmade coroutine = await_into(out, zip(one(), one()) | on(runtime.device()));
    EXPECT_FALSE(coroutine.done());
  }
  expect_free();
}

TEST_F(AsyncSmallPool, IsLeftByATreeThatFailsAsItIsSubmitted) {
  const Tensor<float> x = run(one());
  Tensor<float> moved = run(tensor());
  const Tensor<float> kept = std::move(moved);
  const auto first = [](auto both) { return std::get<0>(std::move(both)); };
  const auto expect_room = [&] {
    EXPECT_TRUE(status_within(20s, ones<float>({1}) | allocate_from(small)).ok());
  };
  EXPECT_EQ(failure(zip(one(), fill(std::move(moved), 1.0f))).code(),
            StatusCode::kInvalidArgument);
  expect_room();
  EXPECT_EQ(failure(zip(one(), fill(std::move(moved), 1.0f)) | map(first) | share).code(),
            StatusCode::kInvalidArgument);
  expect_room();
  const auto throws = [](int) -> int { throw std::runtime_error("planned"); };
  EXPECT_THROW((void)run(zip(one(), value(1) | map(throws))), std::runtime_error);
  expect_room();
}

TEST_F(AsyncSmallPool, IsLeftByPartsOnOtherQueues) {
  runtime = Runtime::create({runtime.device().hal()}, {.queues = 2}).value();
  const auto second = runtime.device().queue(1);
  EXPECT_EQ(status_within(5ms, zip(zip(one(), one()) | on(second), 1)).code(),
            StatusCode::kDeadlineExceeded);
  expect_free();
  EXPECT_EQ(status_within(5ms, zip(zip(zip(one(), one()) | on(second), 1) | on(second), 1)).code(),
            StatusCode::kDeadlineExceeded);
  expect_free();
}

TEST_F(AsyncPool, OfAnotherDeviceOrNoneIsRefused) {
  EXPECT_EQ(failure(tensor() | allocate_from(create({}, 1))).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(failure(tensor() | allocate_from(hal::Pool())).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace halyard::async
