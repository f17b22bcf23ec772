// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parker.h"

namespace halyard::inline v0::base {

constinit Mutex ParkerPool::mutex_;
constinit Parker* ParkerPool::free_ = nullptr;
constinit Parker* ParkerPool::made_ = nullptr;

Parker& ParkerPool::acquire() {
  {
    LockGuard lock(mutex_);
    if (Parker* parker = free_; parker != nullptr) {
      free_ = parker->next_free_;
      return *parker;
    }
  }
  auto* const parker = new Parker;
  LockGuard lock(mutex_);
  parker->next_made_ = made_;
  made_ = parker;
  return *parker;
}

void ParkerPool::release(Parker& parker) noexcept {
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
