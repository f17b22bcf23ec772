// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on operands of two shapes.
#include "halyard/async/arithmetic.h"

#include <cstdint>
#include <vector>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;

class AsyncBroadcast : public testing::AsyncTest {
 protected:
  template <class T = float>
  Shared<Tensor<T>> counted(const Shape& shape) {
    return run(arange<T>(shape.elements()) | share).reshape(shape);
  }
};

TEST_F(AsyncBroadcast, ARowIsAddedToEachRow) {
  const auto matrix = counted({2, 3}), row = counted({3});
  EXPECT_THAT(elements(add(matrix, row)), ElementsAre(0, 2, 4, 3, 5, 7));
  EXPECT_THAT(elements(add(row, matrix)), ElementsAre(0, 2, 4, 3, 5, 7));
  EXPECT_EQ(run(add(row, matrix)).shape(), Shape(2, 3));
}

TEST_F(AsyncBroadcast, AColumnAndANumberAreRepeated) {
  const auto matrix = counted({2, 3}), column = counted({2, 1});
  EXPECT_THAT(elements(sub(matrix, column)), ElementsAre(0, 1, 2, 2, 3, 4));
  EXPECT_THAT(elements(mul(matrix, sum(column))), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(elements(div(sum(ones<float>(6)), add(matrix, ones<float>({1, 1})))),
              ElementsAre(6, 3, 2, 1.5, 6.0f / 5, 1));
  // Each operand is repeated along a different dimension.
  EXPECT_THAT(elements(add(column, counted({3}))), ElementsAre(0, 1, 2, 1, 2, 3));
}

TEST_F(AsyncBroadcast, OfThreeDimensions) {
  const auto x = counted({2, 2, 2}), middle = counted({2, 1, 2}), matrix = counted({2, 2});
  EXPECT_THAT(elements(add(x, middle)), ElementsAre(0, 2, 2, 4, 6, 8, 8, 10));
  EXPECT_THAT(elements(sub(x, matrix)), ElementsAre(0, 0, 0, 0, 4, 4, 4, 4));
}

TEST_F(AsyncBroadcast, OfAllTypes) {
  const auto ints = run(from_host<std::int32_t>({1, -2, 3, -4}, {2, 2}) | share);
  EXPECT_THAT(elements(mul(ints, counted<std::int32_t>({2}))), ElementsAre(0, -2, 0, -4));
  const auto uints = counted<std::uint32_t>({2, 2});
  EXPECT_THAT(elements(sub(uints, counted<std::uint32_t>({2, 1}))), ElementsAre(0u, 1u, 1u, 2u));
  const auto doubles = counted<double>({2, 2});
  EXPECT_THAT(elements(div(doubles, full<double>({1}, 0.5))), ElementsAre(0, 2, 4, 6));
}

TEST_F(AsyncBroadcast, IntoATensorOfTheResultsShape) {
  const auto matrix = counted({2, 3}), row = counted({3});
  EXPECT_THAT(elements(add(matrix, row, empty<float>({2, 3}))), ElementsAre(0, 2, 4, 3, 5, 7));
  EXPECT_THAT(
      failure(add(row, row.reshape({3, 1}), empty<float>({3}))),
      refused_with(StatusCode::kInvalidArgument, "into a tensor of 3; the result is 3 x 3"));
}

TEST_F(AsyncBroadcast, OfNoElementsGivesNone) {
  EXPECT_EQ(run(add(empty<float>({0, 3}), counted({3}))).shape(), Shape(0, 3));
  EXPECT_EQ(run(add(empty<float>({2, 0}), counted({1}))).shape(), Shape(2, 0));
}

TEST_F(AsyncBroadcast, OtherShapesAreRefused) {
  const auto refused = [&](const Shape& a, const Shape& b, const char* words) {
    EXPECT_THAT(failure(add(counted(a), counted(b))),
                refused_with(StatusCode::kInvalidArgument, words));
  };
  refused({2, 3}, {2}, "add: shapes 2 x 3 and 2, where 3 and 2 are neither equal nor 1");
  refused({2, 3}, {3, 1}, "add: shapes 2 x 3 and 3 x 1");
  refused({2, 2, 2}, {3, 1, 1}, "add: shapes 2 x 2 x 2 and 3 x 1 x 1");
}

TEST_F(AsyncBroadcast, CanBeRecorded) {
  const auto centre = run(record(
      [](Shared<Tensor<float>> x, Shared<Tensor<float>> row) {
        return sub(x, row, scratch<float>({2, 3})) | share;
      },
      Shape{2, 3}, Shape{3}));
  EXPECT_THAT(elements(centre(counted({2, 3}), counted({3}))), ElementsAre(0, 0, 0, 3, 3, 3));
}

}  // namespace
}  // namespace halyard::async
