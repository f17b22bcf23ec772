// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NotifyList: the armed notifications of a lane (NativeQueue::arm), for a lane with threads of its
// own that see its progress.
//
//     arm(sequence, notify)                      advance(sequence)
//     link; least_ := smallest sequence          reached_ := sequence
//     read reached_: reached? unlink, notify     read least_: reached? lock, pop, notify
//
// Whichever comes second sees the other (timelines.md, rule 3), so no notification is lost. An
// advance that reaches no armed sequence takes no lock.
//
// A Notify has at most one entry. A Notify that was armed several times is notified when the lowest
// of its sequences is reached, and again when the last armed one is. Reason: a caller that has
// polled the lane may know of progress that advance() has not reported yet, arm for a later
// sequence, and take the notification of the earlier arming for nothing new.
//
// Any thread may call each function. notify() is called under no lock. Entries are kept in an
// array whose memory is reused; without memory for one more, arm() notifies at once, which is
// early.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/array.h"
#include "base/atomic.h"
#include "base/mutex.h"
#include "base/parker.h"

namespace halyard::inline v0::timeline {

class NotifyList {
 public:
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};

  NotifyList() noexcept = default;
  NotifyList(const NotifyList&) = delete;
  NotifyList& operator=(const NotifyList&) = delete;

  // Calls notify.notify() when `sequence` is reached, at once if it is, and perhaps before.
  void arm(std::uint64_t sequence, base::Notify& notify) noexcept;

  // The lane has reached `sequence`. A lower one than before changes nothing. On return no armed
  // sequence up to it is left, even if another thread has reached it and is about to notify.
  void advance(std::uint64_t sequence) noexcept {
    std::uint64_t seen = reached_.load(std::memory_order_relaxed);
    while (seen < sequence &&
           !reached_.compare_exchange_weak(seen, sequence, std::memory_order_seq_cst)) {
    }
    if (least_.load(std::memory_order_seq_cst) <= std::max(seen, sequence)) [[unlikely]] {
      notify_reached();
    }
  }

  // Used by a leaked lane, which may still run, and outlives the objects that it notifies. Notifies
  // everything that is armed, early. On return no call of notify() is in progress, and none begins
  // but by arm(). Not within one.
  void close() noexcept;

  // The smallest sequence that is armed for, or kNothing.
  std::uint64_t least() const noexcept { return least_.load(std::memory_order_seq_cst); }

  // Calls fn(sequence) for each that is armed for, under the lock.
  template <class F>
  void for_each(F&& fn) const noexcept {
    base::LockGuard lock(mutex_);
    for (const Armed& armed : armed_) fn(armed.sequence);
  }

 private:
  struct Armed {
    base::Notify* notify;
    std::uint64_t sequence;  // the lowest
    std::uint64_t last;      // the last that it was armed for
  };

  // Under the lock. link(): null without memory for it.
  Armed* link(std::uint64_t sequence, base::Notify& notify) noexcept;
  void take(Armed& entry, std::uint64_t reached) noexcept;
  void update_least() noexcept;
  void notify_reached() noexcept;

  base::Atomic<std::uint64_t> reached_{0};
  base::Atomic<std::uint64_t> least_{kNothing};
  mutable base::Mutex mutex_;  // guards armed_, and writes of least_
  base::Array<Armed> armed_;
  bool closed_ = false;                     // under the lock
  base::Atomic<std::uint32_t> calling_{0};  // advance()s that notify; raised under the lock
};

}  // namespace halyard::inline v0::timeline
