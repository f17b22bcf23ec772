// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "async/timeline.h"

namespace halyard::inline v0::async::detail {
namespace {

// How many timelines in use take() passes by before it says that there is none.
constexpr int kLooks = 8;

}  // namespace

Progress progress_of(const Moment& moment) {
  if (!moment.timeline) return Progress::kReached;
  const hal::Semaphore& semaphore = timeline_of(moment).semaphore();
  const Result<std::uint64_t> value = semaphore.query();
  if (value.ok()) return *value >= moment.value ? Progress::kReached : Progress::kPending;
  return semaphore.wait(moment.value, kNow).ok() ? Progress::kReached : Progress::kFailed;
}

Ref<Timeline> TimelinePool::take() {
  for (int look = 0; look < kLooks; ++look) {
    Ref<Timeline> timeline = pop();
    if (!timeline) break;
    const Result<std::uint64_t> value = timeline->semaphore().query();
    if (!value.ok()) continue;  // what failed is not used again
    if (*value >= timeline->last()) return timeline;
    give(std::move(timeline));
  }
  return {};
}

void TimelinePool::give(Ref<Timeline> timeline) noexcept {
  base::LockGuard lock(mutex_);
  Timeline* const last = std::exchange(last_, timeline.get());
  (first_ ? last->next_ : first_) = std::move(timeline);
}

Ref<Timeline> TimelinePool::pop() noexcept {
  base::LockGuard lock(mutex_);
  if (!first_) return {};
  Ref<Timeline> timeline = std::move(first_);
  first_ = std::move(timeline->next_);
  return timeline;
}

void Waits::add(const Timeline& timeline, std::uint64_t value) {
  const hal::Point point(timeline.semaphore(), value);
  // A replay uses many arrays that the one before wrote: of a timeline the last value is enough.
  const std::span<hal::Point> others =
      all_.empty() ? std::span(inline_.data(), count_) : std::span(all_.data(), all_.size());
  for (hal::Point& other : others) {
    if (other.semaphore() != point.semaphore()) continue;
    if (other.value() < value) other = point;
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
