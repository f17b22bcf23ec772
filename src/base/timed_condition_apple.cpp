// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/timed_condition.h"

#include <cerrno>
#include <ctime>

namespace halyard::inline v0::base {

int TimedCondition::create(pthread_cond_t& condition) noexcept {
  return ::pthread_cond_init(&condition, nullptr);
}

// Passes the remaining time, because pthread_cond_timedwait() uses the time of day here, which can
// be set.
int TimedCondition::wait(pthread_cond_t& condition, pthread_mutex_t& mutex,
                         Nanoseconds deadline) noexcept {
  if (deadline == Deadline::kForeverTime) return ::pthread_cond_wait(&condition, &mutex);
  if (deadline <= 0) return ETIMEDOUT;
  const Nanoseconds left = deadline - Clock::steady().now();
  if (left <= 0) return ETIMEDOUT;
  const timespec time{.tv_sec = static_cast<time_t>(left / 1'000'000'000),
                      .tv_nsec = static_cast<long>(left % 1'000'000'000)};
  return ::pthread_cond_timedwait_relative_np(&condition, &mutex, &time);
}

}  // namespace halyard::inline v0::base
