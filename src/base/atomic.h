// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The atomics and the lock of the engine. Engine code uses base::Atomic and base::Mutex, and
// nothing from <atomic> or <mutex>. So a simulation build (simulation/) can make each access a
// schedule point, and a build for Relacy can give each load the values that a weak memory allows.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#if defined(HALYARD_SIMULATION)
#include "simulation/simulated_atomic.h"
#elif defined(HALYARD_RELACY)
#include "simulation/weak/relacy_atomic.h"
#endif

namespace halyard::inline v0::base {

#if !defined(HALYARD_SIMULATION) && !defined(HALYARD_RELACY)

template <class T>
using Atomic = std::atomic<T>;

inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
// For a thread that spins, possibly on the only core that the awaited thread could run on.
inline void spin_yield() noexcept { sched_yield(); }

// In a simulation, declares that the next access waits until `word` holds `value`.
template <class T>
void only_when(const Atomic<T>&, std::type_identity_t<T>) noexcept {}

#endif

// True if layouts are those of a release build: an Atomic is as large as its value.
inline constexpr bool kAtomicsAreWords = sizeof(Atomic<std::uint64_t>) == sizeof(std::uint64_t);

// Orders an earlier store before a later load. A locked instruction on the stack: 22-44 ns if the
// stored line is contended, half the price of mfence.
inline void full_fence() noexcept {
#if defined(HALYARD_RELACY)
  model_fence(std::memory_order_seq_cst, Site::current());
#elif defined(__x86_64__)
  asm volatile("lock; orl $0, -8(%%rsp)" ::: "memory", "cc");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// full_fence() after a sequentially consistent read-modify-write. That orders later accesses only
// if they are sequentially consistent too, or if the processor guarantees it, as x86 does.
inline void fence_after_rmw() noexcept {
#if defined(HALYARD_RELACY)
  model_fence(std::memory_order_seq_cst, Site::current());
#elif !defined(__x86_64__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace halyard::inline v0::base
