// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ClockMap: converts a device's clock to the host's, by the line through two readings of both.
#pragma once

#include <cstdint>

#include "halyard/base/clock.h"
#include "halyard/base/result.h"

namespace halyard::inline v0::trace {

// A reading of both clocks at one moment.
struct ClockPair {
  Nanoseconds host = 0;
  std::int64_t device = 0;  // ticks
};

// Implemented by devices whose timestamps come from another clock than the tracer's.
class DeviceClock {
 public:
  virtual Result<ClockPair> read() noexcept = 0;

 protected:
  ~DeviceClock() = default;
};

class ClockMap {
 public:
  ClockMap() noexcept = default;  // identity: the same clock
  // If both device times are equal only the offset is known, and a tick counts as a nanosecond.
  ClockMap(const ClockPair& first, const ClockPair& second) noexcept : origin_(first) {
    if (second.device == first.device) return;
    rate_ = static_cast<double>(second.host - first.host) /
            static_cast<double>(second.device - first.device);
  }
  // Differences are small enough to be exact to the nanosecond as a double.
  Nanoseconds to_host(std::int64_t device) const noexcept {
    const std::int64_t ticks = device - origin_.device;
    return origin_.host +
           (rate_ == 1 ? ticks : static_cast<Nanoseconds>(static_cast<double>(ticks) * rate_));
  }

 private:
  ClockPair origin_;
  double rate_ = 1;  // nanoseconds per tick
};

}  // namespace halyard::inline v0::trace
