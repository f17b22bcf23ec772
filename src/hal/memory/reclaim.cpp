// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/reclaim.h"

namespace halyard::inline v0::hal {

bool Reclaimer::post(timeline::WorkItem& object) noexcept {
  timeline::Engine* engine = nullptr;
  {
    base::LockGuard lock(mutex_);
    if (engine_ == nullptr) return false;
    engine = engine_;  // the device does not close before this one is freed
    ++posted_;
  }
  engine->post_reclaim(object);
  return true;
}

void Reclaimer::posted_one_is_freed() noexcept {
  base::LockGuard lock(mutex_);
  --posted_;
}

bool Reclaimer::close() noexcept {
  base::LockGuard lock(mutex_);
  if (posted_ != 0) return false;
  engine_ = nullptr;
  return true;
}

}  // namespace halyard::inline v0::hal
