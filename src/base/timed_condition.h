// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TimedCondition: a condition variable of POSIX with deadlines of Clock::steady(). Apple has no
// pthread_condattr_setclock(), so its implementation uses another call.
#pragma once

#include <pthread.h>

#include "halyard/base/clock.h"

namespace halyard::inline v0::base {

struct TimedCondition {
  // Returns 0, or the error of pthread_cond_init(3). The caller destroys what was created.
  static int create(pthread_cond_t& condition) noexcept;

  // Releases the mutex, which the caller holds, sleeps, and acquires it again. Returns 0 after a
  // signal or a spurious wake-up, ETIMEDOUT after the deadline, which Deadline::kForeverTime
  // disables.
  static int wait(pthread_cond_t& condition, pthread_mutex_t& mutex, Nanoseconds deadline) noexcept;
};

}  // namespace halyard::inline v0::base
