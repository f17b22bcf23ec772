// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a piece of code costs by count. The program must be linked with
// -Wl,--wrap=syscall,--wrap=sched_yield.
#pragma once

#include <cstdint>

namespace halyard::counts {

// System calls this thread has made through Halyard: futex and sched_yield, all it uses in a steady
// state. Calls of other libraries are not seen.
std::uint64_t system_calls() noexcept;
// The same, by all threads.
std::uint64_t all_system_calls() noexcept;

// Instructions of one thread, counted by single-stepping it (some microseconds each).
struct Steps {
  std::uint64_t instructions = 0;
  std::uint64_t read_modify_writes =
      0;  // locked, or an exchange with memory; fences are among them
  // 32-bit compare-exchanges: base::Mutex takes one per acquisition, roles of a ring are among
  // them.
  std::uint64_t locks = 0;
  std::uint64_t system_calls = 0;
};

// x86-64, and no sanitizer: elsewhere the counts are 0.
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
