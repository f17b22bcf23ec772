// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parker.h"

#include <new>

namespace halyard::inline v0::base {

constinit Mutex ParkerPool::mutex_;
constinit Parker ParkerPool::shared_;
constinit Parker* ParkerPool::free_ = nullptr;

// One critical section whether a parker is free or not: a seed's schedule must not depend on what
// the process has simulated before.
Parker& ParkerPool::acquire() {
  LockGuard lock(mutex_);
  Parker* parker = free_;
  if (parker != nullptr) {
    free_ = parker->next_free_;
    return *parker;
  }
  parker = new (std::nothrow) Parker;
  return parker != nullptr ? *parker : shared_;
}

void ParkerPool::release(Parker& parker) noexcept {
  if (&parker == &shared_) return;
  LockGuard lock(mutex_);
  parker.next_free_ = free_;
  free_ = &parker;
}

}  // namespace halyard::inline v0::base
