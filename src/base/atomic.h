// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The atomics and the lock that the engine uses. Engine code names base::Atomic and base::Mutex and
// nothing from <atomic> or <mutex>, so that a simulation build (src/sim) can make each access a
// schedule point.
#pragma once

#include <sched.h>

#include <atomic>
#include <type_traits>

#ifdef HALYARD_SIMULATION
#include "base/simulated_atomic.h"
#endif

namespace halyard::inline v0::base {

#ifndef HALYARD_SIMULATION

template <class T>
using Atomic = std::atomic<T>;

inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
// For a spinner that may hold the only core that the thread it waits for could run on.
inline void spin_yield() noexcept { sched_yield(); }

// Tells a simulation that the access that follows waits until `word` holds `value`.
template <class T>
void only_when(const Atomic<T>&, std::type_identity_t<T>) noexcept {}

#endif

}  // namespace halyard::inline v0::base
