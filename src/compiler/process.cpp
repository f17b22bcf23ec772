// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/format.h"

namespace halyard::inline v0::compiler {
namespace {

// Limit of a compiler's output: the syntax tree of a large kernel file is a few MiB.
constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 30;

struct FileActions {
  FileActions() { ::posix_spawn_file_actions_init(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};

}  // namespace

Result<TemporaryDirectory> TemporaryDirectory::create() {
  std::error_code ignored;
  std::filesystem::path base = std::filesystem::temp_directory_path(ignored);
  if (base.empty()) base = "/tmp";
  std::string name = (base / "halyard-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return error(StatusCode::kUnavailable, "no temporary directory in {}: {}", base.string(),
                 std::strerror(errno));
  }
  return TemporaryDirectory(std::filesystem::path(name));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::move(other.path_)) {
  other.path_.clear();
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<ProcessOutput> run_process(const std::vector<std::string>& arguments,
                                  const TemporaryDirectory& scratch) {
  // Files instead of pipes: a child that fills one pipe while its parent reads the other would
  // hang.
  const std::filesystem::path out = scratch.path() / "stdout";
  const std::filesystem::path err = scratch.path() / "stderr";
  FileActions files;
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files.actions, STDOUT_FILENO, out.c_str(), kWrite, 0600);
  ::posix_spawn_file_actions_addopen(&files.actions, STDERR_FILENO, err.c_str(), kWrite, 0600);

  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  if (const int code =
          ::posix_spawn(&child, words[0], &files.actions, nullptr, words.data(), environ);
      code != 0) {
    return error(StatusCode::kUnavailable, "{}: cannot be started: {}", arguments[0],
                 std::strerror(code));
  }
  int state = 0;
  while (::waitpid(child, &state, 0) < 0) {
    if (errno == EINTR) continue;
    return error(StatusCode::kUnavailable, "{}: cannot be waited for: {}", arguments[0],
                 std::strerror(errno));
  }
  ProcessOutput output;
  output.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  HALYARD_ASSIGN_OR_RETURN(output.out, read_file(out, kMaxOutputBytes));
  HALYARD_ASSIGN_OR_RETURN(output.err, read_file(err, kMaxOutputBytes));
  return output;
}

std::string find_program(std::string_view name) {
  const auto executable = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    return executable(std::string(name)) ? std::string(name) : std::string();
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!rest.empty() && !name.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    const std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
    if (executable(path)) return path;
  }
  return {};
}

Result<std::string> find_tool(std::string_view name, std::string_view package) {
  std::string path = find_program(name);
  if (!path.empty()) return path;
  return error(StatusCode::kUnavailable, "no {} in PATH: install {}", name, package);
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t most) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) {
    return error(StatusCode::kNotFound, "{}: no such file", path.string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return error(StatusCode::kInvalidArgument, "{}: not a regular file", path.string());
  }
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  std::ifstream stream(path, std::ios::binary);
  if (code || !stream) {
    return error(StatusCode::kUnavailable, "{}: cannot be read: {}", path.string(),
                 std::strerror(errno));
  }
  if (size > most) {
    return error(StatusCode::kResourceExhausted, "{}: {} bytes; at most {} are read", path.string(),
                 size, most);
  }
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (stream.gcount() != static_cast<std::streamsize>(size)) {
    return error(StatusCode::kUnavailable, "{}: ended early", path.string());
  }
  return text;
}

std::vector<std::string> parse_rule(std::string_view rule) {
  std::vector<std::string> paths;
  std::string path;
  const auto end_path = [&] {
    if (!path.empty()) paths.push_back(std::exchange(path, {}));
  };
  rule.remove_prefix(std::min(rule.size(), rule.find(':') + 1));
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (rule[i] == '\\' && next == '\n') {
      ++i;
    } else if ((rule[i] == '\\' && (next == ' ' || next == '#')) ||
               (rule[i] == '$' && next == '$')) {
      path += next;
      ++i;
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      end_path();
    } else {
      path += rule[i];
    }
  }
  end_path();
  return paths;
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (stream) return {};
  return error(StatusCode::kUnavailable, "{}: cannot be written: {}", path.string(),
               std::strerror(errno));
}

}  // namespace halyard::inline v0::compiler
