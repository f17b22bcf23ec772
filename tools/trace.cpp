// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halyard trace: runs a program with HALYARD_PROFILE set, and then summarizes its trace file.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/format.h"
#include "commands.h"
#include "compiler/process.h"
#include "trace_summary.h"

namespace halyard::inline v0::tools {
namespace {

constexpr std::string_view kVariable = "HALYARD_PROFILE=";
constexpr std::string_view kLimit = "HALYARD_PROFILE_LIMIT=";

// Empties the file, so that afterwards its contents are the program's.
Status make_empty(const std::string& path) {
  if (path.find("%p") != std::string::npos) {
    return error(StatusCode::kInvalidArgument, "--output {}: %p is for HALYARD_PROFILE", path);
  }
  const base::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
  if (file.get() < 0) return base::system_error(path, "open");
  if (!std::filesystem::is_regular_file(path)) {
    return error(StatusCode::kInvalidArgument, "--output {}: not a regular file", path);
  }
  return {};
}

// Returns the status of waitpid(). An interrupt ends only the program, whose trace is then shown.
Result<int> run_traced(const std::string& program, const TraceOptions& options,
                       const std::string& output) {
  std::string variable = fmt::format("{}{}", kVariable, output);
  std::string limit = fmt::format("{}{}", kLimit, options.limit);
  std::vector<char*> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const bool replaced =
        entry.starts_with(kVariable) || (options.limit != 0 && entry.starts_with(kLimit));
    if (!replaced) environment.push_back(*at);
  }
  environment.push_back(variable.data());
  if (options.limit != 0) environment.push_back(limit.data());
  environment.push_back(nullptr);
  std::vector<char*> argv;
  const std::vector<std::string>& words = options.program;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  // The program handles the signals that this command ignores.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT, SIGXFSZ}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  for (const int number : {SIGINT, SIGQUIT}) ::signal(number, SIG_IGN);
  pid_t child = 0;
  const int code =
      ::posix_spawn(&child, program.c_str(), nullptr, &attributes, argv.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0) {
    return error(StatusCode::kUnavailable, "{}: cannot be started: {}", words[0],
                 std::strerror(code));
  }
  int state = 0;
  while (::waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return base::system_error(words[0], "wait");
  }
  return state;
}

}  // namespace

Result<int> trace(const TraceOptions& options) {
  ::unsetenv("HALYARD_PROFILE");  // this command itself is not traced
  const std::string program = compiler::find_program(options.program[0]);
  if (program.empty()) {
    return error(StatusCode::kNotFound, "{}: no such program", options.program[0]);
  }
  const std::string output = std::filesystem::absolute(options.output).string();
  HALYARD_RETURN_IF_ERROR(make_empty(output));
  HALYARD_ASSIGN_OR_RETURN(const int state, run_traced(program, options, output));

  if (std::filesystem::file_size(output) == 0) {
    std::filesystem::remove(output);
    fmt::print(stderr, "halyard: {} opened no device of Halyard: there is no trace\n",
               options.program[0]);
  } else {
    HALYARD_ASSIGN_OR_RETURN(const TraceSummary summary, summarize_trace(output));
    // Standard output belongs to the program.
    if (options.json) {
      print_json(to_json(summary, options.output));
    } else {
      fmt::print(stderr, "{}", to_text(summary, options.output));
    }
  }
  if (WIFEXITED(state)) return WEXITSTATUS(state);
  fmt::print(stderr, "halyard: {} was ended by signal {} ({})\n", options.program[0],
             WTERMSIG(state), ::strsignal(WTERMSIG(state)));
  return 128 + WTERMSIG(state);  // as shells do
}

}  // namespace halyard::inline v0::tools
