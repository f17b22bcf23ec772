// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/program.h"

#include <mach-o/dyld.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace halyard::inline v0::base {

const char* environment(const char* name) noexcept {
  return ::issetugid() != 0 ? nullptr : ::getenv(name);
}

// As of the first call: a relative name begins in the folder in which the program was started.
std::string program_path() {
  static const std::string path = [] {
    std::uint32_t size = 0;
    (void)::_NSGetExecutablePath(nullptr, &size);  // fails, and reports the size with its zero
    std::string name(size, '\0');
    if (size == 0 || ::_NSGetExecutablePath(name.data(), &size) != 0) return std::string();
    std::error_code ignored;
    return std::filesystem::canonical(name.c_str(), ignored).string();
  }();
  return path;
}

const char* program_name() noexcept { return ::getprogname(); }

}  // namespace halyard::inline v0::base
