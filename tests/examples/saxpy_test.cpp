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

TEST(Saxpy, TakesNoArguments) {
  const Ended ended = run("saxpy extra");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.output, "saxpy: it takes no arguments, and was given extra\n");
}

TEST(Saxpy, IsTracedWithItsTwoSubmissions) {
  const std::string file = test_path("json");
  const Ended ended = run("halyard trace -o " + file + " -- " + program_folder() + "/saxpy");
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.output.find("cpu://0 compute: 2 submissions, 2 commands, busy "),
            std::string::npos)
      << ended.output;
  const std::string trace = read(file);
  EXPECT_NE(trace.find("\"name\":\"saxpy\",\"cat\":\"command\""), std::string::npos);
  EXPECT_NE(trace.find("\"ph\":\"f\""), std::string::npos) << "it waits for the update";
  EXPECT_TRUE(trace.ends_with("\n]\n"));
}

}  // namespace
}  // namespace halyard_test
