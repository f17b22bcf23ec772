// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs programs in the folder of the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <cstdio>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace halyard_test {

struct Ended {
  int code = -1;       // -1 if a signal ended it
  std::string output;  // standard output and error
  std::size_t lines() const {
    return static_cast<std::size_t>(std::count(output.begin(), output.end(), '\n'));
  }
};

// The folder of the test program.
inline std::string program_folder() {
  return std::filesystem::canonical("/proc/self/exe").parent_path().string();
}

// `command` is one line for the shell: the program's name, then its arguments.
inline Ended run(const std::string& command) {
  Ended ended;
  const std::string line = program_folder().append("/").append(command).append(" 2>&1");
  FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return ended;
  char text[4096];
  while (const std::size_t size = ::fread(text, 1, sizeof text, pipe)) {
    ended.output.append(text, size);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

inline std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A path for files of the running test.
inline std::string test_path(const std::string& name) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string path =
      ::testing::TempDir() + test->test_suite_name() + "." + test->name() + "." + name;
  std::replace(path.begin() + static_cast<std::ptrdiff_t>(::testing::TempDir().size()), path.end(),
               '/', '-');
  return path;
}

}  // namespace halyard_test
