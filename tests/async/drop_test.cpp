// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is dropped while it is in flight, and what fails there: on a device whose queues run when
// the test says so, and whose freed memory is overwritten by what gets it next.
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "async/async_test_util.h"
#include "hal/pool_world.h"

namespace halyard::async {
namespace {

using ::testing::Each;
using testing::refused_with;

// A coroutine that the test destroys when it likes.
struct Handmade {
  struct promise_type {
    Handmade get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

template <class Op>
Handmade await_into(std::optional<Result<typename detail::Await<Op>::Value>>& out,
                    DeviceFuture<Op> future) {
  out.emplace(co_await as_result(std::move(future)));
}

class AsyncDrop : public hal::testing::PoolTest {
 protected:
  ~AsyncDrop() override {
    run_all();
    runtime = {};
  }
  std::uint64_t used_bytes() {
    return device.default_pool(hal::MemoryType::kDeviceLocal).statistics().used_bytes;
  }
  Runtime runtime = Runtime::create({device}).value();
};

TEST_F(AsyncDrop, AnAwaitEndsWhenTheDeviceIsDone) {
  std::optional<Result<std::vector<float>>> out;
  const Handmade coroutine =
      await_into(out, to_host(full<float>({4}, 3.0f)) | on(runtime.device()));
  EXPECT_FALSE(coroutine.handle.done());
  run_all();
  ASSERT_TRUE(coroutine.handle.done());
  EXPECT_THAT(out->value(), Each(3.0f));
  coroutine.handle.destroy();
}

TEST_F(AsyncDrop, ADestroyedAwaiterLeavesTheWorkToItsEndAndItsMemoryBehindIt) {
  std::optional<Result<Tensor<float>>> out;
  const Handmade coroutine = await_into(out, ones<float>({1000}) | on(runtime.device()));
  coroutine.handle.destroy();
  EXPECT_FALSE(out.has_value());
  run_all();
  EXPECT_EQ(used_bytes(), 0u);
}

TEST_F(AsyncDrop, AnAwaiterMayBeDestroyedAtEveryMoment) {
  control->lane_capacity = 1;  // so that a lane runs one submission at a time
  for (int moment = 0; moment < 10; ++moment) {
    std::optional<Result<std::tuple<Tensor<float>, std::vector<float>>>> out;
    const Handmade coroutine =
        await_into(out, zip(full<float>({1000}, 1.0f), to_host(full<float>({1000}, 2.0f))) |
                            on(runtime.device()));
    for (int i = 0; i < moment; ++i) {
      step();
      for (hal::testing::FakeLane* const lane : control->lanes) {
        if (lane != nullptr) lane->run();
      }
    }
    coroutine.handle.destroy();
    out.reset();
    for (int i = 0; i < 4; ++i) run_all();
    EXPECT_EQ(used_bytes(), 0u) << moment;
  }
}

// The second tensor gets the block of the first, whose copy is still to run.
TEST_F(AsyncDrop, MemoryThatIsDroppedInFlightIsUsedAgainInOrder) {
  std::optional<Result<std::vector<float>>> first, second;
  const Handmade a = await_into(first, to_host(full<float>({1000}, 1.0f)) | on(runtime.device()));
  const Handmade b = await_into(second, to_host(full<float>({1000}, 2.0f)) | on(runtime.device()));
  run_all();
  EXPECT_THAT(first->value(), Each(1.0f));
  EXPECT_THAT(second->value(), Each(2.0f));
  EXPECT_GE(device.default_pool(hal::MemoryType::kDeviceLocal).statistics().reuses, 1u);
  a.handle.destroy();
  b.handle.destroy();
  run_all();
  EXPECT_EQ(used_bytes(), 0u);
}

TEST_F(AsyncDrop, ADestroyedAwaiterHarmsNoOther) {
  std::optional<Result<Tensor<float>>> dropped;
  std::optional<Result<std::vector<float>>> out;
  const Handmade a = await_into(dropped, ones<float>({1000}) | on(runtime.device()));
  const Handmade b = await_into(out, to_host(ones<float>({1000})) | on(runtime.device()));
  a.handle.destroy();
  run_all();
  EXPECT_THAT(out->value(), Each(1.0f));
  b.handle.destroy();
}

TEST_F(AsyncDrop, TheRuntimeMayGoWhileAnAwaitIsUnderWay) {
  std::optional<Result<std::vector<float>>> out;
  const Handmade coroutine = await_into(out, to_host(ones<float>({4})) | on(runtime.device()));
  runtime = {};
  run_all();
  EXPECT_THAT(out->value(), Each(1.0f));
  coroutine.handle.destroy();
}

TEST_F(AsyncDrop, AFaultAfterSubmissionReachesTheAwaiter) {
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Result<Tensor<float>>> out;
  const Handmade coroutine = await_into(out, ones<float>({1000}) | on(runtime.device()));
  EXPECT_FALSE(coroutine.handle.done()) << "it was submitted";
  run_all();
  ASSERT_TRUE(coroutine.handle.done());
  EXPECT_THAT(out->status(), refused_with(StatusCode::kResourceExhausted, "on purpose"));
  coroutine.handle.destroy();
}

TEST_F(AsyncDrop, WhatComesAfterAFaultIsNotHarmed) {
  std::optional<Result<Shared<Tensor<float>>>> before;
  const Handmade a = await_into(before, ones<float>({4}) | share | on(runtime.device()));
  run_all();
  const Shared<Tensor<float>> kept = before->value();

  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Result<Tensor<float>>> failed;
  const Handmade b = await_into(failed, ones<float>({1'000'000}) | on(runtime.device()));
  run_all();
  EXPECT_FALSE(failed->ok());
  control->fail_allocate = {};

  std::optional<Result<std::vector<float>>> out;
  const Handmade c = await_into(out, to_host(kept) | on(runtime.device()));
  run_all();
  EXPECT_THAT(out->value(), Each(1.0f));
  for (const Handmade& coroutine : {a, b, c}) coroutine.handle.destroy();
}

// One timeline per queue: what stands behind a failed submission fails with it, and no more.
TEST_F(AsyncDrop, WhatStandsBehindAFaultFailsAndWhatItReadIsNotHarmed) {
  std::optional<Result<Shared<Tensor<float>>>> x;
  const Handmade a = await_into(x, ones<float>({4}) | share | on(runtime.device()));
  run_all();
  const Shared<Tensor<float>> kept = x->value();

  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Result<Tensor<float>>> failed;
  std::optional<Result<std::vector<float>>> behind, later;
  const Handmade b = await_into(failed, ones<float>({1'000'000}) | on(runtime.device()));
  const Handmade c = await_into(behind, to_host(kept) | on(runtime.device()));
  run_all();
  EXPECT_THAT(behind->status(), refused_with(StatusCode::kResourceExhausted, "on purpose"));
  control->fail_allocate = {};
  const Handmade d = await_into(later, to_host(kept) | on(runtime.device()));
  run_all();
  EXPECT_THAT(later->value(), Each(1.0f));
  for (const Handmade& coroutine : {a, b, c, d}) coroutine.handle.destroy();
}

// Nobody awaits it, so nobody learns of its failure; but it was to be written.
TEST_F(AsyncDrop, ATensorWhoseWriteFailedGivesThatFailure) {
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Shared<Tensor<float>>> kept;
  std::optional<Result<int>> failed;
  const Handmade a = await_into(failed, ones<float>({1000}) | share | map([&](auto&& tensor) {
                                          kept = std::move(tensor);
                                          return 0;
                                        }) | on(runtime.device()));
  run_all();
  control->fail_allocate = {};
  std::optional<Result<std::vector<float>>> later;
  const Handmade b = await_into(later, to_host(*kept) | on(runtime.device()));
  run_all();
  EXPECT_THAT(later->status(), refused_with(StatusCode::kResourceExhausted, "on purpose"));
  std::optional<Result<std::vector<float>>> other;
  const Handmade c = await_into(other, to_host(ones<float>({4})) | on(runtime.device()));
  kept.reset();
  run_all();
  EXPECT_THAT(other->value(), Each(1.0f));
  for (const Handmade& coroutine : {a, b, c}) coroutine.handle.destroy();
}

}  // namespace
}  // namespace halyard::async
