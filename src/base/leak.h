// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// leak(): leaks an object that a device may still access because it cannot be stopped. The
// object stays reachable for leak checkers. Safe from any thread.
#pragma once

#include <memory>
#include <new>

#include "base/mutex.h"

namespace halyard::inline v0::base {

template <class T>
void leak(std::unique_ptr<T> object) noexcept {
  struct Kept {
    T* object;
    Kept* next;
  };
  static constinit Mutex mutex;
  static constinit Kept* last = nullptr;
  T* const kept = object.release();
  auto* const node = new (std::nothrow) Kept{kept, nullptr};
  if (node == nullptr) return;  // leaked all the same
  LockGuard lock(mutex);
  node->next = last;
  last = node;
}

}  // namespace halyard::inline v0::base
