// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LaneEnd: the end of a driver's lane: the cause, and the answers of NativeQueue::abandon().
//
//     Abandoned Lane::abandon(const Status& cause, Nanoseconds waited) noexcept {
//       return end_.abandon(cause, [&] { ... });     // stop, and say what still runs
//     }
#pragma once

#include "base/atomic.h"
#include "base/mutex.h"
#include "halyard/base/status.h"
#include "timeline/native_queue.h"

namespace halyard::inline v0::timeline {

class LaneEnd {
 public:
  // The lane is abandoned, or has a fault.
  bool begun() const noexcept { return begun_.load(std::memory_order_seq_cst); }
  // begun(), for running work that looks whether it must stop.
  const base::Atomic<bool>& flag() const noexcept { return begun_; }
  // Precondition: begun().
  const Status& cause() const noexcept { return cause_; }
  Status status() const { return begun() ? cause_ : Status(); }

  // From any thread. Only the first cause is kept.
  void begin(const Status& cause) noexcept {
    base::LockGuard lock(mutex_);
    if (begun()) return;
    cause_ = cause;
    begun_.store(true, std::memory_order_seq_cst);
  }

  // NativeQueue::abandon(). `stop` is called until it has returned something other than kStopping.
  template <class Stop>
  Abandoned abandon(const Status& cause, const Stop& stop) noexcept {
    begin(cause);
    if (answer_ == Abandoned::kStopping) answer_ = stop();
    return answer_;
  }
  bool still_running() const noexcept { return answer_ == Abandoned::kStillRunning; }

 private:
  base::Atomic<bool> begun_{false};
  Status cause_;       // written before begun_
  base::Mutex mutex_;  // held to write cause_
  Abandoned answer_ = Abandoned::kStopping;
};

}  // namespace halyard::inline v0::timeline
