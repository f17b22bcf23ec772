// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/utsname.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/native_call.h"

namespace halyard::inline v0::base {

namespace {

HALYARD_CALL_SITE(kPages, "machine.pages", EINVAL);

}  // namespace

// POSIX knows the architecture only: "x86_64".
std::string processor_name() {
  struct utsname system;
  return ::uname(&system) >= 0 ? system.machine : "CPU";
}

std::uint64_t memory_size() noexcept {
  const long pages = native_call(kPages, [] { return sysconf(_SC_PHYS_PAGES); });
  const long bytes = sysconf(_SC_PAGESIZE);  // constant during the process
  return pages > 0 && bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes)
             : 0;
}

}  // namespace halyard::inline v0::base
