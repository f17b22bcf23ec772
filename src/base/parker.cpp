// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parker.h"

#include <new>
#include <utility>

namespace halyard::inline v0::base {

constinit Mutex ParkerPool::mutex_;
constinit Parker ParkerPool::shared_;
constinit Parker* ParkerPool::free_ = nullptr;
constinit Parker* ParkerPool::made_ = &shared_;

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
  if (parker == nullptr) return shared_;
  parker->next_made_ = std::exchange(made_, parker);
  return *parker;
}

void ParkerPool::release(Parker& parker) noexcept {
  if (&parker == &shared_) return;
  LockGuard lock(mutex_);
  parker.next_free_ = free_;
  free_ = &parker;
}

void ParkerPool::wake_all() noexcept {
  Parker* parker = nullptr;
  {
    LockGuard lock(mutex_);
    parker = made_;
  }
  for (; parker != nullptr; parker = parker->next_made_) parker->wake();
}

}  // namespace halyard::inline v0::base
