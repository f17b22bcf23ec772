// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program.h"

namespace halyard_test {
namespace {

class AsyncExample : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(AsyncExample, PrintsItsLine) {
  const auto& [program, line] = GetParam();
  const Ended ended = run(program);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, line + std::string("\n"));
}

INSTANTIATE_TEST_SUITE_P(
    All, AsyncExample,
    ::testing::Values(std::pair("async_first", "3"), std::pair("async_zip", "10 25"),
                      std::pair("async_unzip", "4"), std::pair("async_schedule", "2 20"),
                      std::pair("async_nursery", "30"),
                      std::pair("async_recorded", "201 50\n0 2 4 6\n4 6 8 10"),
                      std::pair("async_sender", "2"), std::pair("async_once", "0 1"),
                      std::pair("async_devices",
                                "64 64 64 64 OutOfRange: device 4 of a runtime with 4 devices"),
                      std::pair("async_owners", "two owners, 3")),
    [](const auto& test) { return std::string(test.param.first); });

#if __has_include(<boost/asio.hpp>)
INSTANTIATE_TEST_SUITE_P(WithBoost, AsyncExample,
                         ::testing::Values(std::pair("async_boost_server", "3888000")),
                         [](const auto& test) { return std::string(test.param.first); });
#endif

#if __has_include(<asio.hpp>)
INSTANTIATE_TEST_SUITE_P(WithAsio, AsyncExample,
                         ::testing::Values(std::pair("async_server", "3888000")),
                         [](const auto& test) { return std::string(test.param.first); });
#endif

class FirstProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(FirstProgram, OfADocumentIsTheExample) {
  const std::string program = read(FIRST_PROGRAM);
  const std::string document = read(GetParam());
  EXPECT_NE(document.find("```cpp\n" + program.substr(program.find("#include")) + "```\n"),
            std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(Of, FirstProgram, ::testing::Values(README, GUIDE), [](const auto& test) {
  return std::string(test.index == 0 ? "Readme" : "Guide");
});

}  // namespace
}  // namespace halyard_test
