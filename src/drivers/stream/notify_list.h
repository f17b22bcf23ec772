// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NotifyList: the waiters for sequences of a lane, for a driver that is notified of its progress.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/array.h"
#include "base/mutex.h"
#include "base/parker.h"

namespace halyard::inline v0::stream {

class NotifyList {
 public:
  // Calls notify.notify() once advance() has been called for `sequence`, or now if it has been.
  // If it cannot be stored, calls it now: early is allowed, a notified waiter checks again.
  void arm(std::uint64_t sequence, base::Notify& notify) noexcept {
    {
      base::LockGuard lock(mutex_);
      if (reached_ < sequence) {
        Armed* const known = std::find_if(armed_.begin(), armed_.end(),
                                          [&](const Armed& it) { return it.notify == &notify; });
        if (known != armed_.end()) {
          // The lower one: late is not allowed. But one that is reached is about to be notified,
          // and its owner has seen that already: it now waits for the later one.
          known->sequence =
              known->sequence <= reached_ ? sequence : std::min(known->sequence, sequence);
          return;
        }
        if (armed_.push_back({&notify, sequence})) return;
      }
    }
    notify.notify();
  }

  // The lane has reached `sequence`. Never goes back.
  void advance(std::uint64_t sequence) noexcept {
    {
      base::LockGuard lock(mutex_);
      reached_ = std::max(reached_, sequence);
    }
    while (base::Notify* const notify = take_reached()) notify->notify();
  }

 private:
  struct Armed {
    base::Notify* notify;
    std::uint64_t sequence;
  };

  base::Notify* take_reached() noexcept {
    base::LockGuard lock(mutex_);
    Armed* const due = std::find_if(armed_.begin(), armed_.end(),
                                    [&](const Armed& it) { return it.sequence <= reached_; });
    if (due == armed_.end()) return nullptr;
    base::Notify* const notify = due->notify;
    *due = armed_[armed_.size() - 1];
    armed_.shrink(armed_.size() - 1);
    return notify;
  }

  base::Mutex mutex_;  // guards the rest
  std::uint64_t reached_ = 0;
  base::Array<Armed> armed_;
};

}  // namespace halyard::inline v0::stream
