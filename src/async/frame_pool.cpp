// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cached blocks of a thread only affect the addresses of frames, never the behaviour of a
// program.
#include "halyard/async/detail/frame_pool.h"

#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include "base/build.h"

namespace halyard::inline v0::async::detail {
namespace {

constexpr std::size_t kStep = 64;      // bytes between two size classes: a cache line
constexpr std::size_t kClasses = 64;   // frames above 4 KiB come from the heap
constexpr std::size_t kMaxFree = 256;  // blocks of each class that a thread keeps

struct Free {
  Free* next;
};

class Pool {
 public:
  ~Pool() {
    for (List& list : lists_) {
      while (list.first != nullptr) ::operator delete(std::exchange(list.first, list.first->next));
      list.count = kMaxFree;  // later frees, by static objects, go to the heap
    }
  }

  void* take(std::size_t index) noexcept {
    List& list = lists_[index];
    if (list.first == nullptr) return ::operator new((index + 1) * kStep, std::nothrow);
    --list.count;
    return std::exchange(list.first, list.first->next);
  }
  void give(std::size_t index, void* frame) noexcept {
    List& list = lists_[index];
    if (list.count == kMaxFree) return ::operator delete(frame);
    ++list.count;
    list.first = ::new (frame) Free{list.first};
  }

 private:
  struct List {
    Free* first = nullptr;
    std::size_t count = 0;
  };
  std::array<List, kClasses> lists_{};
};

thread_local Pool pool;

}  // namespace

void* allocate_frame(std::size_t size) noexcept {
  const std::size_t index = (size - 1) / kStep;
  if (base::kKeepsFreedMemory && index < kClasses) return pool.take(index);
  return ::operator new(size, std::nothrow);
}

void free_frame(void* frame, std::size_t size) noexcept {
  const std::size_t index = (size - 1) / kStep;
  if (base::kKeepsFreedMemory && index < kClasses) return pool.give(index, frame);
  ::operator delete(frame);
}

}  // namespace halyard::inline v0::async::detail
