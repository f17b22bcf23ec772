// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "halyard/async/host_span.h"

#include "async/async_test_util.h"

namespace halyard::async {
namespace {

using AsyncHostSpan = testing::AsyncTest;

TEST_F(AsyncHostSpan, ReadsWhatToHostGivesAsAMatrix) {
  const std::vector<float> values = elements(arange<float>(6));
  const HostSpan matrix(values, {2, 3});
  static_assert(std::is_same_v<decltype(matrix), const HostSpan<const float>>);
  EXPECT_EQ(matrix(0, 2), 2.0f);
  EXPECT_EQ(matrix(1, 0), 3.0f);
  EXPECT_EQ(matrix.shape()[1], 3u);
}

TEST_F(AsyncHostSpan, WritesWhatFromHostTakes) {
  std::vector<int> values(8);
  const HostSpan cube(values, {2, 2, 2});
  cube(1, 0, 1) = 7;
  EXPECT_EQ(elements(from_host(values, {2, 2, 2}))[5], 7);
  std::vector<int> one = {3};
  EXPECT_EQ(HostSpan(one, Shape())(), 3);
}

#ifndef NDEBUG
TEST(AsyncHostSpanDeathTest, AnIndexThatIsNotThereIsAsserted) {
  std::vector<int> values(6);
  const HostSpan matrix(values, {2, 3});
  EXPECT_DEATH(matrix(0, 3), "Assertion");
  EXPECT_DEATH(matrix(-1, 0), "Assertion");
  EXPECT_DEATH(matrix(5), "Assertion");
  EXPECT_DEATH(HostSpan(values, {2, 4}), "Assertion");
}
#endif

}  // namespace
}  // namespace halyard::async
