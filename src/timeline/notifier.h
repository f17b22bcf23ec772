// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notifier: a thread of a device that wakes waiters. It sleeps in a call of the native library
// until one of the lanes that something is armed for has reached the least such sequence, or until
// it is called:
//
//     armer                                   thread
//     lane's list: sequence, notify           watched := least of the list, for each lane
//     watched > sequence? call() ──────────>  wait(any of: the calling point, lanes)
//                                             each lane: read its value, list.advance(value)
//
// Whichever of the two comes second sees the other: armers write the list and then read `watched`,
// the thread writes `watched` and then reads the list.
//
// The native library's part, constructed with the notifier's arguments:
//
//     class Waits {
//       using Point = ...;    // what has a value that grows: a timeline semaphore
//       using Result = ...;   // of a native call
//       static constexpr const char* kDriver;   // begins a message
//       static constexpr const char* kThread;   // names the thread
//
//       // The calling point, whose value is set by call(). open() once; close() also without it.
//       Status open();
//       void close() noexcept;
//       Point calling() const noexcept;
//       // Values grow, one caller at a time.
//       Result call(std::uint64_t value) noexcept;
//
//       Result read(Point point, std::uint64_t& value) noexcept;
//       // By the thread. Returns when one of `points` has its value, and at `timeout` nanoseconds
//       at
//       // the latest; perhaps before. The first point is calling().
//       Result wait(std::span<const Point> points, std::span<const std::uint64_t> values,
//                   std::uint64_t timeout) noexcept;
//
//       static WaitFailure failure(Result) noexcept;
//       // For an armer, which reports it. `what` is the call.
//       Status check(Result, WaitCall what) noexcept;
//       // The thread has found that the device is lost.
//       void lose(Result) noexcept;
//       bool lost() const noexcept;
//       Status loss() const;
//     };
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/array.h"
#include "base/atomic.h"
#include "base/error_name.h"
#include "base/format.h"
#include "base/futex.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "halyard/base/clock.h"
#include "halyard/base/status.h"
#include "timeline/notify_list.h"

namespace halyard::inline v0::timeline {

enum class WaitCall : std::uint8_t { kRead, kCall };
enum class WaitFailure : std::uint8_t {
  kNone,      // also of a wait that has timed out
  kNoMemory,  // it may succeed later
  kLoss,      // nothing says that waits will ever succeed
};

template <class Waits>
class Notifier {
 public:
  using Point = typename Waits::Point;

  // The state that a lane and the notifier share. Constant except for its atomics.
  class Lane {
   public:
    Point point{};
    NotifyList list;

   private:
    friend class Notifier;
    base::Atomic<std::uint64_t> watched{NotifyList::kNothing};
  };

  template <class... Arguments>
  explicit Notifier(Arguments&&... arguments) noexcept
      : waits_(std::forward<Arguments>(arguments)...) {}
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Opens Waits and starts the thread. Once. Returns kResourceExhausted, or what open() returns.
  Status start();
  // Ends the thread and waits for that. May be called again, and without start().
  void stop() noexcept;

  // Returns kResourceExhausted without memory.
  Status add(Lane& lane);
  // Returns when the thread does not use the lane any more. Does nothing for a lane that was not
  // added.
  void remove(Lane& lane) noexcept;

  // NativeQueue::arm of that lane, which was added.
  Status arm(Lane& lane, std::uint64_t sequence, base::Notify& notify) noexcept;

 private:
  static constexpr std::uint64_t kNothing = NotifyList::kNothing;
  // How long an armer polls a lane before it calls the thread to watch it: 3 us on lavapipe, about
  // the duration of that call.
  static constexpr int kPolls = 32;
  // In nanoseconds. A call that fails for want of memory is noticed after that.
  static constexpr std::uint64_t kLongestSleep = 250'000'000;
  static constexpr Nanoseconds kRest = 1'000'000;

  static void run(void* self) { static_cast<Notifier*>(self)->serve(); }
  void serve() noexcept;
  // Ends with the call of that number, or when a lane has reached an armed sequence. False: the
  // device is lost.
  bool wait_once(std::uint64_t next_call) noexcept;
  // The lanes of the round before are used no more.
  void begin_round() noexcept;
  void release_all() noexcept;
  // Has the thread begin anew.
  Status call() noexcept;

  Waits waits_;
  base::Thread thread_;

  base::Mutex call_mutex_;                // held in Waits::call: values grow
  base::Atomic<std::uint64_t> calls_{0};  // value of the calling point; written under call_mutex_

  base::Mutex mutex_;  // guards lanes_
  base::Array<Lane*> lanes_;
  base::Atomic<bool> stopping_{false};
  base::Atomic<std::uint32_t> rounds_{0};    // begun, under mutex_; for remove()
  base::Atomic<std::uint32_t> removing_{0};  // threads in remove()
  base::Atomic<bool> ended_{false};          // the thread waits no more

  // The thread's.
  base::Array<Lane*> watched_;
  base::Array<Point> points_;
  base::Array<std::uint64_t> values_;
};

template <class Waits>
Status Notifier<Waits>::start() {
  HALYARD_RETURN_IF_ERROR(waits_.open());
  if (const int code = thread_.start(Waits::kThread, run, this); code != 0) {
    return Status(
        StatusCode::kResourceExhausted,
        base::format("{}: the thread that wakes waiters could not be started", Waits::kDriver),
        base::error_name(code));
  }
  return {};
}

template <class Waits>
void Notifier<Waits>::stop() noexcept {
  if (thread_.started()) {
    stopping_.store(true, std::memory_order_seq_cst);
    (void)call();
    thread_.join();
  }
  waits_.close();
}

template <class Waits>
Status Notifier<Waits>::add(Lane& lane) {
  base::LockGuard lock(mutex_);
  if (lanes_.push_back(&lane)) return {};
  return error(StatusCode::kResourceExhausted, "{}: no memory for a lane", Waits::kDriver);
}

template <class Waits>
void Notifier<Waits>::remove(Lane& lane) noexcept {
  std::uint32_t round;
  {
    base::LockGuard lock(mutex_);
    Lane** const found = std::ranges::find(lanes_, &lane);
    if (found == lanes_.end()) return;
    *found = lanes_.back();
    lanes_.shrink(lanes_.size() - 1);
    round = rounds_.load(std::memory_order_seq_cst);
  }
  removing_.fetch_add(1, std::memory_order_seq_cst);
  (void)call();
  while (!ended_.load(std::memory_order_seq_cst) &&
         rounds_.load(std::memory_order_seq_cst) == round) {
    base::futex_wait(rounds_, round, Deadline::kForeverTime);
  }
  removing_.fetch_sub(1, std::memory_order_relaxed);
}

template <class Waits>
Status Notifier<Waits>::arm(Lane& lane, std::uint64_t sequence, base::Notify& notify) noexcept {
  lane.list.arm(sequence, notify);
  HALYARD_RETURN_IF_ERROR(waits_.loss());
  const std::uint64_t least = lane.list.least();
  if (least == kNothing || lane.watched.load(std::memory_order_seq_cst) <= least) return {};
  for (int i = 0; i < kPolls; ++i) {
    std::uint64_t value = 0;
    Status status = waits_.check(waits_.read(lane.point, value), WaitCall::kRead);
    if (status.code() == StatusCode::kDeviceLost) return status;
    if (!status.ok()) break;  // no memory to read it: the thread tries again
    lane.list.advance(value);
    if (value >= sequence) return {};
    base::spin_pause();
  }
  Status status = call();
  if (status.code() != StatusCode::kResourceExhausted) return status;
  notify.notify();  // early: the waiter checks again
  return {};
}

template <class Waits>
Status Notifier<Waits>::call() noexcept {
  base::LockGuard lock(call_mutex_);
  const std::uint64_t value = calls_.load(std::memory_order_relaxed) + 1;
  Status status = waits_.check(waits_.call(value), WaitCall::kCall);
  if (status.ok()) calls_.store(value, std::memory_order_seq_cst);
  return status;
}

template <class Waits>
void Notifier<Waits>::serve() noexcept {
  for (;;) {
    // Read before everything that a call() may be about: a later call ends the wait.
    const std::uint64_t next_call = calls_.load(std::memory_order_seq_cst) + 1;
    if (stopping_.load(std::memory_order_seq_cst) || !wait_once(next_call)) break;
  }
  release_all();
  ended_.store(true, std::memory_order_seq_cst);
  begin_round();
}

template <class Waits>
void Notifier<Waits>::begin_round() noexcept {
  rounds_.fetch_add(1, std::memory_order_seq_cst);
  if (removing_.load(std::memory_order_seq_cst) != 0) base::futex_wake(rounds_, INT_MAX);
}

template <class Waits>
bool Notifier<Waits>::wait_once(std::uint64_t next_call) noexcept {
  watched_.shrink(0);
  points_.shrink(0);
  values_.shrink(0);
  {
    base::LockGuard lock(mutex_);
    begin_round();
    // Without memory for all lanes a waiter checks again by itself after 10 ms (rule 23).
    bool enough = points_.push_back(waits_.calling()) && values_.push_back(next_call) &&
                  watched_.push_back(nullptr);
    for (Lane* const lane : lanes_) {
      std::uint64_t least;
      do {
        least = lane->list.least();
        lane->watched.store(least, std::memory_order_seq_cst);
      } while (lane->list.least() < least);
      if (least == kNothing) continue;
      enough = enough && watched_.push_back(lane) && points_.push_back(lane->point) &&
               values_.push_back(least);
    }
  }
  const std::size_t count = std::min({watched_.size(), points_.size(), values_.size()});
  WaitFailure failure = WaitFailure::kNone;
  const auto note = [&](typename Waits::Result result) {
    const WaitFailure now = Waits::failure(result);
    failure = std::max(failure, now);
    if (now == WaitFailure::kLoss) waits_.lose(result);
    return now == WaitFailure::kNone;
  };
  if (count != 0) {
    (void)note(waits_.wait({points_.data(), count}, {values_.data(), count}, kLongestSleep));
  } else {
    failure = WaitFailure::kNoMemory;  // not even for the calling point
  }
  // Also after a wait that failed: then this is a poll.
  for (std::size_t i = 1; i < count; ++i) {
    std::uint64_t value = 0;
    // A lane that remove() waits for is still there.
    if (note(waits_.read(points_[i], value))) watched_[i]->list.advance(value);
  }
  if (failure == WaitFailure::kNoMemory) {
    // Memory may come back: the thread rests before it tries again.
    const std::uint32_t round = rounds_.load(std::memory_order_relaxed);  // this thread's alone
    base::futex_wait(rounds_, round, Clock::steady().now() + kRest);
  }
  return !waits_.lost();
}

// Early, which is allowed: a woken waiter polls and sees the loss.
template <class Waits>
void Notifier<Waits>::release_all() noexcept {
  base::LockGuard lock(mutex_);
  for (Lane* const lane : lanes_) lane->list.advance(kNothing - 1);
}

}  // namespace halyard::inline v0::timeline
