// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/failing_calls.h"

namespace halyard::base {
namespace {

TEST(File, TextOfOneThatCannotBeReadIsEmpty) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("halyard_file_test_" + std::to_string(::getpid()));
  std::ofstream(path) << "text";
  EXPECT_EQ(base::read_text(path), "text");
  for (const char* site : {"file.open", "file.stat", "file.read"}) {
    testing::FailingCalls calls(site);
    EXPECT_EQ(base::read_text(path), "") << site;
    EXPECT_EQ(calls.failed(), 1) << site;
  }
  std::filesystem::remove(path);
  EXPECT_EQ(base::read_text(path), "");
}

}  // namespace
}  // namespace halyard::base
