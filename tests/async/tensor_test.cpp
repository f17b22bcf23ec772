// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners of a tensor, and the return of its memory.
#include "halyard/async/tensor.h"

#include <cstdint>
#include <type_traits>
#include <utility>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using testing::refused_with;
using testing::saxpy;
using testing::thrown_by;

class AsyncTensor : public AsyncTest {
 protected:
  hal::PoolStatistics pool() const {
    return runtime.device().hal().default_pool(hal::MemoryType::kDeviceLocal).statistics();
  }
  // Waits until all submissions have run.
  void settle() { check(runtime.device().hal().queue().wait_idle()); }
};

static_assert(!std::is_copy_constructible_v<Tensor<float>>);
static_assert(!std::is_copy_constructible_v<Partition<Tensor<float>>>);
static_assert(std::is_copy_constructible_v<Shared<Tensor<float>>>);
static_assert(std::is_nothrow_move_constructible_v<Tensor<float>>);
static_assert(Element<float> && Element<std::uint8_t> && Element<std::int64_t>);
static_assert(!Element<bool> && !Element<long double> && !Element<void*>);
static_assert(kElementType<std::uint16_t> == kernel::ElementType::kUint16);

TEST_F(AsyncTensor, AdaptorsTurnValuesAndOperationsAlike) {
  Partition<Tensor<float>> tiles = run(ones<float>({6, 4})) | partition(4, 2);
  EXPECT_EQ(tiles.tile()[0], 4u);
  EXPECT_EQ(tiles.shape()[0], 6u);
  Tensor<float> tensor = std::move(tiles) | unpartition;
  EXPECT_EQ(tensor.size(), 24u);
  Shared<Tensor<float>> shared = std::move(tensor) | share;
  EXPECT_THAT(elements(shared), Each(1.0f));

  Shared<Tensor<float>> same = run(ones<float>({6, 4}) | partition(2, 2) | unpartition | share);
  EXPECT_THAT(elements(same), Each(1.0f));
  Shared<Tensor<float>> straight = run(ones<float>({2}) | partition(2)) | share;
  EXPECT_THAT(elements(straight), Each(1.0f));
}

TEST_F(AsyncTensor, BecomesOneOfAnotherShapeWithTheSameElements) {
  Tensor<float> x = run(arange<float>(6));
  const detail::Storage* const memory = x.storage();
  Tensor<float> y = std::move(x).reshape({2, 3});
  EXPECT_EQ(x.storage(), nullptr) << "it has another owner now";
  EXPECT_EQ(y.storage(), memory);
  EXPECT_EQ(y.shape().rank(), 2u);
  EXPECT_EQ(y.shape()[1], 3u);
  Tensor<float> z = std::move(y) | reshape({3, 1, 2});
  EXPECT_EQ(z.shape()[2], 2u);
  EXPECT_THAT(elements(std::move(z) | reshape({6})), ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(AsyncTensor, DoesNotBecomeOneOfMoreOrFewerElements) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const std::pair<Shape, const char*> wrong[] = {
      {{5}, "reshape(5) of a tensor of 2 x 3: both need the same number of elements"},
      {{7, 1}, "reshape(7, 1) of a tensor of 2 x 3"},
      {{kMost, 2}, "reshape(2^64 - 1, 2) of a tensor of 2 x 3"},
      {{}, "reshape() of a tensor of 2 x 3"},
      {hal::Extents({6, 1, 1, 1}), "reshape: 4 dimensions; the most is 3"}};
  for (const auto& [shape, text] : wrong) {
    const auto refused = refused_with(StatusCode::kInvalidArgument, text);
    Tensor<float> x = run(ones<float>({2, 3}));
    EXPECT_THAT(thrown_by([&] { return std::move(x).reshape(shape); }), refused);
    EXPECT_THAT(elements(std::move(x)), Each(1.0f)) << "as it was";
    EXPECT_THAT(failure(to_host(ones<float>({2, 3}) | reshape(shape))), refused);
  }
}

TEST_F(AsyncTensor, ThatWasMovedFromIsRefusedByName) {
  Tensor<float> x = run(ones<float>(6));
  const Tensor<float> taken = std::move(x);
  EXPECT_THAT(failure(to_host(std::move(x))),
              refused_with(StatusCode::kInvalidArgument, "to_host: a tensor that was moved from"));
}

TEST_F(AsyncTensor, KnowsItsDeviceAndTheQueueThatHasWrittenItLast) {
  const Runtime both = Runtime::open("cpu://?devices=2&workers=1", {.queues = 2}).value();
  const QueueRef first = both.device(1).queue(0), second = both.device(1).queue(1);
  Tensor<float> x = sync_wait(ones<float>({4}) | on(first));
  EXPECT_EQ(x.queue(), first);
  EXPECT_EQ(x.device(), both.device(1));
  x = sync_wait(fill(std::move(x), 2.0f) | on(second));
  EXPECT_EQ(x.queue(), second);
  Partition<Tensor<float>> tiles = std::move(x) | partition(2);
  EXPECT_EQ(tiles.queue(), second);
  EXPECT_EQ(tiles.device(), both.device(1));
  Shared<Tensor<float>> y = std::move(tiles) | share;
  (void)sync_wait(to_host(y) | on(first));
  EXPECT_EQ(y.rows(1, 2).queue(), second) << "a read is no write";
  EXPECT_EQ(y.device(), both.device(1));
  EXPECT_EQ(sync_wait(copy_to(y, both.device(0)) | on(first)).device(), both.device(0));
}

TEST_F(AsyncTensor, ThatIsEmptyIsOnNoDevice) {
  Tensor<float> x = run(ones<float>({4}));
  const Tensor<float> taken = std::move(x);
  EXPECT_EQ(x.device().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(x.queue(), QueueRef());
  EXPECT_EQ(taken.device(), runtime.device());
}

TEST_F(AsyncTensor, AShareIsUnwrappedByItsOnlyOwner) {
  Shared<Tensor<float>> a = run(ones<float>({4}) | share);
  Shared<Tensor<float>> b = a;
  EXPECT_FALSE(std::move(a).try_unwrap().has_value());
  EXPECT_THAT(elements(a), Each(1.0f)) << "it was given back";
  {
    const Shared<Tensor<float>> gone = std::move(b);
  }
  std::optional<Tensor<float>> tensor = std::move(a).try_unwrap();
  ASSERT_TRUE(tensor.has_value());
  EXPECT_FALSE(std::move(a).try_unwrap().has_value()) << "it is empty";
  EXPECT_THAT(elements(*std::move(tensor)), Each(1.0f));
}

TEST_F(AsyncTensor, AShareInNoVariableGoesWhereItIsNotTheOnlyOne) {
  Shared<Tensor<float>> a = run(ones<float>({4}) | share);
  EXPECT_FALSE(Shared<Tensor<float>>(a).try_unwrap().has_value());
  EXPECT_TRUE(std::move(a).try_unwrap().has_value()) << "it is the only one now";
}

TEST_F(AsyncTensor, ItsMemoryGoesBackWithTheLastOwner) {
  settle();
  const std::uint64_t before = pool().used_bytes;
  {
    const Shared<Tensor<float>> a = run(ones<float>({1000}) | share);
    const Shared<Tensor<float>> b = a;
    EXPECT_GE(pool().used_bytes, before + 4000);
  }
  settle();
  EXPECT_EQ(pool().used_bytes, before);
}

TEST_F(AsyncTensor, ItsMemoryIsUsedAgainByWhatIsSubmittedNext) {
  (void)run(ones<float>({1000}));
  const std::uint64_t before = pool().reuses;
  for (int i = 0; i < 10; ++i) (void)run(ones<float>({1000}));
  EXPECT_GE(pool().reuses, before + 10);
  EXPECT_EQ(pool().slabs, 1u);
}

// The submission drops a tensor that a kernel still uses; the next tensor gets its memory.
TEST_F(AsyncTensor, DroppedWhileItIsUsedItIsNotFreedEarly) {
  for (int i = 0; i < 100; ++i) {
    auto y = saxpy(2.0f, ones<float>({64, 64}) | share, ones<float>({64, 64}) | partition(16, 16)) |
             last | unpartition;
    EXPECT_THAT(elements(add(std::move(y), full<float>({64, 64}, 4.0f))), Each(7.0f));
  }
}

TEST_F(AsyncTensor, AnOperationThatIsNeverAwaitedFreesWhatItHolds) {
  settle();
  const std::uint64_t before = pool().used_bytes;
  {
    auto x = run(ones<float>({1000}) | share);
    auto dropped = relu(std::move(x));
  }
  settle();
  EXPECT_EQ(pool().used_bytes, before);
}

}  // namespace
}  // namespace halyard::async
