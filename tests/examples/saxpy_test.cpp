// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"

namespace halyard_test {
namespace {

TEST(Saxpy, ComputesAndChecksEveryElement) {
  const Ended ended = run("saxpy");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.lines(), 1u);
  EXPECT_TRUE(ended.output.starts_with("y = 2 x + 1 holds for all 1000000 elements on "))
      << ended.output;
}

}  // namespace
}  // namespace halyard_test
