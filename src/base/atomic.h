// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The atomics and the lock that the engine uses. Engine code names base::Atomic and base::Mutex and
// nothing from <atomic> or <mutex>, so that a simulation build can make each access a schedule
// point.
#pragma once

#include <atomic>

namespace halyard::inline v0::base {

template <class T>
using Atomic = std::atomic<T>;

inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace halyard::inline v0::base
