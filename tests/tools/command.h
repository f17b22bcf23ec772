// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the halyard command as a program with arguments, outputs and an exit code.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "npy.h"
#include "tools/temporary_directory.h"

#if defined(__aarch64__)
#define HALYARD_CPU "aarch64"
#else
#define HALYARD_CPU "x86-64"
#endif

namespace halyard::testing {

using Words = std::vector<std::string>;

struct Outcome {
  int code = -1;  // minus the signal, if a signal ended it
  std::string out;
  std::string err;
};

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Expects `text` in the error, one line on stderr, exit code 1 and nothing on stdout.
inline void expect_error(const Outcome& outcome, const std::string& text) {
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, ::testing::AllOf(::testing::StartsWith("halyard: "),
                                            ::testing::HasSubstr(text), ::testing::EndsWith("\n")));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

class Command : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 4096;

  // Keeps the tests out of the user's folder.
  Command() { ::setenv("HALYARD_CACHE_DIR", path("cache").c_str(), 1); }

  Outcome halyard(Words words) const {
    words.insert(words.begin(), HALYARD_TOOL);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = directory_.path("stdout");
    const std::string err = directory_.path("stderr");
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, stdout_.empty() ? out.c_str() : stdout_.c_str(),
                                     kFlags, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err.c_str(), kFlags, 0600);
    pid_t pid = 0;
    const int failure = ::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure != 0) return {};
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_text(out),
            read_text(err)};
  }

  std::string path(std::string_view name) const { return directory_.path(name); }

  // A file of `count` floats: first, first + 1, ...
  std::string floats(std::string_view name, float first, std::size_t count = kCount) const {
    tools::NpyArray array{tools::ElementType::kFloat32, {count}, std::vector<std::byte>(count * 4)};
    for (float& value : array.as<float>()) value = first++;
    check(tools::write_npy(path(name), array));
    return path(name);
  }

  // A valid `halyard run saxpy`, before a test changes it.
  Words saxpy() const {
    return {"run",      HALYARD_SAXPY_HYX, "saxpy",
            "--device", "cpu://",          "--items",
            "4096",     "--arg",           "a=2.0",
            "--arg",    "n=4096",          "--in",
            "x=" + x_,  "--inout",         "y=" + y_ + ":" + path("z.npy")};
  }
  // The same with one word replaced.
  Words saxpy_with(const std::string& old_word, const std::string& new_word) const {
    Words words = saxpy();
    const auto at = std::ranges::find_if(
        words, [&](const std::string& word) { return word.starts_with(old_word); });
    EXPECT_NE(at, words.end());
    *at = new_word;
    return words;
  }
  // The same without an option and its value.
  Words saxpy_without(const std::string& value) const {
    Words words = saxpy();
    const auto at = std::ranges::find_if(
        words, [&](const std::string& word) { return word.starts_with(value); });
    EXPECT_NE(at, words.end());
    words.erase(at - 1, at + 1);
    return words;
  }
  void expect_no_output() const { EXPECT_FALSE(std::filesystem::exists(path("z.npy"))); }

  TemporaryDirectory directory_;
  std::string x_ = floats("x.npy", 1.0f);
  std::string y_ = floats("y.npy", 10.0f);
  std::string stdout_;  // if not empty, a file for the program's output
};

}  // namespace halyard::testing
