// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/program.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace halyard::inline v0::base {

const char* environment(const char* name) noexcept { return ::secure_getenv(name); }

std::string program_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

const char* program_name() noexcept { return program_invocation_short_name; }

}  // namespace halyard::inline v0::base
