// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of kernels: what is passed, what comes back, and what a signature that is not the kernel's
// is told. What does not compile is in CMakeLists.txt.
#include "halyard/async/kernel.h"

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using testing::AsyncTest;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::refused_with;
using testing::saxpy;

using AsyncKernel = AsyncTest;

TEST_F(AsyncKernel, ComputesOverThePartitionAndGivesItsArgumentsBack) {
  auto [a, x, y] = run(
      saxpy(2.0f, ones<float>({16, 16}) | share, full<float>({16, 16}, 3.0f) | partition(4, 4)));
  static_assert(std::is_same_v<decltype(a), float>);
  static_assert(std::is_same_v<decltype(x), Shared<Tensor<float>>>);
  static_assert(std::is_same_v<decltype(y), Partition<Tensor<float>>>);
  EXPECT_EQ(a, 2.0f);
  EXPECT_THAT(elements(x), Each(1.0f));
  EXPECT_THAT(elements(std::move(y)), Each(5.0f));
}

}  // namespace
}  // namespace halyard::async
