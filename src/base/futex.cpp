// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/native_call.h"

namespace halyard::inline v0::base {

namespace {

HALYARD_CALL_SITE(kWait, "futex.wait", EINTR);
HALYARD_CALL_SITE(kWake, "futex.wake", 0, Failing::kErrno,
                  "futex(2) fails to wake only for an invalid address");

}  // namespace

static_assert(sizeof(Atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                Nanoseconds deadline) noexcept {
  timespec until{};
  timespec* timeout = nullptr;
  if (deadline != Deadline::kForeverTime) {
    if (deadline < 0) deadline = 0;
    until.tv_sec = static_cast<time_t>(deadline / 1'000'000'000);
    until.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
    timeout = &until;
  }
  // WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, which is what steady_clock counts.
  const long result = native_call(kWait, [&] {
    return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, timeout,
                   nullptr, FUTEX_BITSET_MATCH_ANY);
  });
  if (result == 0 || timeout == nullptr) return true;
  // If the thread cannot sleep for another reason, the deadline still passes.
  return errno != ETIMEDOUT && (errno == EAGAIN || Clock::steady().now() < deadline);
}

void futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  native_call(kWake, [&] {
    return syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
  });
}

}  // namespace halyard::inline v0::base
