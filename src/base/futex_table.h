// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// futex_wait() and futex_wake() (base/futex.h) by mutexes and condition variables, for systems
// without such calls. Sleeping threads are in lists by the address of their word, and are woken in
// order of arrival.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::base {

// The contracts are those of futex_wait() and futex_wake(). Only futex_table_wake() wakes sleepers
// of futex_table_wait().
bool futex_table_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                      Nanoseconds deadline) noexcept;
void futex_table_wake(const Atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace halyard::inline v0::base
