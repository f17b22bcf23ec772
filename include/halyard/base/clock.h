// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clock and Deadline. Every wait in Halyard reads time through a Clock, so that a test or a
// simulation can own it. Times are nanoseconds since an arbitrary start and never go back.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "halyard/base/export.h"

namespace halyard::inline v0 {

using Nanoseconds = std::int64_t;

// Safe from any thread.
class HALYARD_EXPORT Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() noexcept = 0;

  // std::chrono::steady_clock. Lives for the whole program.
  static Clock& steady() noexcept;
};

// The time at which a wait ends without success. A duration counts from the call, on the callee's
// clock. A time point is of std::chrono::steady_clock.
class Deadline {
 public:
  // Not explicit: `semaphore.wait(1, 5s)`. A negative duration is kNow.
  template <class Rep, class Period>
  constexpr Deadline(std::chrono::duration<Rep, Period> duration) noexcept
      : nanoseconds_(to_nanoseconds(duration)), relative_(true) {}
  template <class Duration>
  constexpr Deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> when) noexcept
      : nanoseconds_(to_nanoseconds(when.time_since_epoch())), relative_(false) {}

  static constexpr Deadline forever() noexcept { return Deadline(kForeverTime); }
  static constexpr Deadline now() noexcept { return Deadline(kPassedTime); }
  // A time of the callee's clock.
  static constexpr Deadline at(Nanoseconds time) noexcept { return Deadline(time); }

  // The time on `clock`: kForeverTime for never; kPassedTime, without reading the clock, for a
  // duration that is not positive.
  Nanoseconds resolve(Clock& clock) const noexcept {
    if (!relative_ || nanoseconds_ == kForeverTime) return nanoseconds_;
    if (nanoseconds_ <= 0) return kPassedTime;
    const Nanoseconds now = clock.now();
    return nanoseconds_ >= kForeverTime - now ? kForeverTime : now + nanoseconds_;
  }

  static constexpr Nanoseconds kForeverTime = std::numeric_limits<Nanoseconds>::max();
  static constexpr Nanoseconds kPassedTime = std::numeric_limits<Nanoseconds>::min();

 private:
  explicit constexpr Deadline(Nanoseconds time) noexcept : nanoseconds_(time), relative_(false) {}

  template <class Rep, class Period>
  static constexpr Nanoseconds to_nanoseconds(
      std::chrono::duration<Rep, Period> duration) noexcept {
    using Seconds = std::chrono::duration<double>;
    constexpr double kLimit = 9.2e9;  // seconds in 2^63 ns, about 292 years
    const double seconds = std::chrono::duration_cast<Seconds>(duration).count();
    if (seconds >= kLimit) return kForeverTime;
    if (seconds <= -kLimit) return kPassedTime;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  }

  Nanoseconds nanoseconds_;
  bool relative_;
};

inline constexpr Deadline kForever = Deadline::forever();
inline constexpr Deadline kNow = Deadline::now();

}  // namespace halyard::inline v0
