// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/parker.h"

namespace halyard::inline v0::base {

constinit Mutex ParkerPool::mutex_;
constinit Parker* ParkerPool::free_ = nullptr;

Parker& ParkerPool::acquire() {
  {
    LockGuard lock(mutex_);
    if (Parker* parker = free_; parker != nullptr) {
      free_ = parker->next_free_;
      return *parker;
    }
  }
  return *new Parker;  // reachable from the pool once it is given back
}

void ParkerPool::release(Parker& parker) noexcept {
  LockGuard lock(mutex_);
  parker.next_free_ = free_;
  free_ = &parker;
}

}  // namespace halyard::inline v0::base
