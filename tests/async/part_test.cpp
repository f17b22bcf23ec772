// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a shared tensor: its rows, and its elements in another shape.
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "async/stepped_world.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::refused_with;
using testing::saxpy;
using testing::thrown_by;

class AsyncPart : public AsyncTest {
 protected:
  // 0 1 2, 3 4 5, ...: offsets of rows are only aligned to the elements.
  Shared<Tensor<float>> counted(std::uint64_t rows) {
    return run(arange<float>(3 * rows) | share).reshape({rows, 3});
  }
  const Shared<Tensor<float>> x = counted(5);
};

TEST_F(AsyncPart, HasItsRowsAndTheirShape) {
  const Shared<Tensor<float>> part = x.rows(1, 2);
  EXPECT_EQ(part.shape().rank(), 2u);
  EXPECT_EQ(part.shape()[0], 2u);
  EXPECT_EQ(part.shape()[1], 3u);
  EXPECT_THAT(elements(part), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_EQ(part.storage(), x.storage());
}

TEST_F(AsyncPart, OfAPartCountsFromThere) {
  EXPECT_THAT(elements(x.rows(1, 4).rows(2, 1)), ElementsAre(9, 10, 11));
  EXPECT_THAT(elements(x.rows(1, 4).rows(2, 2).reshape({6}).rows(1, 2)), ElementsAre(10, 11));
}

TEST_F(AsyncPart, IsTakenOfWhatAnOperationGives) {
  EXPECT_THAT(elements(arange<float>(15) | reshape({5, 3}) | share | rows(1, 2)),
              ElementsAre(3, 4, 5, 6, 7, 8));
  auto later = value(x) | share;
  EXPECT_THAT(elements(later | rows(4, 1)), ElementsAre(12, 13, 14));
  EXPECT_THAT(elements(add(later | rows(0, 1) | reshape({3}), x | rows(1, 1) | reshape({3}))),
              ElementsAre(3, 5, 7));
  EXPECT_EQ(run(later | reshape({3, 5})).storage(), x.storage());
  EXPECT_THAT(failure(to_host(later | rows(4, 2))),
              refused_with(StatusCode::kOutOfRange, "rows(4, 2) of a tensor with 5 rows"));
}

TEST_F(AsyncPart, MayBeTheEndOrNothingOrAll) {
  EXPECT_THAT(elements(x.rows(4, 1)), ElementsAre(12, 13, 14));
  EXPECT_THAT(elements(x.rows(5, 0)), IsEmpty());
  EXPECT_THAT(elements(relu(x.rows(2, 0))), IsEmpty());
  EXPECT_EQ(elements(x.rows(0, 5)), elements(x));
}

TEST_F(AsyncPart, ThatTheTensorDoesNotHaveIsRefusedWhereItIsWritten) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const auto refused = [](auto&& make, const char* text) {
    EXPECT_THAT(thrown_by(make), refused_with(StatusCode::kOutOfRange, text));
  };
  refused([&] { return x.rows(4, 2); }, "rows(4, 2) of a tensor with 5 rows");
  refused([&] { return x.rows(6, 0); }, "rows(6, 0) of");
  refused([&] { return x.rows(kMost, 2); }, "rows(2^64 - 1, 2) of a tensor with 5 rows");
  refused([&] { return x.rows(2, kMost); }, "rows(2, 2^64 - 1) of a tensor with 5 rows");
  refused([&] { return x.rows(1, 2).rows(1, 2); }, "rows(1, 2) of a tensor with 2 rows");
  refused([&] { return x | rows(4, 2); }, "rows(4, 2) of a tensor with 5 rows");
  EXPECT_THAT(thrown_by([&] { return x.rows(0, 2).reshape({5, 3}); }),
              refused_with(StatusCode::kInvalidArgument, "reshape(5, 3) of a tensor of 2 x 3"));
  EXPECT_THAT(thrown_by([&] { return x.rows(5, 0).reshape({kMost, 2}); }),
              refused_with(StatusCode::kInvalidArgument, "of a tensor of 0 x 3"));
}

TEST_F(AsyncPart, OfATensorWithoutDimensionsHasNoRows) {
  const Shared<Tensor<float>> scalar = run(ones<float>(Shape()) | share);
  EXPECT_THAT(elements(scalar), ElementsAre(1));
  EXPECT_THAT(elements(scalar.reshape({1, 1}).rows(0, 1)), ElementsAre(1));
  EXPECT_THAT(thrown_by([&] { return scalar.rows(0, 0); }),
              refused_with(StatusCode::kOutOfRange, "rows(0, 0) of a tensor without dimensions"));
}

TEST_F(AsyncPart, IsCopiedToADeviceAndOverATensor) {
  EXPECT_THAT(elements(x.rows(3, 1) | copy_to(runtime.device(1))), ElementsAre(9, 10, 11));
  auto [from, to] = run(async::copy(x.rows(2, 1), run(zeros<float>({3}))));
  EXPECT_THAT(elements(std::move(to)), ElementsAre(6, 7, 8));
  EXPECT_THAT(failure(async::copy(x.rows(2, 2), run(zeros<float>({3})))),
              refused_with(StatusCode::kInvalidArgument, ""));
}

TEST_F(AsyncPart, IsAnOperandOfArithmetic) {
  EXPECT_THAT(elements(add(x.rows(1, 1), x.rows(3, 1))), ElementsAre(12, 14, 16));
  EXPECT_THAT(elements(sub(x.rows(4, 1), ones<float>({1, 3}))), ElementsAre(11, 12, 13));
  EXPECT_THAT(elements(relu(x.rows(1, 1))), ElementsAre(3, 4, 5));
  EXPECT_THAT(elements(matmul(x.rows(1, 1), x.rows(1, 3))), ElementsAre(78, 90, 102));
}

TEST_F(AsyncPart, IsReadByKernelsOfTensorsAndOfFlatArrays) {
  auto y = saxpy(2.0f, x.rows(1, 3), ones<float>({3, 3}) | partition(2, 2)) | last;
  EXPECT_THAT(elements(std::move(y)), ElementsAre(7, 9, 11, 13, 15, 17, 19, 21, 23));

  constexpr Kernel<void(float, std::uint32_t, const Tensor<float>&, Tensor<float>&)> flat{"saxpy"};
  auto z = unchecked(flat, {.items = 3})(2.0f, 3u, x.rows(4, 1), ones<float>({3})) | last;
  EXPECT_THAT(elements(std::move(z)), ElementsAre(25, 27, 29));
}

TEST_F(AsyncPart, IsRecorded) {
  auto step = run(record(zip(saxpy(1.0f, x.rows(3, 2), run(zeros<float>({2, 3}) | partition(2, 2))),
                             async::copy(x.rows(1, 1), run(zeros<float>({3}))), x.rows(2, 1))));
  run(step.replay());
  EXPECT_THAT(run(step.to_host<2>()), ElementsAre(6, 7, 8));
  auto [written, copied, part] = std::move(step).take();
  EXPECT_THAT(elements(std::get<2>(std::move(written))), ElementsAre(9, 10, 11, 12, 13, 14));
  EXPECT_THAT(elements(std::get<1>(std::move(copied))), ElementsAre(3, 4, 5));
}

TEST_F(AsyncPart, IsRecordedOfWhatAReplayBrings) {
  auto step = run(record(
      [](Shared<Tensor<float>> all) {
        return add(all | rows(1, 1) | reshape({3}), all | rows(2, 1) | reshape({3}),
                   scratch<float>({1, 3}) | reshape({3}));
      },
      Shape{5, 3}));
  EXPECT_THAT(elements(step(x)), ElementsAre(9, 11, 13));
}

TEST_F(AsyncPart, OwnsTheTensorAndIsNeverUnwrapped) {
  std::optional<Shared<Tensor<float>>> all = counted(2);
  std::optional<Shared<Tensor<float>>> part = all->rows(0, 1);
  EXPECT_FALSE(std::move(*all).try_unwrap().has_value()) << "the part reads it";
  all.reset();
  EXPECT_FALSE(std::move(*part).try_unwrap().has_value()) << "a part is not the tensor";
  EXPECT_FALSE(std::move(*part).reshape({3}).try_unwrap().has_value());
  EXPECT_THAT(elements(*part), ElementsAre(0, 1, 2));
}

TEST_F(AsyncPart, ThatIsAllGivesTheTensorInItsShape) {
  Shared<Tensor<float>> all = counted(2);
  all = all.rows(0, 2).reshape({6, 1});
  std::optional<Tensor<float>> tensor = std::move(all).try_unwrap();
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->shape()[0], 6u);
  EXPECT_THAT(elements(*std::move(tensor)), ElementsAre(0, 1, 2, 3, 4, 5));
}

class AsyncPartEdge : public testing::SteppedTest {};

TEST_F(AsyncPartEdge, AWriteOfTheTensorWaitsForAReadOfAPart) {
  Shared<Tensor<float>> x = tensor(1.0f) | share;
  testing::Awaited<decltype(to_host(x))> read;
  testing::Awaited<testing::Fill> written;
  const testing::Handmade reader =
      testing::await_into(read, to_host(x.rows(2, 4)) | on(runtime.device().queue(1)));
  const testing::Handmade writer = testing::await_into(
      written, testing::Fill{*std::move(x).try_unwrap(), 2.0f} | on(runtime.device().queue(0)));
  run_queue(0);
  EXPECT_FALSE(writer.done()) << "a read of a part is in flight";
  run_all();
  EXPECT_EQ(read->value(), std::vector<float>(4, 1.0f));
  EXPECT_THAT(elements(std::move(*written).value() | share), Each(2.0f));
}

// The bytes that a policy sees.
TEST_F(AsyncPart, CountsItsOwnBytes) {
  detail::OpInputs inputs;
  inputs.add_value(x.rows(1, 2));
  ASSERT_EQ(inputs.get().size(), 1u);
  EXPECT_EQ(inputs.get()[0].bytes, 6 * sizeof(float));
}

}  // namespace
}  // namespace halyard::async
