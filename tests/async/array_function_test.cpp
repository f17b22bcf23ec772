// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions and kernels as right operands of `|`.
#include "halyard/async/detail/array_function.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "async/async_test_util.h"

// Compiles a program that uses both namespaces.
namespace elsewhere {
using namespace std;
using namespace halyard::async;
static int largest() { return max(max(1, 2), max({1, 2, 3})); }
static float smaller() { return min(1.5f, 2.5f); }
}  // namespace elsewhere

namespace halyard::async {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;
using testing::saxpy;

class AsyncArrayFunction : public testing::AsyncTest {
 protected:
  Shared<Tensor<float>> of(std::vector<float> values, const Shape& shape) {
    return run(from_host(std::move(values), shape) | share);
  }
};

TEST_F(AsyncArrayFunction, OnTheRightOfAnOperation_TakesItsResult) {
  const auto x = of({1, -2, 3, -4}, {2, 2});
  const auto identity = of({1, 0, 0, 1}, {2, 2});
  EXPECT_THAT(run(matmul(x, identity) | relu | to_host), ElementsAre(1, 0, 3, 0));
  EXPECT_THAT(run(add(x, x) | sigmoid | to_host), elements(sigmoid(add(x, x))));
  EXPECT_THAT(run(add(x, x) | softmax | to_host), elements(softmax(add(x, x))));
}

TEST_F(AsyncArrayFunction, OnTheRightOfAnArray_TakesIt) {
  const auto x = of({1, -2, 3, -4}, {2, 2});
  EXPECT_THAT(elements(x | relu), ElementsAre(1, 0, 3, 0));
  EXPECT_THAT(elements(run(add(x, x)) | relu), ElementsAre(2, 0, 6, 0));
  EXPECT_EQ(run(x.rows(1, 1) | sum | item), -1);
}

TEST_F(AsyncArrayFunction, WithoutItsFirstOperand_TakesItFromTheLeft) {
  const auto x = of({1, 2, 3, 4}, {2, 2}), y = of({1, 0, 0, 2}, {2, 2});
  EXPECT_THAT(elements(x | add(y)), ElementsAre(2, 2, 3, 6));
  EXPECT_THAT(elements(x | sub(y)), ElementsAre(0, 2, 3, 2));
  EXPECT_THAT(elements(x | mul(y)), ElementsAre(1, 0, 0, 8));
  EXPECT_THAT(elements(x | div(of({1, 2, 3, 4}, {2, 2}))), Each(1));
  EXPECT_THAT(elements(x | matmul(y)), ElementsAre(1, 4, 3, 8));
  EXPECT_THAT(elements(x | scale(2.0f)), ElementsAre(2, 4, 6, 8));
  // An operand may be an operation with a single owner.
  EXPECT_THAT(elements(x | add(ones<float>({2, 2})) | sub(run(ones<float>({2, 2})))),
              ElementsAre(1, 2, 3, 4));
}

TEST_F(AsyncArrayFunction, ReductionsTakeTheirAxisOnTheRight) {
  const auto x = of({1, 5, 3, 4}, {2, 2});
  EXPECT_EQ(run(x | sum | item), 13);
  EXPECT_EQ(run(x | max() | item), 5);
  EXPECT_EQ(run(x | min() | item), 1);
  EXPECT_THAT(elements(x | sum(0)), ElementsAre(4, 9));
  EXPECT_THAT(elements(x | max(-1)), ElementsAre(5, 4));
  EXPECT_THAT(elements(x | min(0)), ElementsAre(1, 4));
}

TEST_F(AsyncArrayFunction, MaxOfNumbersStaysVisible) {
  EXPECT_EQ(elsewhere::largest(), 3);
  EXPECT_EQ(elsewhere::smaller(), 1.5f);
}

TEST_F(AsyncArrayFunction, FailsAsTheCallDoes) {
  const auto x = of({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(failure(x | add(ones<float>({5, 7}))),
              refused_with(StatusCode::kInvalidArgument, "add: shapes"));
  EXPECT_THAT(failure(x | item), refused_with(StatusCode::kInvalidArgument, "item"));
}

TEST_F(AsyncArrayFunction, CanBeRecorded) {
  auto step = run(record(
      [](Shared<Tensor<float>> x) { return scale(x, 2.0f, scratch<float>(4)) | share; }, Shape{4}));
  EXPECT_THAT(elements(step(of({1, 2, 3, 4}, {4})) | relu), ElementsAre(2, 4, 6, 8));
}

TEST_F(AsyncArrayFunction, AKernelTakesTheElementsOfATuple) {
  auto y = ones<float>({4, 4}) | partition(2, 2);
  auto done = zip(2.0f, ones<float>({4, 4}) | share, std::move(y)) | saxpy | last;
  EXPECT_THAT(run(std::move(done) | unpartition | to_host), Each(3));
}

TEST_F(AsyncArrayFunction, AnUncheckedKernelTakesOneArray) {
  static constexpr Kernel<void(Tensor<std::uint32_t>&, std::uint32_t, std::uint32_t)> kCount{
      "arange_32", "generate"};
  const auto count = unchecked(kCount, {.items = 4});
  auto made = zip(empty<std::uint32_t>({4}), 4u, 6u) | count | first;
  EXPECT_THAT(run(std::move(made) | to_host), ElementsAre(6u, 7u, 8u, 9u));
}

}  // namespace
}  // namespace halyard::async
