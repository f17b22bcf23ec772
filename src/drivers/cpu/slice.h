// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slice: limits what one visit to a ring may do before other rings are served.
#pragma once

#include <cstdint>

#include "halyard/base/clock.h"

namespace halyard::inline v0::cpu {

// Counts commands, and reads the clock (30 ns) only at doubling counts: 0.5 ns per command.
class Slice {
 public:
  // A fraction of the 50 us that a scheduling hiccup costs, and many times the cost of a visit.
  static constexpr Nanoseconds kTime = 20'000;

  // `chunks`: the number of job chunks the visit may run. A helper runs one, or a part of it, and
  // then re-checks its own deadline; a worker has no limit.
  explicit Slice(std::uint32_t chunks = ~std::uint32_t{0}) noexcept : chunks_(chunks) {}

  bool spent() const noexcept { return spent_; }

  // Number of commands that may run before the next spend().
  std::uint32_t allowance() const noexcept { return spent_ ? 0 : next_reading_ - commands_; }
  // Precondition: count <= allowance().
  void spend(std::uint32_t count) noexcept {
    commands_ += count;
    if (commands_ >= next_reading_) [[unlikely]]
      look();
  }

  bool take_chunk() noexcept {
    if (chunks_ == 0) return false;
    if (--chunks_ == 0) spent_ = true;
    return true;
  }

 private:
  static constexpr std::uint32_t kCommands = 512;

  [[gnu::noinline]] void look() noexcept {
    const Nanoseconds now = Clock::steady().now();
    if (start_ == 0) start_ = now;
    next_reading_ = 2 * commands_;
    if (commands_ >= kCommands || now - start_ >= kTime) spent_ = true;
  }

  std::uint32_t commands_ = 0;
  std::uint32_t next_reading_ = 2;
  std::uint32_t chunks_;
  bool spent_ = false;
  Nanoseconds start_ = 0;
};

}  // namespace halyard::inline v0::cpu
