// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sleeping on a 32-bit word (Linux futex(2), private to the process).
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::base {

// Sleeps while `word` holds `expected`, until a wake or until `deadline` (CLOCK_MONOTONIC
// nanoseconds; Deadline::kForeverTime for never). May return early; callers re-check. False only
// after the deadline.
bool futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                Nanoseconds deadline) noexcept;

// Wakes up to `count` sleepers of `word`. A system call (240-320 ns) even if no thread sleeps, so
// callers count their sleepers. Uses `word` as an address only.
void futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace halyard::inline v0::base
