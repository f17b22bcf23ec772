// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
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

// A pipe with O_DIRECT gives a packet for each read.
TEST(File, AnEmptyPathIsSeenInTheError) {
  EXPECT_EQ(open_input("").status().message(), "'': open: No such file or directory");
}

TEST(File, APathWithAZeroByteIsRefused) {
  const std::string path = std::string("/dev/null") + '\0' + ".txt";
  EXPECT_EQ(open_input(path).status().message(), "/dev/null: a path of 14 bytes with a zero byte");
  EXPECT_TRUE(check_path("/dev/null").ok());
}

TEST(File, ReadAllPutsPiecesBehindEachOtherAndSaysWhereTheFileEnds) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_DIRECT), 0);
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  for (const char* packet : {"ab", "c", "de"}) {
    ASSERT_EQ(::write(to.get(), packet, std::strlen(packet)), long(std::strlen(packet)));
  }
  ASSERT_TRUE(to.close());
  std::string text(4, ' ');
  EXPECT_TRUE(read_all(from, "packets", std::as_writable_bytes(std::span(text).first(3))).ok());
  EXPECT_EQ(text, "abc ");
  const Status status = read_all(from, "packets", std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(status.to_string(), "DataLoss: packets: ends after 2 of 4 bytes");
}

}  // namespace
}  // namespace halyard::base
