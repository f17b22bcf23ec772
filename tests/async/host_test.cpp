// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements from the program's memory to tensors and back.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::await_into;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Handmade;
using testing::refused_with;

using AsyncHost = testing::AsyncTest;
using AsyncHostSteps = testing::SteppedTest;

TEST_F(AsyncHost, ASpanIsCopiedToATensor) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const std::span all(numbers);
  EXPECT_EQ(elements(from_host(all)), numbers);
  EXPECT_THAT(elements(from_host(all.last(4), {2, 2})), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(run(from_host(all, {2, 3})).shape()[1], 3u);
  std::array<std::uint8_t, 3> bytes = {7, 8, 9};
  EXPECT_THAT(elements(from_host(std::span(bytes))), ElementsAre(7, 8, 9));
  EXPECT_THAT(
      failure(from_host(all, {2, 2})),
      refused_with(StatusCode::kInvalidArgument, "from_host: 6 values for a shape of 4 elements"));
}

TEST_F(AsyncHostSteps, ASpanIsReadWhenItIsSubmittedAndNotLater) {
  std::vector<float> numbers(8, 1.0f);
  auto operation = from_host(std::span(numbers)) | on(runtime.device());
  numbers.assign(8, 2.0f);
  std::optional<Result<Tensor<float>>> out;
  const Handmade coroutine = await_into(out, std::move(operation));
  numbers.assign(8, 3.0f);
  run_all();
  EXPECT_THAT(elements(std::move(*out).value() | share), Each(2.0f));
}

TEST_F(AsyncHost, ATensorIsReadIntoASpan) {
  std::vector<std::uint16_t> numbers(5, 9);
  const std::span<std::uint16_t> given =
      run(to_host(arange<std::uint16_t>(3), std::span(numbers).first(3)));
  EXPECT_EQ(given.data(), numbers.data());
  EXPECT_EQ(given.size(), 3u);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 9, 9));
  const Shared<Tensor<std::uint16_t>> rows = run(arange<std::uint16_t>(10) | share);
  run(to_host(rows.rows(5, 5), numbers));
  EXPECT_THAT(numbers, ElementsAre(5, 6, 7, 8, 9));
  run(to_host(full<std::uint16_t>({5}, 4) | partition(2), numbers));
  EXPECT_THAT(numbers, Each(4));
}

TEST_F(AsyncHost, ASpanOfAnotherSizeIsRefused) {
  std::vector<float> numbers(3, 9.0f);
  EXPECT_THAT(failure(to_host(ones<float>({2}), numbers)),
              refused_with(StatusCode::kInvalidArgument, "room for 3 elements, and not 2"));
  EXPECT_THAT(failure(to_host(ones<float>({4}), numbers)),
              refused_with(StatusCode::kInvalidArgument, "room for 3 elements, and not 4"));
  EXPECT_THAT(numbers, Each(9.0f));
}

TEST_F(AsyncHostSteps, NothingIsWrittenIntoASpanBehindTheAwait) {
  const Shared<Tensor<float>> x = tensor(1.0f) | share;
  std::vector<float> numbers(8, 9.0f);
  std::stop_source stopping;
  auto operation = to_host(x, numbers) | on(runtime.device()) | stop_with(stopping.get_token());
  std::optional<Result<std::span<float>>> out;
  const Handmade coroutine = await_into(out, std::move(operation));
  ASSERT_FALSE(coroutine.done());
  stopping.request_stop();
  ASSERT_TRUE(coroutine.done());
  run_all();
  EXPECT_EQ(out->status().code(), StatusCode::kCancelled);
  EXPECT_THAT(numbers, Each(9.0f));
}

TEST_F(AsyncHost, AnItemIsTheOnlyElement) {
  EXPECT_EQ(run(item(sum(arange<float>(5)))), 10.0f);
  EXPECT_EQ(run(item(full<std::int8_t>({1, 1}, -3))), -3);
  const Shared<Tensor<double>> x = run(arange<double>(4) | share);
  EXPECT_EQ(run(item(x.rows(2, 1))), 2.0);
  const auto [a, b] = run(zip(item(ones<int>({1})), to_host(zeros<int>({2}))));
  EXPECT_EQ(a, 1);
  EXPECT_THAT(b, ElementsAre(0, 0));
}

TEST_F(AsyncHost, AnItemOfNoneOrMoreIsRefused) {
  EXPECT_THAT(
      failure(item(ones<float>({2}))),
      refused_with(StatusCode::kInvalidArgument, "item: a tensor of 2 elements, and not 1"));
  EXPECT_THAT(
      failure(item(empty<float>({0}))),
      refused_with(StatusCode::kInvalidArgument, "item: a tensor of 0 elements, and not 1"));
}

}  // namespace
}  // namespace halyard::async
