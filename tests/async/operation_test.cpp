// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations and their combinators, without and with a device.
#include "halyard/async/operation.h"

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "async/async_test_util.h"
#include "compiler/compile.h"
#include "compiler/process.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;
using testing::saxpy;

class AsyncOperation : public AsyncTest {
 protected:
  // Returns `result`, and notes that it ran.
  auto noting(int result) {
    return value(result) | map([this](int x) {
             order.push_back(x);
             return x;
           });
  }
  // An operation of a user: a struct with Output and execute().
  struct Failing {
    using Output = int;
    Result<int> execute(Context&) && { return Status(StatusCode::kDataLoss, "on purpose"); }
  };
  std::vector<int> order;
};

TEST_F(AsyncOperation, DoesNothingBeforeItIsAwaited) {
  auto operation = noting(1);
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(run(std::move(operation)), 1);
  EXPECT_THAT(order, ElementsAre(1));
}

TEST_F(AsyncOperation, RunsOnce) {
  auto operation = noting(1);
  EXPECT_EQ(run(std::move(operation)), 1);
  EXPECT_THAT(failure(std::move(operation)),
              refused_with(StatusCode::kFailedPrecondition, "an operation runs once"));
  auto box = noting(2) | boxed;
  EXPECT_EQ(run(std::move(box)), 2);
  EXPECT_THAT(failure(std::move(box)),
              refused_with(StatusCode::kFailedPrecondition, "an operation runs once"));
}

TEST_F(AsyncOperation, AFutureRunsOnceToo) {
  const auto once = refused_with(StatusCode::kFailedPrecondition, "an operation runs once");
  auto future = value(1) | on(runtime);
  EXPECT_EQ(sync_wait(std::move(future)), 1);
  EXPECT_THAT(sync_wait(as_result(std::move(future))).status(), once);
  EXPECT_THAT(failure(zip(std::move(future), 2)), once);
  run([&]() -> Task<> { EXPECT_THAT((co_await as_result(std::move(future))).status(), once); }());
}

TEST_F(AsyncOperation, ThatWasMovedFromIsRefusedWhateverItsKind) {
  const auto refused = [&](auto operation, const char* words) {
    [[maybe_unused]] const auto taken = std::move(operation);
    return ::testing::Matches(refused_with(StatusCode::kFailedPrecondition, words))(
        failure(std::move(operation)));
  };
  const auto x = run(ones<float>({4, 4}) | share);
  const auto y = [&] { return run(ones<float>({4, 4}) | partition(2, 2)); };
  const auto none = [](auto&&) { return 0; };
  constexpr const char* kOnce = "an operation runs once";
  EXPECT_TRUE(refused(value(1), kOnce));
  EXPECT_TRUE(refused(zip(1, 2), kOnce));
  EXPECT_TRUE(refused(ones<float>({4}), kOnce));
  EXPECT_TRUE(refused(value(1) | map(none), kOnce));
  EXPECT_TRUE(refused(value(1) | boxed, kOnce));
  EXPECT_TRUE(refused(saxpy(1.0f, x, y()), kOnce));
  EXPECT_TRUE(refused(add(x, x), kOnce));
  EXPECT_TRUE(refused(to_host(x), kOnce));
  EXPECT_TRUE(refused(x | copy_to(runtime.device(1)), kOnce));
  EXPECT_TRUE(refused(record(saxpy(1.0f, x, y())), kOnce));
  EXPECT_TRUE(
      refused(ones<float>({4}) | allocate_from(runtime.device().hal().default_pool()), kOnce));
  EXPECT_TRUE(refused(join(1, 2), kOnce));
  EXPECT_TRUE(refused(detail::JoinedPart(value(1)), kOnce));
  EXPECT_TRUE(refused(std::get<0>(unzip(zip(1, 2))), kOnce));
  EXPECT_TRUE(refused(value(1) | share, "a shared operation was moved from"));
}

TEST_F(AsyncOperation, IsMovedAndNeverCopied) {
  using Op = decltype(ones<float>({1}));
  static_assert(std::is_move_constructible_v<Op> && !std::is_copy_constructible_v<Op>);
  using Boxed = BoxedOperation<int>;
  static_assert(std::is_move_constructible_v<Boxed> && !std::is_copy_constructible_v<Boxed>);
}

TEST_F(AsyncOperation, ZipRunsItsOperationsInOrderAndGivesATuple) {
  auto [a, b, c] = run(zip(noting(1), 2.5f, noting(3)));
  static_assert(std::is_same_v<decltype(b), float>);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2.5f);
  EXPECT_EQ(c, 3);
  EXPECT_THAT(order, ElementsAre(1, 3));
}

TEST_F(AsyncOperation, MapAndThenAndApplyCallTheirFunctionWithWhatWasGiven) {
  EXPECT_EQ(run(value(20) | map([](int x) { return x + 1; })), 21);
  EXPECT_EQ(run(value(20) | map([](int x) -> Result<float> { return x / 2.0f; })), 10.0f);
  EXPECT_THAT(failure(value(1) | map([](int) -> Result<int> {
                        return Status(StatusCode::kOutOfRange, "on purpose");
                      })),
              refused_with(StatusCode::kOutOfRange, "on purpose"));
  EXPECT_EQ(run(value(20) | and_then([&](int x) { return noting(x + 2); })), 22);
  EXPECT_EQ(run(zip(20, 3) | apply([&](int x, int y) { return noting(x + y); })), 23);
  EXPECT_THAT(order, ElementsAre(22, 23));
}

TEST_F(AsyncOperation, FirstAndLastDropTheRest) {
  EXPECT_EQ(run(zip(1, 2, 3) | first), 1);
  EXPECT_EQ(run(zip(1, 2, 3) | last), 3);
}

TEST_F(AsyncOperation, BoxedOperationsOfDifferentKindsAreOfOneType) {
  std::vector<BoxedOperation<int>> operations;
  operations.push_back(value(1) | boxed);
  operations.push_back(value(1) | map([](int x) { return x + 1; }) | boxed);
  int sum = 0;
  for (auto& operation : operations) sum += run(std::move(operation));
  EXPECT_EQ(sum, 3);
}

// A loop composes operations of the same type.
TEST_F(AsyncOperation, ALoopComposesBoxedOperations) {
  BoxedOperation<Tensor<float>> sum = zeros<float>({4}) | boxed;
  for (int i = 0; i < 10; ++i) sum = add(std::move(sum), ones<float>({4})) | boxed;
  EXPECT_THAT(elements(std::move(sum)), Each(10.0f));
}

TEST_F(AsyncOperation, AnErrorEndsTheTree) {
  EXPECT_THAT(failure(zip(noting(1), Failing(), noting(2))),
              refused_with(StatusCode::kDataLoss, "on purpose"));
  EXPECT_THAT(order, ElementsAre(1));
}

TEST_F(AsyncOperation, WhatAFunctionThrowsIsThrownByAwaiting) {
  EXPECT_THROW(run(value(1) | map([](int) -> int { throw std::out_of_range("on purpose"); })),
               std::out_of_range);
}

TEST_F(AsyncOperation, AnErrorIsThrownOrReturned) {
  EXPECT_THROW(run(Failing()), Error);
  EXPECT_EQ(run(as_result(Failing())).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(run(as_result(value(1))).value(), 1);
}

TEST_F(AsyncOperation, AMoveOnlyResultPassesThrough) {
  auto made = run(value(std::make_unique<int>(7)) | map([](auto&& p) { return std::move(p); }));
  EXPECT_EQ(*made, 7);
}

// The example of docs/async.md.
struct Clear {
  using Output = Tensor<float>;
  Result<Tensor<float>> execute(Context& context) && {
    if (Status status = context.fill(tensor.storage(), 0, 4); !status.ok()) return status;
    return std::move(tensor);
  }
  Tensor<float> tensor;
};

TEST_F(AsyncOperation, IsAnythingThatIsExecutedInAContext) {
  static_assert(DeviceOperation<Clear>);
  auto x = run(ones<float>({4}));
  EXPECT_THAT(elements(add(Clear{std::move(x)}, ones<float>({4}))), Each(1.0f));
}

TEST_F(AsyncOperation, ZippedArgumentsAreAppliedToAKernel) {
  auto x = ones<float>({16, 16}) | share;
  auto y = ones<float>({16, 16}) | partition(4, 4);
  auto [a, x1, y1] = run(zip(2.0f, std::move(x), std::move(y)) | apply(saxpy));
  EXPECT_THAT(elements(std::move(y1)), Each(3.0f));
}

TEST_F(AsyncOperation, FillsTensorsOfEachElementSize) {
  EXPECT_THAT(elements(ones<std::int8_t>({3})), ElementsAre(1, 1, 1));
  EXPECT_THAT(elements(full<std::int16_t>({3}, -2)), ElementsAre(-2, -2, -2));
  EXPECT_THAT(elements(full<float>({3}, 0.5f)), ElementsAre(0.5f, 0.5f, 0.5f));
  EXPECT_THAT(elements(full({3}, Half(-0.5f))), ElementsAre(-0.5f, -0.5f, -0.5f));
  EXPECT_THAT(elements(ones<Half>({3})), ElementsAre(1.0f, 1.0f, 1.0f));
  EXPECT_THAT(elements(zeros<double>({3})), ElementsAre(0, 0, 0));
  EXPECT_THAT(elements(ones<double>({3})), ElementsAre(1, 1, 1));
  EXPECT_THAT(elements(full<std::int64_t>({3}, -2)), ElementsAre(-2, -2, -2));
  EXPECT_THAT(elements(full<std::uint64_t>({3}, 0x100000001)), Each(0x100000001u));
  EXPECT_THAT(elements(fill(ones<double>({3}) | partition(2), 0.1)), Each(0.1));
}

template <class T>
void expect_arange(const std::vector<T>& got, std::size_t size) {
  ASSERT_EQ(got.size(), size);
  for (std::size_t i = 0; i < size; ++i) {
    if constexpr (std::is_same_v<T, Half>) {
      ASSERT_EQ(got[i], Half(static_cast<float>(i))) << i;
    } else {
      ASSERT_EQ(got[i], static_cast<T>(i)) << i;
    }
  }
}

TEST_F(AsyncOperation, ArangeCountsInEveryElement) {
  for (const std::size_t n : {0, 1, 2, 3, 5, 1027}) {
    expect_arange(elements(arange<float>(n)), n);
    expect_arange(elements(arange<double>(n)), n);
    expect_arange(elements(arange<Half>(n)), n);
    expect_arange(elements(arange<std::int8_t>(n)), n);
    expect_arange(elements(arange<std::uint16_t>(n)), n);
    expect_arange(elements(arange<std::int32_t>(n)), n);
    expect_arange(elements(arange<std::uint64_t>(n)), n);
  }
  expect_arange(elements(arange<float>((1 << 24) + 300)), (1 << 24) + 300);  // not all are floats
  EXPECT_THAT(failure(arange<double>(std::uint64_t{1} << 30)),
              refused_with(StatusCode::kOutOfRange, "arange: 2147483648 elements of 4 bytes"));
  EXPECT_THAT(failure(arange<double>(~std::uint64_t{0})),
              refused_with(StatusCode::kOutOfRange, "arange"));
}

TEST_F(AsyncOperation, AnEmptyTensorIsThereForWhatWritesIt) {
  EXPECT_THAT(elements(fill(empty<float>({2, 2}), 3.0f)), Each(3.0f));
}

TEST_F(AsyncOperation, HostValuesGoToATensorAndBack) {
  EXPECT_THAT(elements(from_host<int>({1, 2, 3, 4, 5, 6}, {2, 3})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(run(from_host<int>({1, 2, 3, 4, 5, 6}, {2, 3})).shape()[1], 3u);
  EXPECT_THAT(
      failure(from_host<int>({1, 2, 3}, {2, 3})),
      refused_with(StatusCode::kInvalidArgument, "from_host: 3 values for a shape of 6 elements"));
}

TEST_F(AsyncOperation, SeveralReadbacksOfOneTreeAreDelivered) {
  auto [a, b] = run(zip(to_host(ones<int>({2})), to_host(zeros<int>({1}))));
  static_assert(std::is_same_v<decltype(a), std::vector<int>>);
  EXPECT_THAT(a, ElementsAre(1, 1));
  EXPECT_THAT(b, ElementsAre(0));
}

TEST_F(AsyncOperation, ArithmeticIsElementByElement) {
  const auto a = [] { return from_host<float>({-1, 2, 3, 4}, {2, 2}); };
  const auto b = [] { return from_host<float>({4, 3, 2, 1}, {2, 2}); };
  EXPECT_THAT(elements(add(a(), b())), ElementsAre(3, 5, 5, 5));
  EXPECT_THAT(elements(sub(a(), b())), ElementsAre(-5, -1, 1, 3));
  EXPECT_THAT(elements(mul(a(), b())), ElementsAre(-4, 6, 6, 4));
  EXPECT_THAT(elements(div(a(), b() | share)), ElementsAre(-0.25, 2.0f / 3, 1.5, 4));
  EXPECT_THAT(elements(relu(a())), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(elements(sigmoid(zeros<float>({2}))), ElementsAre(0.5f, 0.5f));
}

template <class T>
class AsyncArithmeticOf : public AsyncTest {};
using NumberTypes = ::testing::Types<float, double, std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(AsyncArithmeticOf, NumberTypes);

TYPED_TEST(AsyncArithmeticOf, IsDoneInTheTypeOfItsOperands) {
  using T = TypeParam;
  const auto a = this->run(from_host(std::vector<T>{7, 5, 3, 0}, 4) | share);
  const auto b = this->run(from_host(std::vector<T>{2, 5, 1, 4}, 4) | share);
  EXPECT_EQ(this->elements(add(a, b)), (std::vector<T>{9, 10, 4, 4}));
  EXPECT_EQ(this->elements(sub(a, b)), (std::vector<T>{5, 0, 2, static_cast<T>(T{0} - T{4})}));
  EXPECT_EQ(this->elements(mul(a, b)), (std::vector<T>{14, 25, 3, 0}));
  EXPECT_EQ(this->elements(scale(a, T{3})), (std::vector<T>{21, 15, 9, 0}));
  EXPECT_EQ(this->elements(scale(a, T{3}, empty<T>({4}))), (std::vector<T>{21, 15, 9, 0}));
  if constexpr (std::is_floating_point_v<T>) {
    EXPECT_EQ(this->elements(div(a, b)), (std::vector<T>{3.5, 1, 3, 0}));
  }
}
static_assert(
    std::is_same_v<decltype(add(ones<double>({1}), ones<double>({1})))::Output, Tensor<double>>);

// Values whose bits differ between the types.
TEST_F(AsyncOperation, KeepsWhatItsTypeHolds) {
  const auto third = run(full<double>({1}, 1.0 / 3) | share);
  EXPECT_THAT(elements(add(third, third)), ElementsAre(2.0 / 3));
  const auto odd = run(full<std::uint32_t>({1}, 0xffff'fff1u) | share);
  EXPECT_THAT(elements(mul(odd, odd)), ElementsAre(225u));
  EXPECT_THAT(elements(scale(full<std::int32_t>({1}, -7), -3)), ElementsAre(21));
}

// Imitates a target without doubles: the kernels are built for a target other than this device's.
TEST_F(AsyncOperation, ATypeThatTheDeviceLacksIsRefusedInWords) {
  const std::string folder = ::testing::TempDir() + "no-doubles";
  std::filesystem::create_directory(folder);
  const auto ptx = compiler::compile(
      {.source = HALYARD_SOURCE_DIR "/kernels/elementwise_double.hyk", .targets = {"ptx-sm_80"}});
  ASSERT_TRUE(compiler::write_file(folder + "/elementwise_double.hyx",
                                   {reinterpret_cast<const char*>(ptx->data()), ptx->size()})
                  .ok());
  const Runtime other = Runtime::open("cpu://", {.kernels = {folder}}).value();
  EXPECT_THAT(sync_wait(as_result(scale(ones<double>({4}), 2.0)), other).status(),
              refused_with(StatusCode::kUnavailable, "kernel scale_double of elementwise_double"));
  EXPECT_THAT(sync_wait(to_host(scale(ones<float>({4}), 2.0f)), other), Each(2.0f));
}

TEST_F(AsyncOperation, MatmulMultipliesMatrices) {
  EXPECT_THAT(elements(matmul(from_host<float>({1, 2, 3, 4, 5, 6}, {2, 3}),
                              from_host<float>({1, 0, 0, 1, 1, 1}, {3, 2}))),
              ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(elements(matmul(ones<float>({70, 30}), ones<float>({30, 90}))), Each(30.0f));
}

TEST_F(AsyncOperation, SoftmaxIsOverTheLastDimension) {
  const auto y = elements(softmax(from_host<float>({0, 0, 1, 1, 7, 7, -1, -1}, {2, 2, 2})));
  EXPECT_THAT(y, Each(0.5f));
  EXPECT_THAT(elements(softmax(from_host<float>({0, std::log(3.0f)}), empty<float>({2}))),
              ElementsAre(::testing::FloatEq(0.25f), ::testing::FloatEq(0.75f)));
  EXPECT_TRUE(elements(softmax(ones<float>({3, 0}))).empty());
  EXPECT_THAT(failure(softmax(ones<float>(Shape()))),
              refused_with(StatusCode::kInvalidArgument, "softmax: a tensor without dimensions"));
}

TEST_F(AsyncOperation, ShapesThatDoNotFitAreRefused) {
  EXPECT_THAT(failure(add(ones<float>({2, 3}), ones<float>({3, 2}))),
              refused_with(StatusCode::kInvalidArgument, "add: shapes 2 x 3 and 3 x 2"));
  EXPECT_THAT(failure(matmul(ones<float>({2, 3}), ones<float>({2, 3}))),
              refused_with(StatusCode::kInvalidArgument,
                           "matmul: shapes 2 x 3 and 2 x 3; it takes M x K and K x N"));
}

TEST_F(AsyncOperation, ArithmeticWritesOverATensorThatItIsGiven) {
  const auto a = run(from_host<float>({-1, 2, 3, 4}, {2, 2}) | share);
  const auto b = run(from_host<float>({4, 3, 2, 1}, {2, 2}) | share);
  Tensor<float> c = run(full<float>({2, 2}, 9.0f));
  const detail::Storage* const memory = c.storage();
  c = run(add(a, b, std::move(c)));
  EXPECT_EQ(c.storage(), memory);
  EXPECT_THAT(elements(sub(a, b, std::move(c))), ElementsAre(-5, -1, 1, 3));
  EXPECT_THAT(elements(mul(a, b, empty<float>({2, 2}))), ElementsAre(-4, 6, 6, 4));
  EXPECT_THAT(elements(div(a, b, empty<float>({2, 2}))), ElementsAre(-0.25, 2.0f / 3, 1.5, 4));
  EXPECT_THAT(elements(relu(a, empty<float>({2, 2}))), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(elements(sigmoid(zeros<float>({2}), empty<float>({2}))), Each(0.5f));
  EXPECT_THAT(elements(matmul(a, b, empty<float>({2, 2}))), ElementsAre(0, -1, 20, 13));
}

TEST_F(AsyncOperation, ATensorToWriteOverHasTheShapeOfTheResult) {
  EXPECT_THAT(failure(add(ones<float>({2, 3}), ones<float>({2, 3}), empty<float>({3, 2}))),
              refused_with(StatusCode::kInvalidArgument,
                           "add: into a tensor of 3 x 2; the result is 2 x 3"));
  EXPECT_THAT(failure(matmul(ones<float>({2, 3}), ones<float>({3, 2}), empty<float>({4}))),
              refused_with(StatusCode::kInvalidArgument,
                           "matmul: into a tensor of 4; the result is 2 x 2"));
  auto old = run(ones<float>({2}));
  const auto taken = std::move(old);
  EXPECT_THAT(failure(relu(ones<float>({2}), std::move(old))),
              refused_with(StatusCode::kInvalidArgument, "relu: a tensor that was moved from"));
}

TEST_F(AsyncOperation, AnErrorNamesTheFunctionThatWasCalled) {
  const auto gone = [&] {
    auto old = run(ones<float>({2, 2}));
    const auto taken = std::move(old);
    return old;
  };
  const auto named = [](const std::string& function) {
    return refused_with(StatusCode::kInvalidArgument, function + ": a tensor that was moved from");
  };
  EXPECT_THAT(failure(sub(gone(), ones<float>({2, 2}))), named("sub"));
  EXPECT_THAT(failure(mul(ones<float>({2, 2}), gone())), named("mul"));
  EXPECT_THAT(failure(scale(gone(), 2.0f)), named("scale"));
  EXPECT_THAT(failure(concat(ones<float>({2, 2}), gone())), named("concat"));
  EXPECT_THAT(failure(div(ones<float>({2}), ones<float>({3}))),
              refused_with(StatusCode::kInvalidArgument, "div: shapes 2 and 3"));
  EXPECT_THAT(failure(concat(sum(ones<float>({2})), sum(ones<float>({2})))),
              refused_with(StatusCode::kInvalidArgument, "concat: of a scalar"));
  EXPECT_THAT(failure(rand<float>({1ull << 32}, 1)),
              refused_with(StatusCode::kOutOfRange, "rand: "));
}

TEST_F(AsyncOperation, ATensorMayHaveNoElements) {
  EXPECT_TRUE(elements(add(ones<float>({0}), zeros<float>({0}))).empty());
  EXPECT_TRUE(elements(from_host<float>({})).empty());
}

TEST_F(AsyncOperation, ATensorBeyondAllMemoryIsRefused) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;
  EXPECT_THAT(failure(ones<float>({kHuge, kHuge})),
              refused_with(StatusCode::kOutOfRange,
                           "1099511627776 x 1099511627776 elements of float32: a tensor of 2^64 "
                           "bytes or more"));
  const hal::Extents four = {1, 1, 1, 1};
  EXPECT_THAT(failure(ones<float>(four)),
              refused_with(StatusCode::kInvalidArgument, "a tensor of 4 dimensions"));
}

}  // namespace
}  // namespace halyard::async
