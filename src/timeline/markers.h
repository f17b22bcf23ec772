// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Markers: the places in a lane where its progress is seen (rule 20).
//
//     entries   1   2   3   4   5   6          through() is 4: the end of 5 and 6 is not seen
//                   m       m
//
// On a lane that marks every submission there is nothing to record: each sequence is its own
// marker. Otherwise the issuer records them: as it issues, if a thread or lane already waits, and
// at the lane's tail for later waiters. These request it from any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/atomic.h"
#include "timeline/entry_guard.h"

namespace halyard::inline v0::timeline {

class LaneTracker;

class Markers {
 public:
  // It remembers `mask` + 1 entries.
  Markers(LaneTracker& lane, bool marks_all, std::uint64_t mask) noexcept
      : lane_(lane), marks_all_(marks_all), mask_(mask) {}
  // False: no memory.
  [[nodiscard]] bool allocate() noexcept;

  // --- from any thread -------------------------------------------------------------------------

  bool marks_all() const noexcept { return marks_all_; }
  // Whether a marker follows `sequence`, or one is its own.
  bool cover(std::uint64_t sequence) const noexcept {
    return marks_all_ || through_.load(std::memory_order_acquire) >= sequence;
  }
  // The first sequence >= `sequence` that has a marker. 0 if no such marker exists or `sequence`
  // has been retired; the caller distinguishes the two by retired().
  std::uint64_t first_from(std::uint64_t sequence) const noexcept;

  // Has a marker recorded after `sequence`, by this thread or by the present issuer. True: it is
  // there, and is new. Otherwise the caller looks again later.
  bool make(std::uint64_t sequence, Visit& visit) noexcept;
  // The same; wakes the completion shell once there is a marker.
  void make_for_shell(std::uint64_t sequence) noexcept;

  // --- by the issuer ---------------------------------------------------------------------------

  // `sequence` is about to be issued, with or without one.
  void begin(std::uint64_t sequence, bool is_marked) noexcept {
    // A reader of this also sees that the entry's previous submission was retired (first_from).
    if (!marks_all_) at(sequence).store(is_marked, std::memory_order_release);
  }
  // The marker that it began with was recorded, or could not be.
  void recorded(std::uint64_t sequence) noexcept {
    through_.store(sequence, std::memory_order_release);
  }
  void missed(std::uint64_t sequence) noexcept {
    if (!marks_all_) at(sequence).store(false, std::memory_order_relaxed);
  }
  // A further marker was recorded, at the tail.
  void add(std::uint64_t sequence) noexcept {
    at(sequence).store(true, std::memory_order_relaxed);
    recorded(sequence);
  }
  // The last sequence with a marker, on a lane that does not mark all.
  std::uint64_t through() const noexcept { return through_.load(std::memory_order_relaxed); }
  bool has(std::uint64_t sequence) const noexcept {
    return marks_all_ || at(sequence).load(std::memory_order_relaxed);
  }

 private:
  base::Atomic<bool>& at(std::uint64_t sequence) const noexcept {
    return marked_[sequence & mask_];
  }

  LaneTracker& lane_;
  const bool marks_all_;
  const std::uint64_t mask_;
  base::Atomic<std::uint64_t> through_{0};
  std::unique_ptr<base::Atomic<bool>[]> marked_;
};

}  // namespace halyard::inline v0::timeline
