// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/program.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace halyard::inline v0::base {
namespace {

// The name that execve(2) received. POSIX has no call for it: this one is from Linux's C libraries,
// and program_apple.cpp uses Apple's.
const char* started_as() noexcept { return reinterpret_cast<const char*>(::getauxval(AT_EXECFN)); }

}  // namespace

const char* environment(const char* name) noexcept {
  if (::getuid() != ::geteuid() || ::getgid() != ::getegid()) return nullptr;
  return std::getenv(name);
}

// As of the first call: a relative name begins in the folder in which the program was started.
std::string program_path() {
  static const std::string path = [] {
    const char* const name = started_as();
    std::error_code ignored;
    return name == nullptr ? std::string() : std::filesystem::canonical(name, ignored).string();
  }();
  return path;
}

const char* program_name() noexcept {
  const char* const name = started_as();
  if (name == nullptr) return "";
  const char* const slash = std::strrchr(name, '/');
  return slash != nullptr ? slash + 1 : name;
}

}  // namespace halyard::inline v0::base
