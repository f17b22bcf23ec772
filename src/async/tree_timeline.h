// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TreeTimeline: the timeline semaphore of a tree of operations. Trees use it one after another.
//
// Each submission of the tree signals the next value, all from one queue except for barriers
// (Context::submit_after). So a failure affects the rest of its tree and waits for its values, but
// no other tree. A later tree reuses the timeline if it has not failed: its earlier values stay
// reached.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "async/launch_cache.h"
#include "base/array.h"
#include "base/mutex.h"
#include "halyard/async/context.h"
#include "halyard/async/detail/moment.h"
#include "halyard/hal/queue.h"
#include "halyard/hal/semaphore.h"

namespace halyard::inline v0::async::detail {

inline Status no_memory() {
  return Status(StatusCode::kResourceExhausted, "no memory for an operation");
}

class TreeTimeline final : public RefCounted {
 public:
  TreeTimeline(hal::Semaphore semaphore, hal::Queue queue) noexcept
      : semaphore_(std::move(semaphore)), queue_(std::move(queue)) {}

  const hal::Semaphore& semaphore() const noexcept { return semaphore_; }
  const hal::Queue& queue() const noexcept { return queue_; }

  // Used by the tree that owns it, which takes a value after the submission that signals it was
  // accepted.
  std::uint64_t last() const noexcept { return last_; }
  hal::Point next() const noexcept { return {semaphore_, last_ + 1}; }
  std::uint64_t take_value() noexcept { return ++last_; }
  LaunchCache& launches() noexcept { return launches_; }

 private:
  friend class TreeTimelinePool;
  const hal::Semaphore semaphore_;
  const hal::Queue queue_;
  std::uint64_t last_ = 0;
  LaunchCache launches_;
  Ref<TreeTimeline> next_;  // in the pool's list
};

inline bool Moment::is_on(const TreeTimeline& timeline) const noexcept {
  return timeline_.get() == &timeline;
}
inline TreeTimeline& Moment::timeline() const noexcept {
  return static_cast<TreeTimeline&>(*timeline_);
}
inline hal::Point Moment::point() const noexcept { return {timeline().semaphore(), value_}; }
inline void Moment::advance() noexcept { value_ = timeline().take_value(); }

// The timelines of one queue that no tree owns. Their last submissions may still be in flight. Safe
// from any thread.
class TreeTimelinePool {
 public:
  ~TreeTimelinePool() {
    while (first_) first_ = std::move(first_->next_);  // without recursion
  }
  // Returns a timeline whose values are all reached, or null.
  Ref<TreeTimeline> acquire();
  void release(Ref<TreeTimeline> timeline) noexcept;

 private:
  Ref<TreeTimeline> pop() noexcept;

  base::Mutex mutex_;
  Ref<TreeTimeline> first_;
  TreeTimeline* last_ = nullptr;
};

// The points that a submission waits for. Allocates beyond kInline timelines. Without memory the
// list is incomplete and must not be used for a submission.
class WaitList {
 public:
  static constexpr std::size_t kInline = 8;

  WaitList() noexcept {}

  void add(const Moment& moment);
  // Whether the list has `moment` or a later one of its timeline.
  bool includes(const Moment& moment) const {
    const timeline::Semaphore* const semaphore = moment.semaphore().object();
    return std::ranges::any_of(points(), [&](const hal::Point& point) {
      return point.semaphore() == semaphore && point.value() >= moment.value();
    });
  }
  // Adds all submissions issued to `queue` so far. The queue outlives this list.
  void add_issued(const hal::Queue& queue) { is_complete_ &= queues_.push_back(&queue); }
  // Declares that a wait is missing because memory was exhausted.
  void set_incomplete() noexcept { is_complete_ = false; }

  bool is_complete() const noexcept { return is_complete_; }
  std::span<const hal::Queue* const> queues() const noexcept {
    return {queues_.data(), queues_.size()};
  }
  hal::Points points() const noexcept {
    return all_.empty() ? hal::Points(inline_.data(), count_)
                        : hal::Points(all_.data(), all_.size());
  }

 private:
  union {
    std::array<hal::Point, kInline> inline_;  // count_ points, unless all_ has them
  };
  std::size_t count_ = 0;
  bool is_complete_ = true;
  base::Array<hal::Point> all_;  // all points, if they are more than kInline
  base::Array<const hal::Queue*> queues_;
};

}  // namespace halyard::inline v0::async::detail
