// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LanePoint: a sequence of a lane. PinnedLanePoint: also keeps the lane's native queue open.
#pragma once

#include <cstdint>
#include <utility>

namespace halyard::inline v0::timeline {

class LaneTracker;

// Plain data; the holder knows why the lane exists.
struct LanePoint {
  LaneTracker* lane = nullptr;  // null: no point
  std::uint64_t sequence = 0;

  explicit operator bool() const noexcept { return lane != nullptr; }
};

// Move-only. Made while the lane is known to be open; used by one thread at a time.
class PinnedLanePoint {
 public:
  PinnedLanePoint() noexcept = default;
  explicit PinnedLanePoint(const LanePoint& at) noexcept : at_(at) {
    if (at_) pin(*at_.lane);
  }
  PinnedLanePoint(PinnedLanePoint&& other) noexcept : at_(std::exchange(other.at_, {})) {}
  PinnedLanePoint& operator=(PinnedLanePoint&& other) noexcept {
    std::swap(at_, other.at_);
    other.reset();
    return *this;
  }
  ~PinnedLanePoint() { reset(); }

  void reset() noexcept {
    if (at_) unpin(*std::exchange(at_, {}).lane);
  }

  explicit operator bool() const noexcept { return bool(at_); }
  LaneTracker* operator->() const noexcept { return at_.lane; }
  LaneTracker* lane() const noexcept { return at_.lane; }
  std::uint64_t sequence() const noexcept { return at_.sequence; }
  const LanePoint& at() const noexcept { return at_; }

 private:
  static void pin(LaneTracker& lane) noexcept;  // lane_tracker.cpp
  static void unpin(LaneTracker& lane) noexcept;

  LanePoint at_;
};

}  // namespace halyard::inline v0::timeline
