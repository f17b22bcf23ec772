// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Child processes and the private directory for their files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::compiler {

// A new directory that only this user can enter. The destructor removes it with its contents.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> create();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

struct ProcessOutput {
  int exit_code;  // 128 + number if a signal ended it
  std::string out;
  std::string err;
};

// Runs `arguments[0]`, a path, without a shell, with an empty standard input, and waits for it.
// Errors: kUnavailable if it cannot be started.
Result<ProcessOutput> run_process(const std::vector<std::string>& arguments,
                                  const TemporaryDirectory& scratch);

// The path of an executable: `name` itself if it has a slash, otherwise found in PATH; empty if it
// is not found.
std::string find_program(std::string_view name);
// Like find_program(). Errors: kUnavailable, naming the package to install.
Result<std::string> find_tool(std::string_view name, std::string_view package);

// Reads a whole file. Errors: kNotFound; kUnavailable; kResourceExhausted above `most` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t most);

// Limit for a source, a manifest or a rule; bounds the cost of a mistaken path.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{16} << 20;
// Errors: kUnavailable; the file may then exist in part.
Status write_file(const std::filesystem::path& path, std::string_view text);

// The paths after the colon of a Makefile rule "inputs: a.hyk b\ c.h \<newline> d.h", as compilers
// write it.
std::vector<std::string> parse_rule(std::string_view rule);

}  // namespace halyard::inline v0::compiler
