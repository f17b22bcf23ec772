// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/tree_timeline.h"

namespace halyard::inline v0::async::detail {
namespace {

// Timelines with work in flight that acquire() skips before it returns null.
constexpr int kMaxTries = 8;

}  // namespace

Moment::Moment(Ref<TreeTimeline> timeline, std::uint64_t value) noexcept
    : timeline_(std::move(timeline)), value_(value) {}

const hal::Semaphore& Moment::semaphore() const noexcept { return timeline().semaphore(); }

Moment::State Moment::state() const {
  if (!timeline_) return State::kReached;
  const Result<std::uint64_t> value = semaphore().query();
  if (value.ok()) return *value >= value_ ? State::kReached : State::kPending;
  return semaphore().wait(value_, kNow).ok() ? State::kReached : State::kFailed;
}

Status Moment::wait(Deadline deadline) const {
  return timeline_ ? semaphore().wait(value_, deadline) : Status();
}

void Moment::give_up() const noexcept {
  // A failed moment has no waits.
  if (state() == State::kPending) semaphore().give_up(value_);
}

Ref<TreeTimeline> TreeTimelinePool::acquire() {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    Ref<TreeTimeline> timeline = pop();
    if (!timeline) break;
    const Result<std::uint64_t> value = timeline->semaphore().query();
    if (!value.ok()) continue;  // a failed timeline is not reused
    if (*value >= timeline->last()) return timeline;
    release(std::move(timeline));
  }
  return {};
}

void TreeTimelinePool::release(Ref<TreeTimeline> timeline) noexcept {
  base::LockGuard lock(mutex_);
  TreeTimeline* const last = std::exchange(last_, timeline.get());
  (first_ ? last->next_ : first_) = std::move(timeline);
}

Ref<TreeTimeline> TreeTimelinePool::pop() noexcept {
  base::LockGuard lock(mutex_);
  if (!first_) return {};
  Ref<TreeTimeline> timeline = std::move(first_);
  first_ = std::move(timeline->next_);
  return timeline;
}

void WaitList::add(const Moment& moment) {
  if (!moment) return;
  const hal::Point point = moment.point();
  // A replay uses many arrays that the previous one wrote; the last value of a timeline is enough.
  const std::span<hal::Point> others =
      all_.empty() ? std::span(inline_.data(), count_) : std::span(all_.data(), all_.size());
  for (hal::Point& other : others) {
    if (other.semaphore() != point.semaphore()) continue;
    if (other.value() < point.value()) other = point;
    return;
  }
  if (count_ < kInline) {
    inline_[count_++] = point;
  } else if (all_.make_room(all_.empty() ? kInline + 1 : 1)) {
    if (all_.empty()) {
      for (const hal::Point& first : inline_) (void)all_.push_back(first);
    }
    (void)all_.push_back(point);
  } else {
    set_incomplete();
  }
}

}  // namespace halyard::inline v0::async::detail
