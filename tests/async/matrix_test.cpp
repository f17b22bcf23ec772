// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transpose and concat.
#include "halyard/async/arithmetic.h"

#include <cstdint>
#include <vector>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using ::testing::ElementsAre;
using testing::refused_with;

class AsyncMatrix : public testing::AsyncTest {
 protected:
  template <class T = float>
  Shared<Tensor<T>> counted(const Shape& shape) {
    return run(arange<T>(shape.elements()) | share).reshape(shape);
  }
};

TEST_F(AsyncMatrix, Transpose_OfAMatrix_ExchangesRowsAndColumns) {
  const auto x = counted({2, 3});
  EXPECT_THAT(elements(x | transpose), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(run(transpose(x)).shape(), Shape(3, 2));
  EXPECT_THAT(elements(transpose(x, empty<float>({3, 2}))), ElementsAre(0, 3, 1, 4, 2, 5));
  const auto large = counted({37, 53});
  EXPECT_EQ(elements(transpose(transpose(large))), elements(large));
  EXPECT_EQ(run(transpose(empty<float>({0, 3}))).shape(), Shape(3, 0));
}

TEST_F(AsyncMatrix, Transpose_OfOtherShapes_IsRefused) {
  EXPECT_THAT(failure(transpose(counted({4}))),
              refused_with(StatusCode::kInvalidArgument, "transpose: a tensor with 1 dimension; it takes one with 2"));
}

// A grid has at most 65535 workgroups along y, each of which takes 16 rows.
TEST_F(AsyncMatrix, Transpose_OfMoreRowsThanAGridIsHigh_MovesAll) {
  constexpr std::uint64_t kRows = 16 * 65535 + 5;
  const std::vector<float> y = elements(transpose(counted({kRows, 2})));
  for (const std::uint64_t row : {std::uint64_t{0}, kRows - 6, kRows - 1}) {
    EXPECT_EQ(y[row], 2.0f * row);
    EXPECT_EQ(y[kRows + row], 2.0f * row + 1);
  }
}

TEST_F(AsyncMatrix, Concat_OfSeveral_PutsThemOneBelowTheOther) {
  const auto x = counted({2, 2});
  EXPECT_THAT(elements(concat(x, ones<float>({1, 2}), x.rows(1, 1))),
              ElementsAre(0, 1, 2, 3, 1, 1, 2, 3));
  EXPECT_EQ(run(concat(x, x, x)).shape(), Shape(6, 2));
  EXPECT_THAT(elements(concat(x)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(elements(concat(counted<std::int8_t>({3}), counted<std::int8_t>({2}))),
              ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(elements(concat(counted({1, 1, 2}), empty<float>({0, 1, 2}), counted({1, 1, 2}))),
              ElementsAre(0, 1, 0, 1));
}

TEST_F(AsyncMatrix, Concat_OfOtherShapes_IsRefused) {
  EXPECT_THAT(
      failure(concat(counted({2, 2}), counted({2, 3}))),
      refused_with(StatusCode::kInvalidArgument,
                   "concat: shapes 2 x 2 and 2 x 3: all sizes but the first are to be equal"));
  EXPECT_THAT(failure(concat(counted({2, 2}), counted({2}))),
              refused_with(StatusCode::kInvalidArgument, "concat: shapes 2 x 2 and 2"));
  EXPECT_THAT(
      failure(concat(sum(counted({2})), sum(counted({2})))),
      refused_with(StatusCode::kInvalidArgument, "concat: of a scalar, which has no dimension"));
}

}  // namespace
}  // namespace halyard::async
