// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/block_pool.h"

#include <cerrno>
#include <cstdlib>

#include "base/native_call.h"

namespace halyard::inline v0::hal {
namespace {

HALYARD_CALL_SITE(kAllocate, "block_pool.allocate", ENOMEM);

}  // namespace

BlockPool::~BlockPool() {
  for (SizeClass& size_class : classes_) {
    while (Header* header = size_class.free) {
      size_class.free = header->next;
      std::free(header);
    }
  }
}

Block BlockPool::allocate(std::size_t size) noexcept {
  std::size_t index = 0;
  while (index < kClasses && bytes_of(index) < size) ++index;
  Header* header = nullptr;
  if (index < kClasses) {
    SizeClass& size_class = classes_[index];
    base::LockGuard lock(size_class.mutex);
    header = size_class.free;
    if (header != nullptr) {
      size_class.free = header->next;
      --size_class.free_count;
    }
    size = bytes_of(index);
  }
  if (header == nullptr) {
    if (size > kMost) return {};
    header = static_cast<Header*>(
        base::native_call(kAllocate, [&] { return std::malloc(sizeof(Header) + size); }));
    if (header == nullptr) return {};
    header->pool = this;
  }
  header->size_class = index;
  return Block(header);
}

void BlockPool::give_back(Header* header) noexcept {
  const std::size_t index = header->size_class;
  if (index < kClasses) {
    SizeClass& size_class = classes_[index];
    base::LockGuard lock(size_class.mutex);
    if (size_class.free_count < kMaxFreeBytes / bytes_of(index)) {
      header->next = size_class.free;
      size_class.free = header;
      ++size_class.free_count;
      return;
    }
  }
  std::free(header);
}

}  // namespace halyard::inline v0::hal
