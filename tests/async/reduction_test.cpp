// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sum, max, min and argmax: of all elements and along a dimension.
#include "halyard/async/reductions.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::ElementsAre;
using testing::refused_with;

class AsyncReduction : public AsyncTest {
 protected:
  // Small integers, so that sums are exact.
  Shared<Tensor<float>> counted(const Shape& shape) {
    return run(arange<float>(shape.elements()) | share).reshape(shape);
  }
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
};

TEST_F(AsyncReduction, OfAllElementsIsATensorWithoutDimensions) {
  const auto x = counted({3, 4});
  EXPECT_EQ(run(sum(x)).shape().rank(), 0u);
  EXPECT_THAT(elements(sum(x)), ElementsAre(66));
  EXPECT_THAT(elements(max(x)), ElementsAre(11));
  EXPECT_THAT(elements(min(x)), ElementsAre(0));
  EXPECT_THAT(elements(sum(x.rows(1, 2))), ElementsAre(60));
  EXPECT_THAT(elements(sum(sum(x))), ElementsAre(66));
}

// Sizes that take one, two and three launches.
TEST_F(AsyncReduction, OfAnyNumberOfElements) {
  for (const std::uint64_t n : {1u, 4096u, 4097u, 4096u * 4096u + 1}) {
    EXPECT_THAT(elements(sum(full<float>(n, 0.5f))), ElementsAre(static_cast<float>(n) / 2)) << n;
    EXPECT_THAT(elements(max(arange<float>(n))), ElementsAre(static_cast<float>(n - 1))) << n;
  }
}

TEST_F(AsyncReduction, AlongEachDimension) {
  const auto x = counted({2, 3, 4});  // x[i, j, k] = 12 i + 4 j + k
  EXPECT_THAT(elements(sum(x, 0)), ElementsAre(12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34));
  EXPECT_THAT(elements(sum(x, 1)), ElementsAre(12, 15, 18, 21, 48, 51, 54, 57));
  EXPECT_THAT(elements(sum(x, 2)), ElementsAre(6, 22, 38, 54, 70, 86));
  EXPECT_EQ(elements(sum(x, -1)), elements(sum(x, 2)));
  EXPECT_EQ(elements(sum(x, -3)), elements(sum(x, 0)));
  EXPECT_THAT(elements(max(x, 1)), ElementsAre(8, 9, 10, 11, 20, 21, 22, 23));
  EXPECT_THAT(elements(min(x, 2)), ElementsAre(0, 4, 8, 12, 16, 20));
  const Tensor<float> y = run(sum(x, 1));
  EXPECT_EQ(y.shape().rank(), 2u);
  EXPECT_EQ(y.shape()[0], 2u);
  EXPECT_EQ(y.shape()[1], 4u);
  EXPECT_EQ(run(sum(counted({5}), 0)).shape().rank(), 0u);
}

TEST_F(AsyncReduction, AlongADimensionCanBeRecordedIntoATensor) {
  const auto x = counted({3, 4});
  auto recorded = run(record(sum(x, 0, run(empty<float>({4})))));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host()), ElementsAre(12, 15, 18, 21));
  EXPECT_THAT(
      failure(sum(x, 0, empty<float>({3}))),
      refused_with(StatusCode::kInvalidArgument, "sum: into a tensor of 3; the result is 4"));
}

TEST_F(AsyncReduction, OfNothingIsTheNeutralElement) {
  const auto nothing = run(zeros<float>({0, 2}) | share);
  EXPECT_THAT(elements(sum(nothing)), ElementsAre(0));
  EXPECT_THAT(elements(max(nothing)), ElementsAre(-kInfinity));
  EXPECT_THAT(elements(min(nothing, 0)), ElementsAre(kInfinity, kInfinity));
  EXPECT_TRUE(elements(sum(nothing, 1)).empty());
}

template <class T>
class AsyncReductionOf : public AsyncTest {};
using Types = ::testing::Types<float, double, std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(AsyncReductionOf, Types);

TYPED_TEST(AsyncReductionOf, OfAllElementsAndAlongADimension) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  // -5 to 6; 0 to 11 for unsigned types.
  const int least = Limits::is_signed ? -5 : 0;
  std::vector<T> values;
  for (int i = 0; i < 12; ++i) values.push_back(static_cast<T>(least + i));
  const auto x = this->run(from_host(values, {3, 4}) | share);
  const auto expected = [&](std::initializer_list<int> indices) {
    std::vector<T> all;
    for (const int i : indices) all.push_back(static_cast<T>(i));
    return all;
  };
  EXPECT_EQ(this->elements(sum(x)), expected({66 + 12 * least}));
  EXPECT_EQ(this->elements(max(x)), expected({11 + least}));
  EXPECT_EQ(this->elements(min(x)), expected({least}));
  EXPECT_EQ(this->elements(sum(x, 1)), expected({6 + 4 * least, 22 + 4 * least, 38 + 4 * least}));
  EXPECT_EQ(this->elements(max(x, 0)), expected({8 + least, 9 + least, 10 + least, 11 + least}));
  EXPECT_EQ(this->elements(min(x, 1)), expected({least, 4 + least, 8 + least}));
  EXPECT_THAT(this->elements(argmax(x)), ElementsAre(11u));
  EXPECT_THAT(this->elements(argmax(arange<T>(5000))), ElementsAre(4999u));
  EXPECT_THAT(this->elements(argmax(x, 0)), ElementsAre(2u, 2u, 2u, 2u));
  EXPECT_THAT(this->elements(argmax(x, 1)), ElementsAre(3u, 3u, 3u));
  const auto nothing = this->run(zeros<T>({0, 1}) | share);
  const bool infinite = Limits::has_infinity;
  EXPECT_THAT(this->elements(max(nothing)),
              ElementsAre(infinite ? -Limits::infinity() : Limits::lowest()));
  EXPECT_THAT(this->elements(min(nothing, 0)),
              ElementsAre(infinite ? Limits::infinity() : Limits::max()));
}

TEST_F(AsyncReduction, SumsOfIntegersWrapAround) {
  EXPECT_THAT(elements(sum(full<std::uint32_t>({5000}, 0x80000001u))), ElementsAre(5000u));
  EXPECT_THAT(elements(sum(full<std::int32_t>({2}, 0x7fffffff))), ElementsAre(-2));
}

TEST_F(AsyncReduction, RepeatsBitForBit) {
  const auto x = run(randn<float>({300, 500}, 1) | share);
  const auto again = Runtime::open("cpu://?workers=4").value();
  for (const int axis : {0, 1}) {
    const auto once = elements(sum(x, axis));
    EXPECT_EQ(once, sync_wait(to_host(sum(randn<float>({300, 500}, 1), axis)), again));
  }
}

TEST_F(AsyncReduction, NansAreSkipped) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto x = run(from_host<float>({nan, 2, nan, 1, nan, nan}, {3, 2}) | share);
  EXPECT_THAT(elements(max(x)), ElementsAre(2));
  EXPECT_THAT(elements(min(x)), ElementsAre(1));
  EXPECT_THAT(elements(argmax(x)), ElementsAre(1u));
  EXPECT_THAT(elements(argmax(x, 0)), ElementsAre(0u, 0u));
  EXPECT_THAT(elements(argmax(x, 1)), ElementsAre(1u, 1u, 0u));
  EXPECT_THAT(elements(argmax(full<float>(4097, nan))), ElementsAre(0u));
  EXPECT_THAT(elements(argmax(full<float>({2, 3}, -kInfinity), 1)), ElementsAre(0u, 0u));
}

// Sizes that take one, two and three launches.
TEST_F(AsyncReduction, Argmax_OfAnyNumberOfElements_IsTheFirstOfTheGreatest) {
  for (const std::uint32_t n : {1u, 4096u, 4097u, 4096u * 4096u + 1}) {
    EXPECT_THAT(elements(argmax(arange<float>(n))), ElementsAre(n - 1)) << n;
    EXPECT_THAT(elements(zeros<float>(n) | argmax), ElementsAre(0u)) << n;
  }
}

TEST_F(AsyncReduction, Argmax_AlongEachDimension) {
  const auto x = run(from_host<float>({5, 1, 5, 2, 7, 0, 3, 3, 3, 8, 8, 9}, {2, 3, 2}) | share);
  EXPECT_THAT(elements(argmax(x, 0)), ElementsAre(0u, 1u, 0u, 1u, 1u, 1u));
  EXPECT_THAT(elements(x | argmax(1)), ElementsAre(2u, 1u, 2u, 2u));
  EXPECT_THAT(elements(argmax(x, -1)), ElementsAre(0u, 0u, 0u, 0u, 1u, 1u));
  EXPECT_THAT(elements(argmax(x, 2, empty<std::uint32_t>({2, 3}))),
              ElementsAre(0u, 0u, 0u, 0u, 1u, 1u));
  EXPECT_EQ(run(argmax(x, 1)).shape(), Shape(2, 2));
  EXPECT_EQ(run(argmax(empty<float>({0, 2}), 1)).shape(), Shape(0));
  auto recorded = run(record(argmax(x, 1, run(empty<std::uint32_t>({2, 2})))));
  run(recorded.replay());
  EXPECT_THAT(run(recorded.to_host()), ElementsAre(2u, 1u, 2u, 2u));
}

TEST_F(AsyncReduction, Argmax_OfNoElementsOrDimensions_IsRefused) {
  const auto refused = [](const char* words) {
    return refused_with(StatusCode::kInvalidArgument, words);
  };
  const auto nothing = run(zeros<float>({2, 0}) | share);
  EXPECT_THAT(failure(argmax(nothing)), refused("argmax: of no elements, in a tensor of 2 x 0"));
  EXPECT_THAT(failure(argmax(nothing, 1)), refused("argmax: of no elements"));
  EXPECT_THAT(failure(argmax(nothing, 2)), refused("argmax: axis 2 of 2 x 0"));
  EXPECT_THAT(failure(argmax(counted({2, 2}), 1, empty<std::uint32_t>({3}))),
              refused("argmax: into a tensor of 3; the result is 2"));
}

TEST_F(AsyncReduction, ADimensionThatIsNotThereIsRefused) {
  const auto x = counted({3, 4});
  EXPECT_THAT(failure(sum(x, 2)),
              refused_with(StatusCode::kInvalidArgument, "sum: axis 2 of 3 x 4"));
  EXPECT_THAT(failure(max(x, -3)),
              refused_with(StatusCode::kInvalidArgument, "max: axis -3 of 3 x 4"));
  EXPECT_THAT(failure(min(sum(x), 0)),
              refused_with(StatusCode::kInvalidArgument, "min: axis 0 of ()"));
}

TEST_F(AsyncReduction, LeavesTheMaxOfNumbersToOthers) {
  using std::max;
  EXPECT_EQ(max(1, 2), 2);
}

}  // namespace
}  // namespace halyard::async
