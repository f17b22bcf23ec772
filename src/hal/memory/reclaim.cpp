// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hal/memory/reclaim.h"

#include <chrono>

#include "halyard/base/clock.h"

namespace halyard::inline v0::hal {

void PendingFrees::posted() noexcept {
  base::LockGuard lock(mutex_);
  ++posted_;
}

void PendingFrees::freed() noexcept {
  {
    base::LockGuard lock(mutex_);
    ++freed_;
  }
  one_freed_.wake();
}

std::uint64_t PendingFrees::count() noexcept {
  base::LockGuard lock(mutex_);
  return freed_;
}

bool PendingFrees::wait(std::uint64_t before) noexcept {
  const auto counts = [&](std::uint64_t& posted) {
    base::LockGuard lock(mutex_);
    posted = posted_;
    return freed_;
  };
  std::uint64_t target = 0, latest = 0;
  latest = counts(target);
  if (latest == target) return latest != before;
  const Nanoseconds deadline = Deadline(std::chrono::seconds(1)).resolve(Clock::steady());
  for (bool in_time = true; in_time;) {
    const std::uint32_t epoch = one_freed_.prepare();
    if (counts(latest) >= target) break;
    in_time = one_freed_.park(epoch, deadline);
  }
  return true;
}

bool Reclaimer::post(timeline::WorkItem& object) noexcept {
  timeline::Engine* engine = nullptr;
  {
    base::LockGuard lock(mutex_);
    if (engine_ == nullptr) return false;
    engine = engine_;  // the device does not close before this object is freed
    ++posted_;
  }
  pending_.posted();
  engine->post_reclaim(object);
  return true;
}

void Reclaimer::posted_one_is_freed() noexcept {
  pending_.freed();
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
