// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace halyard::inline v0::base {

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

void* map_pages(std::size_t size) noexcept {
  return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace halyard::inline v0::base
