// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who owns a tensor, and when its memory goes back.
#include "halyard/async/tensor.h"

#include <type_traits>

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using testing::saxpy;

class AsyncTensor : public AsyncTest {
 protected:
  hal::PoolStatistics pool() const {
    return runtime.device().hal().default_pool(hal::MemoryType::kDeviceLocal).statistics();
  }
  // All that was submitted has run.
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

// What a kernel still uses is dropped as the tree is submitted; what comes next gets its memory.
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
