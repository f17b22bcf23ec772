// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timeline: the points of a device, in order, and the change to another signal when a signal's
// values are used up.
//
// The last point is a signal and a number. The point after number `limit` is 1 of the shadow
// signal, which then becomes the timeline's. A submission that waits for the last point and signals
// the next carries the order from one signal to the other. A signal is never reused, so a stored
// point stays valid across any number of changes. Reuse would save one allocation in 2^31 points.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "halyard/base/result.h"
#include "halyard/hcq/signal.h"
#include "hcq/signal_object.h"

namespace halyard::inline v0::hcq::detail {

struct Block;

// Makes the signals of a device.
class SignalSource {
 public:
  // Null if there is no memory. Any thread.
  virtual Ref<SignalObject> make(std::uint64_t initial) noexcept = 0;

 protected:
  ~SignalSource() = default;
};
// Signals that processors raise: SignalObject's own words.
SignalSource& host_signals() noexcept;

class Timeline {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  // The first point is `start` + 1. `source` outlives the timeline. Errors: kResourceExhausted.
  static Result<std::unique_ptr<Timeline>> create(std::uint64_t limit = kNoLimit,
                                                  std::uint64_t start = 0,
                                                  SignalSource& source = host_signals());

  Signal make_signal(std::uint64_t initial) const noexcept { return Signal(source_.make(initial)); }

  Point last() const noexcept {
    base::LockGuard lock(mutex_);
    return last_;
  }

  // ---- For the thread that holds submit_mutex.

  base::Mutex submit_mutex;  // held through submissions, unlike mutex_
  Point next() noexcept;
  void take(const Point& next) noexcept;

  // ---- Device memory without an owner that queued work may use until its point.

  base::Mutex abandoned_mutex;
  Block* abandoned = nullptr;

 private:
  Timeline(SignalSource& source, Signal first, Signal shadow, std::uint64_t limit,
           std::uint64_t start) noexcept
      : source_(source),
        limit_(limit),
        last_{std::move(first), start},
        shadow_(std::move(shadow)) {}

  SignalSource& source_;
  const std::uint64_t limit_;
  mutable base::Mutex mutex_;
  Point last_;     // written under both mutexes, so the holder of either may read it
  Signal shadow_;  // guarded by submit_mutex; created early or when needed
};

}  // namespace halyard::inline v0::hcq::detail
