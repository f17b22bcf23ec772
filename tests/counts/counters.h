// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts what a piece of code executes. The program must be linked with
// -Wl,--wrap=syscall,--wrap=sched_yield.
#pragma once

#include <cstdint>

namespace halyard::counts {

// System calls of this thread through Halyard: futex and sched_yield, the only ones in a steady
// state. Calls of other libraries are not counted.
std::uint64_t system_calls() noexcept;
// The same for all threads.
std::uint64_t all_system_calls() noexcept;

// Instructions of one thread, counted by single-stepping it (some microseconds each).
struct Steps {
  std::uint64_t instructions = 0;
  std::uint64_t read_modify_writes =
      0;  // locked, or an exchange with memory; fences are among them
  // 32-bit compare-exchanges: base::Mutex makes one per acquisition; roles of a ring count too.
  std::uint64_t locks = 0;
  std::uint64_t system_calls = 0;
};

// True on x86-64 without sanitizers; elsewhere the counts are 0.
bool can_step() noexcept;

namespace detail {
void start_stepping() noexcept;
Steps stop_stepping() noexcept;
}  // namespace detail

// Runs `fn` on this thread. One thread at a time.
template <class F>
Steps count_steps(F&& fn) {
  detail::start_stepping();
  fn();
  return detail::stop_stepping();
}

}  // namespace halyard::counts
