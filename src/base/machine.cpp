// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/machine.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

namespace halyard::inline v0::base {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t start = line.find_first_not_of(" \t:", std::string_view("model name").size());
    if (start != std::string::npos) return line.substr(start);
  }
  return "CPU";
}

std::uint64_t memory_size() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes)
             : 0;
}

}  // namespace halyard::inline v0::base
