// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HALYARD_PAGE_SIZE, an option of the build, is the minimum page size. With it a machine with pages
// of 4 KiB can test the behaviour of machines with 16 KiB.
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace halyard::inline v0::base {
namespace {

std::size_t system_page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

void* map(std::size_t size) noexcept {
  return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
}

}  // namespace

std::size_t page_size() noexcept {
  return std::max<std::size_t>(system_page_size(), HALYARD_PAGE_SIZE);
}

// The system aligns to its own pages. If they are smaller, this maps one more page and unmaps the
// parts outside the aligned range.
void* map_pages(std::size_t size) noexcept {
  const std::size_t page = page_size();
  const std::size_t unit = system_page_size();
  if (page == unit) return map(size);
  if (size == 0 || size > PTRDIFF_MAX - 2 * page) {
    errno = size == 0 ? EINVAL : ENOMEM;
    return MAP_FAILED;
  }
  const std::size_t rounded = (size + unit - 1) & ~(unit - 1);
  void* const mapped = map(rounded + page);
  if (mapped == MAP_FAILED) return mapped;
  auto* const first = static_cast<std::byte*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(first) & (page - 1);
  if (before != 0) ::munmap(first, before);
  ::munmap(first + before + rounded, page - before);
  return first + before;
}

}  // namespace halyard::inline v0::base
