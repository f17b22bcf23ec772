// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtimes of devices of several drivers, which do not use each other's memory.
#include <numeric>
#include <utility>
#include <vector>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using ::testing::Each;
using testing::refused_with;

class AsyncAcross : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<Runtime> opened = Runtime::open(GetParam());
    if (opened.status().code() == StatusCode::kNotFound) GTEST_SKIP() << "not in this build";
    runtime = std::move(opened).value();
    ASSERT_FALSE(runtime.device(0).hal().can_access(runtime.device(1).hal()));
  }
  template <class Awaitable>
  auto run(Awaitable&& awaitable) {
    return sync_wait(std::move(awaitable), runtime);
  }

  Runtime runtime;
};

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST_P(AsyncAcross, ATensorIsCopiedThereAndBack) {
  for (const uint count : {1u, 1000u, 1'000'000u}) {
    auto here = run(arange<float>(count) | share | on(runtime.device(0)));
    auto there = run(here | copy_to(runtime.device(1)) | share);
    EXPECT_EQ(there.device(), runtime.device(1));
    const std::vector<float> expected = ramp(count);
    EXPECT_TRUE(std::ranges::equal(sync_wait(to_host(there) | on(runtime.device(1))), expected));
    EXPECT_TRUE(std::ranges::equal(run(to_host(there)), expected)) << "read by the other device";
    auto back = run(relu(there | copy_to(runtime.device(0))) | share);
    EXPECT_TRUE(std::ranges::equal(run(to_host(back)), expected));
  }
}

TEST_P(AsyncAcross, ATreeRunsOnDevicesOfBoth) {
  auto part = [&](std::size_t i) {
    return mul(full<float>({4}, 2.0f), full<float>({4}, static_cast<float>(i + 1))) |
           on(runtime.device(i));
  };
  for (const std::size_t at : {0u, 1u}) {
    auto total = add(part(0) | copy_to(runtime.device(at)), part(1) | copy_to(runtime.device(at)));
    EXPECT_THAT(run(to_host(std::move(total)) | on(runtime.device(at))), Each(6.0f));
  }
}

TEST_P(AsyncAcross, LocalityFirstRunsOnTheDeviceOfMostInputs) {
  for (const std::size_t large_at : {0u, 1u}) {
    const Device large_device = runtime.device(large_at),
                 small_device = runtime.device(1 - large_at);
    auto large = run(ones<float>({1000}) | share | on(large_device));
    auto small = run(ones<float>({10}) | share | on(small_device));
    auto doubled = run(schedule(add(large, large), LocalityFirst()) | share);
    EXPECT_EQ(doubled.device(), large_device);
    auto halves = run(small | copy_to(large_device) | share);
    EXPECT_EQ(run(schedule(add(halves, halves), LocalityFirst()) | share).device(), large_device);
    EXPECT_THAT(run(schedule(to_host(large), LocalityFirst())), Each(1.0f));
  }
}

// The chain needs no host between its links.
TEST_P(AsyncAcross, ALongChainGoesToAndFro) {
  auto x = run(ones<float>({100, 100}) | share | on(runtime.device(0)));
  for (std::size_t i = 1; i <= 20; ++i) {
    x = run(add(x, x) | copy_to(runtime.device(i % 2)) | on(runtime.device((i + 1) % 2)) | share);
  }
  EXPECT_THAT(run(to_host(x)), Each(1048576.0f));
}

TEST_P(AsyncAcross, AFailureCrossesToo) {
  const Status bad(StatusCode::kDataLoss, "bad input");
  auto failing = ones<float>({4}) | map([&](Tensor<float> x) -> Result<Tensor<float>> {
                   (void)x;
                   return bad;
                 });
  const auto status = run(as_result(std::move(failing) | copy_to(runtime.device(1)))).status();
  EXPECT_THAT(status, refused_with(StatusCode::kDataLoss, "bad input"));
}

// Its last owner is the operation, which is consumed before its work has run.
TEST_P(AsyncAcross, ATensorThatOutlivesItsRuntimeIsReadByAnother) {
  for (int i = 0; i < 50; ++i) {
    const auto lone = [] {
      const Runtime other = Runtime::open(GetParam()).value();
      return sync_wait(ones<float>({4}) | on(other.device(1)));
    };
    EXPECT_THAT(sync_wait(to_host(lone()), runtime), Each(1.0f));
    auto part = lone() | copy_to(runtime.device(1)) | on(runtime.device(0));
    EXPECT_THAT(sync_wait(to_host(std::move(part)) | on(runtime.device(1))), Each(1.0f));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AsyncAcross,
                         ::testing::Values("cpu://?workers=1,serial://", "serial://,cpu://",
                                           "stream://,cpu://?workers=2", "serial://,stream://",
                                           "serial://?devices=2&peers=0"));

}  // namespace
}  // namespace halyard::async
