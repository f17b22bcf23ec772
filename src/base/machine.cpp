// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/file.h"
#include "base/native_call.h"

namespace halyard::inline v0::base {

namespace {

HALYARD_CALL_SITE(kPages, "machine.pages", EINVAL);

}  // namespace

std::string processor_name() {
  const std::string text = read_text("/proc/cpuinfo");  // the first processor is near its beginning
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with("model name")) continue;
    const std::size_t start = line.find_first_not_of(" \t:", std::string_view("model name").size());
    if (start != std::string_view::npos) return std::string(line.substr(start));
  }
  return "CPU";
}

std::uint64_t memory_size() noexcept {
  const long pages = native_call(kPages, [] { return sysconf(_SC_PHYS_PAGES); });
  const long bytes = sysconf(_SC_PAGESIZE);  // constant during the process
  return pages > 0 && bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes)
             : 0;
}

}  // namespace halyard::inline v0::base
