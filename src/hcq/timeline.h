// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timeline: the points of a device, in order, and how they go on where a signal's values end.
//
// The last point is one value: signal and number. After the one with number `limit` comes 1 of the
// shadow signal, which then is the timeline's. Who waits for the last point and signals the next
// carries the order from one signal to the other, at any moment. A signal is never used again, so
// who keeps a point, across any number of changes, can still wait for it; and as it is made once in
// 2^31 points, reuse would save nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "halyard/base/result.h"
#include "halyard/hcq/signal.h"

namespace halyard::inline v0::hcq::detail {

struct Block;

class Timeline {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  // The first point is `start` + 1. kResourceExhausted.
  static Result<std::unique_ptr<Timeline>> create(std::uint64_t limit = kNoLimit,
                                                  std::uint64_t start = 0);

  Point last() const noexcept {
    base::LockGuard lock(mutex_);
    return last_;
  }

  // ---- For the thread that has the turn.

  base::Mutex turn;  // held through submissions, unlike the lock inside
  Point next() noexcept;
  void take(const Point& next) noexcept;

  // ---- Memory of the device that nobody uses, but work might, until its point.

  base::Mutex abandoned_mutex;
  Block* abandoned = nullptr;

 private:
  Timeline(Signal first, Signal shadow, std::uint64_t limit, std::uint64_t start) noexcept
      : limit_(limit), last_{std::move(first), start}, shadow_(std::move(shadow)) {}

  const std::uint64_t limit_;
  mutable base::Mutex mutex_;
  Point last_;     // written by the turn's thread under the lock, which it therefore reads without
  Signal shadow_;  // the turn's: made ahead, or else when it is needed
};

}  // namespace halyard::inline v0::hcq::detail
