// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moment: a point of a timeline that submitted work reaches.
#pragma once

#include <cstdint>

#include "halyard/base/clock.h"
#include "halyard/base/export.h"
#include "halyard/base/ref.h"
#include "halyard/base/status.h"
#include "halyard/hal/semaphore.h"

namespace halyard::inline v0::async::detail {

class TreeTimeline;

// Holds a reference to the timeline. A default Moment has none and is in the past; timeline(),
// semaphore(), point() and advance() are not called on it.
class HALYARD_EXPORT Moment {
 public:
  enum class State : std::uint8_t { kPending, kReached, kFailed };

  Moment() noexcept = default;
  Moment(Ref<TreeTimeline> timeline, std::uint64_t value) noexcept;
  Moment(const Moment&) noexcept = default;
  Moment(Moment&&) noexcept = default;
  Moment& operator=(Moment&&) noexcept = default;
  // Does not touch the reference count if the timeline is the same, as in repeated uses.
  Moment& operator=(const Moment& other) noexcept {
    if (!is_on_timeline_of(other)) timeline_ = other.timeline_;
    value_ = other.value_;
    return *this;
  }

  explicit operator bool() const noexcept { return static_cast<bool>(timeline_); }
  bool is_on(const TreeTimeline& timeline) const noexcept;
  bool is_on_timeline_of(const Moment& other) const noexcept {
    return timeline_ == other.timeline_;
  }
  TreeTimeline& timeline() const noexcept;
  const hal::Semaphore& semaphore() const noexcept;
  std::uint64_t value() const noexcept { return value_; }
  // Moves on to the next value of the timeline, for the tree that owns it.
  void advance() noexcept;
  hal::Point point() const noexcept;

  State state() const;
  // Blocks until the moment is reached. Returns the failure of its timeline.
  Status wait(Deadline deadline = kForever) const;
  // Semaphore::give_up(), unless the moment is reached or has failed.
  void give_up() const noexcept;

 private:
  Ref<RefCounted> timeline_;
  std::uint64_t value_ = 0;
};

}  // namespace halyard::inline v0::async::detail
