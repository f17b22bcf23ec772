// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a program that does not wait for its work.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "trace/events.h"

namespace halyard::trace {
namespace {

using testing::arrows;
using testing::events_of;
using testing::expect_well_formed;
using testing::json;
using testing::only;
using testing::row_names;
using testing::slices;

constexpr std::size_t kEach = 100;

class EndedWork : public ::testing::TestWithParam<const char*> {
 protected:
  ~EndedWork() override { std::remove(path_.c_str()); }

  std::string text() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // Whether the file has the ends of all submissions, and whole lines.
  static bool has_all(const std::string& text) {
    constexpr std::string_view kSlice = "\"cat\":\"submission\",\"args\":{\"submission\":";
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(kSlice, at)) != text.npos; ++at) ++count;
    return count == 2 * kEach + 1 && text.ends_with(",\n");
  }
  void kill_when_written(pid_t child) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!has_all(text()) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(::kill(child, SIGKILL), 0);
  }

  // The trace file of unwaited_program, without its end if the program was killed.
  json trace_of(const char* end, int expected) const {
    std::string profile = "HALYARD_PROFILE=" + path_;
    std::string unchecked = "HALYARD_CHECK=0";  // the program does not order its fills
    std::vector<char*> environment{profile.data(), unchecked.data(), nullptr};
    char* argv[] = {const_cast<char*>(HALYARD_UNWAITED_PROGRAM), const_cast<char*>(GetParam()),
                    const_cast<char*>(end), nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, argv[0], nullptr, nullptr, argv, environment.data()), 0);
    if (expected == SIGKILL) kill_when_written(child);
    int state = 0;
    EXPECT_EQ(::waitpid(child, &state, 0), child);
    EXPECT_EQ(state, expected);
    std::string trace = text();
    if (expected != 0) trace.replace(trace.rfind(','), std::string::npos, "]");
    json parsed = json::parse(trace);
    expect_well_formed(parsed);
    return parsed;
  }
  std::size_t complete(const json& trace, const std::string& operation) const {
    auto found = slices(trace, "submission");
    std::erase_if(found, [&](const json& slice) { return slice["name"] != operation; });
    return found.size();
  }

  const std::string path_ =
      ::testing::TempDir() + "exit_test." + std::to_string(::getpid()) + ".json";
};

TEST_P(EndedWork, IsInTheFileIfMainReturnsWithoutAWaitForIt) {
  const json trace = trace_of("return", 0);
  EXPECT_EQ(complete(trace, "barrier"), kEach);
  EXPECT_EQ(complete(trace, "fill"), kEach);
  EXPECT_EQ(trace.back()["name"], "halyard_end");
}

TEST_P(EndedWork, IsInTheFileOfAnExitWithTheNumberOfUnendedSubmissions) {
  const json trace = trace_of("exit", 0);
  EXPECT_EQ(complete(trace, "barrier"), kEach);
  EXPECT_EQ(only(events_of(trace, "i"))["name"], "1 submission had not ended");
}

TEST_P(EndedWork, IsInTheFileOfAKilledProgramWithoutAWaitForIt) {
  const json trace = trace_of("kill", SIGKILL);
  EXPECT_EQ(complete(trace, "barrier"), kEach);
  EXPECT_EQ(complete(trace, "fill"), kEach);
}

INSTANTIATE_TEST_SUITE_P(Drivers, EndedWork, ::testing::Values(HALYARD_TRACED_URIS),
                         [](const auto& uri) {
                           const std::string text = uri.param;
                           return text.substr(0, text.find(':'));
                         });

}  // namespace
}  // namespace halyard::trace
