// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timeline: a semaphore, of which one tree of operations at a time signals the next values, from
// one queue but for barriers (Context::submit). So a failure reaches the rest of its tree and
// whoever waits for a value of it, and nobody else. A timeline on which nothing has failed is used
// again by a later tree: the values of an earlier one stay reached.
//
// Moment (context.h): a timeline and a value of it, when something is done.
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
#include "halyard/hal/queue.h"
#include "halyard/hal/semaphore.h"

namespace halyard::inline v0::async::detail {

inline Status no_memory() {
  return Status(StatusCode::kResourceExhausted, "no memory for an operation");
}

class Timeline final : public RefCounted {
 public:
  Timeline(hal::Semaphore semaphore, hal::Queue queue) noexcept
      : semaphore_(std::move(semaphore)), queue_(std::move(queue)) {}

  const hal::Semaphore& semaphore() const noexcept { return semaphore_; }
  const hal::Queue& queue() const noexcept { return queue_; }

  // By the tree that has it. A value is taken once the submission that signals it was accepted.
  std::uint64_t last() const noexcept { return last_; }
  std::uint64_t take_value() noexcept { return ++last_; }
  LaunchCache& launches() noexcept { return launches_; }

 private:
  friend class TimelinePool;
  const hal::Semaphore semaphore_;
  const hal::Queue queue_;
  std::uint64_t last_ = 0;
  LaunchCache launches_;
  Ref<Timeline> next_;  // in the pool
};

inline Timeline& timeline_of(const Moment& moment) noexcept {
  return static_cast<Timeline&>(*moment.timeline);
}

enum class Progress : std::uint8_t { kPending, kReached, kFailed };
Progress progress_of(const Moment& moment);

// Timelines of one queue between two trees. The tree before may still be under way: nobody had to
// wait for it.
class TimelinePool {
 public:
  ~TimelinePool() {
    while (first_) first_ = std::move(first_->next_);  // not one destructor inside the other
  }
  // One whose values are all reached, or null.
  Ref<Timeline> take();
  void give(Ref<Timeline> timeline) noexcept;

 private:
  Ref<Timeline> pop() noexcept;

  base::Mutex mutex_;
  Ref<Timeline> first_;
  Timeline* last_ = nullptr;
};

// What a submission waits for. Allocates beyond kInline timelines; without memory it is incomplete,
// and nothing may be submitted behind it.
class Waits {
 public:
  static constexpr std::size_t kInline = 8;

  Waits() noexcept {}

  void add(const Timeline& timeline, std::uint64_t value);
  void add(const Moment& moment) {
    if (moment.timeline) add(timeline_of(moment), moment.value);
  }
  // Whether `moment` is among them, or a later one of its timeline.
  bool include(const Moment& moment) const {
    const timeline::Semaphore* const semaphore = timeline_of(moment).semaphore().object();
    return std::ranges::any_of(points(), [&](const hal::Point& point) {
      return point.semaphore() == semaphore && point.value() >= moment.value;
    });
  }
  // All that has been issued to `queue`, which outlives this.
  void add_issued(const hal::Queue& queue) { is_complete_ &= queues_.push_back(&queue); }
  // Something is missing, which there was no memory to note.
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
    std::array<hal::Point, kInline> inline_;  // the first count_
  };
  std::size_t count_ = 0;
  bool is_complete_ = true;
  base::Array<hal::Point> all_;
  base::Array<const hal::Queue*> queues_;
};

}  // namespace halyard::inline v0::async::detail
