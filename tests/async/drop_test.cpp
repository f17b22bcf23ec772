// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drops and failures of work in flight. The test steps the device's queues, and the next allocation
// overwrites freed memory.
#include <optional>
#include <stdexcept>
#include <utility>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::await_into;
using ::testing::Each;
using testing::Handmade;
using testing::refused_with;

using AsyncDrop = testing::SteppedTest;

TEST_F(AsyncDrop, AnAwaitEndsWhenTheDeviceIsDone) {
  std::optional<Result<std::vector<float>>> out;
  Handmade coroutine = await_into(out, to_host(full<float>({4}, 3.0f)) | on(runtime.device()));
  EXPECT_FALSE(coroutine.done());
  run_all();
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(out->value(), Each(3.0f));
}

TEST_F(AsyncDrop, ADestroyedAwaiterLeavesTheWorkToItsEndAndItsMemoryBehindIt) {
  std::optional<Result<Tensor<float>>> out;
  Handmade coroutine = await_into(out, ones<float>({1000}) | on(runtime.device()));
  coroutine.destroy();
  EXPECT_FALSE(out.has_value());
  run_all();
  EXPECT_EQ(used_bytes(), 0u);
}

TEST_F(AsyncDrop, AnAwaiterMayBeDestroyedAtEveryMoment) {
  control->lane_capacity = 1;  // so that a lane runs one submission at a time
  for (int moment = 0; moment < 10; ++moment) {
    std::optional<Result<std::tuple<Tensor<float>, std::vector<float>>>> out;
    Handmade coroutine =
        await_into(out, zip(full<float>({1000}, 1.0f), to_host(full<float>({1000}, 2.0f))) |
                            on(runtime.device()));
    for (int i = 0; i < moment; ++i) {
      step();
      for (hal::testing::FakeLane* const lane : control->lanes) {
        if (lane != nullptr) lane->run();
      }
    }
    coroutine.destroy();
    out.reset();
    for (int i = 0; i < 4; ++i) run_all();
    EXPECT_EQ(used_bytes(), 0u) << moment;
  }
}

// The second tensor gets the block of the first, whose copy has not run yet.
TEST_F(AsyncDrop, MemoryThatIsDroppedInFlightIsUsedAgainInOrder) {
  std::optional<Result<std::vector<float>>> first, second;
  const Handmade a = await_into(first, to_host(full<float>({1000}, 1.0f)) | on(runtime.device()));
  step();
  const Handmade b = await_into(second, to_host(full<float>({1000}, 2.0f)) | on(runtime.device()));
  run_all();
  EXPECT_THAT(first->value(), Each(1.0f));
  EXPECT_THAT(second->value(), Each(2.0f));
  EXPECT_GE(pool().reuses, 1u);
  run_all();
  EXPECT_EQ(used_bytes(), 0u);
}

TEST_F(AsyncDrop, ADestroyedAwaiterHarmsNoOther) {
  std::optional<Result<Tensor<float>>> dropped;
  std::optional<Result<std::vector<float>>> out;
  Handmade a = await_into(dropped, ones<float>({1000}) | on(runtime.device()));
  const Handmade b = await_into(out, to_host(ones<float>({1000})) | on(runtime.device()));
  a.destroy();
  run_all();
  EXPECT_THAT(out->value(), Each(1.0f));
}

TEST_F(AsyncDrop, TheRuntimeMayGoWhileAnAwaitIsUnderWay) {
  std::optional<Result<std::vector<float>>> out;
  Handmade coroutine = await_into(out, to_host(ones<float>({4})) | on(runtime.device()));
  runtime = {};
  run_all();
  EXPECT_THAT(out->value(), Each(1.0f));
}

TEST_F(AsyncDrop, TheRuntimeMayGoWhileAPartOnAnotherDeviceIsNotIssued) {
  control->lane_capacity = 1;
  Runtime both = Runtime::create({device, registry.open("fake://").value()}).value();
  std::optional<Result<std::tuple<std::vector<float>, int>>> out;
  const auto drop = [](Tensor<float>&&) { return 7; };
  Handmade coroutine =
      await_into(out, zip(to_host(full<float>({4}, 1.0f)),
                          full<float>({4}, 2.0f) | map(drop) | on(both.device(1))) |
                          on(both.device(0)));
  both = {};
  for (int i = 0; i < 4; ++i) run_all();
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(std::get<1>(out->value()), 7);
}

TEST_F(AsyncDrop, AFaultAfterSubmissionReachesTheAwaiter) {
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Result<Tensor<float>>> out;
  Handmade coroutine = await_into(out, ones<float>({1'000'000}) | on(runtime.device()));
  EXPECT_FALSE(coroutine.done()) << "it is submitted";
  run_all();
  ASSERT_TRUE(coroutine.done());
  EXPECT_THAT(out->status(), refused_with(StatusCode::kResourceExhausted, "on purpose"));
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
}

TEST_F(AsyncDrop, AFaultReachesItsTreeAndNoOtherOnTheSameQueue) {
  const Shared<Tensor<float>> kept = tensor(1.0f) | share;
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Result<std::tuple<Tensor<float>, std::vector<float>>>> failed;
  std::optional<Result<std::vector<float>>> behind;
  const Handmade b =
      await_into(failed, zip(ones<float>({1'000'000}), to_host(kept)) | on(runtime.device()));
  const Handmade c = await_into(behind, to_host(kept) | on(runtime.device()));
  run_all();
  EXPECT_THAT(failed->status(), refused_with(StatusCode::kResourceExhausted, "on purpose"));
  EXPECT_THAT(behind->value(), Each(1.0f));
}

TEST_F(AsyncDrop, WhatAFunctionThrowsHalfWayLeavesNoMemoryBehind) {
  const Shared<Tensor<float>> kept = tensor(1.0f) | share;
  const std::uint64_t used = used_bytes();
  const auto throwing = [](int) -> int { throw std::runtime_error("on purpose"); };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(sync_wait(zip(ones<float>({1000}), to_host(kept), value(1) | map(throwing)) |
                           on(runtime.device())),
                 std::runtime_error);
    step();
    EXPECT_NE(control->lanes.at(first_lane)->pending(), 0u) << "submitted work still runs";
    std::optional<Result<std::vector<float>>> behind;
    const Handmade coroutine = await_into(behind, to_host(kept) | on(runtime.device()));
    for (int turn = 0; turn < 3; ++turn) run_all();
    EXPECT_THAT(behind->value(), Each(1.0f));
    EXPECT_EQ(used_bytes(), used);
  }
}

// The tensor that the failed tree was to read may be written: its reader has ended.
TEST_F(AsyncDrop, AFaultOfAReaderDoesNotFailAWriter) {
  Shared<Tensor<float>> x = tensor(1.0f) | share;
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Result<std::tuple<Tensor<float>, std::vector<float>>>> failed;
  {
    const Handmade reader = await_into(
        failed, zip(ones<float>({1'000'000}), to_host(x)) | on(runtime.device().queue(1)));
    run_all();
  }
  ASSERT_FALSE(failed->ok());
  control->fail_allocate = {};
  std::optional<Result<Tensor<float>>> written;
  const Handmade writer =
      await_into(written, testing::Fill{*std::move(x).try_unwrap(), 2.0f} | on(runtime.device()));
  run_all();
  ASSERT_TRUE(written->ok()) << written->status().to_string();
  EXPECT_THAT(elements(std::move(*written).value() | share), Each(2.0f));
}

// The tensor is used only after its write has failed.
TEST_F(AsyncDrop, ATensorWhoseWriteFailedGivesThatFailure) {
  control->fail_allocate = Status(StatusCode::kResourceExhausted, "on purpose");
  std::optional<Shared<Tensor<float>>> kept;
  std::optional<Result<int>> failed;
  const Handmade a = await_into(failed, ones<float>({1'000'000}) | share | map([&](auto&& tensor) {
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
}

}  // namespace
}  // namespace halyard::async
