// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/timed_condition.h"

#include <ctime>

namespace halyard::inline v0::base {

int TimedCondition::create(pthread_cond_t& condition) noexcept {
  pthread_condattr_t attributes;
  if (const int code = ::pthread_condattr_init(&attributes); code != 0) return code;
  int code = ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  if (code == 0) code = ::pthread_cond_init(&condition, &attributes);
  ::pthread_condattr_destroy(&attributes);
  return code;
}

int TimedCondition::wait(pthread_cond_t& condition, pthread_mutex_t& mutex,
                         Nanoseconds deadline) noexcept {
  if (deadline == Deadline::kForeverTime) return ::pthread_cond_wait(&condition, &mutex);
  if (deadline < 0) deadline = 0;
  const timespec until{.tv_sec = static_cast<time_t>(deadline / 1'000'000'000),
                       .tv_nsec = static_cast<long>(deadline % 1'000'000'000)};
  return ::pthread_cond_timedwait(&condition, &mutex, &until);
}

}  // namespace halyard::inline v0::base
