// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/notifier.h"

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "base/format.h"
#include "base/futex.h"
#include "drivers/metal/error.h"
#include "drivers/metal/functions.h"
#include "halyard/base/clock.h"

namespace halyard::inline v0::metal {
namespace {

constexpr std::uint64_t kNothing = timeline::NotifyList::kNothing;

// How often, and after how many nanoseconds each time, a block polls for the status that follows
// its event. Together longer than the gap between the two, but short, because blocks of other lanes
// wait on the same thread.
constexpr int kLooks = 40;
constexpr Nanoseconds kRest = 25'000;

}  // namespace

void Watch::arm(std::uint64_t sequence, base::Notify& notify) noexcept {
  list_.arm(sequence, notify);
  const std::uint64_t least = list_.least();
  if (least != kNothing) watch(least);
}

void Watch::watch(std::uint64_t value) noexcept {
  std::uint64_t watched = watched_.load(std::memory_order_seq_cst);
  do {
    if (watched <= value) return;
  } while (!watched_.compare_exchange_weak(watched, value, std::memory_order_seq_cst));
  {
    base::LockGuard lock(mutex_);
    most_ = std::max(most_, value);
  }
  Ref<Watch> self(this);
  [event_.get() notifyListener:listener_
                       atValue:value
                         block:^(id<MTLSharedEvent>, std::uint64_t) {
                           const ScopedPool pool;
                           self->fired(value);
                         }];
}

void Watch::fired(std::uint64_t value) noexcept {
  Watched* lane;
  {
    base::LockGuard lock(mutex_);
    lane = lane_;
    if (lane == nullptr) return;
    users_.fetch_add(1, std::memory_order_relaxed);
  }
  base::Atomic<std::uint32_t> never{0};
  std::uint64_t reached = lane->look();
  for (int i = 0; reached < value && !lane->ended() && i < kLooks; ++i) {
    (void)base::futex_wait(never, 0, Clock::steady().now() + kRest);
    reached = lane->look();
  }
  // The thread that advanced `reached` may not have updated the list yet. Metal would then call at
  // once, again and again, for values still in the list.
  list_.advance(reached);
  std::uint64_t expected = value;
  (void)watched_.compare_exchange_strong(expected, kNothing, std::memory_order_seq_cst);
  if (const std::uint64_t least = list_.least(); least != kNothing && !lane->ended()) watch(least);
  base::LockGuard lock(mutex_);
  users_.fetch_sub(1, std::memory_order_relaxed);
  base::futex_wake(users_, INT_MAX);
}

void Watch::detach() noexcept {
  for (;;) {
    std::uint32_t users;
    {
      base::LockGuard lock(mutex_);
      lane_ = nullptr;
      users = users_.load(std::memory_order_relaxed);
    }
    if (users == 0) break;
    (void)base::futex_wait(users_, users, Deadline::kForeverTime);
  }
  if (most_ != 0) metal::raise(event_.get(), most_);
  event_.reset();
}

Watch::~Watch() {
  const ScopedPool pool;
  event_.reset();
}

Status Notifier::start() {
  listener_ = new_listener();
  return listener_ ? Status() : failed("MTLSharedEventListener", nil);
}

Result<Ref<Watch>> Notifier::add(Watched& lane, Retained<id<MTLSharedEvent>> event) {
  auto watch = Ref<Watch>::adopt(new (std::nothrow) Watch(lane, std::move(event), listener_.get()));
  base::LockGuard lock(mutex_);
  if (watch && watches_.push_back(watch)) return watch;
  return error(StatusCode::kResourceExhausted, "metal: no memory for a lane");
}

void Notifier::remove(const Watch& watch) noexcept {
  Ref<Watch> removed;  // the last reference is released outside the lock
  base::LockGuard lock(mutex_);
  Ref<Watch>* const found =
      std::ranges::find_if(watches_, [&](const Ref<Watch>& each) { return &*each == &watch; });
  if (found == watches_.end()) return;
  std::swap(removed, *found);
  std::swap(*found, watches_.back());
  watches_.shrink(watches_.size() - 1);
}

void Notifier::release_all() noexcept {
  base::LockGuard lock(mutex_);
  for (const Ref<Watch>& watch : watches_) watch->list().advance(kNothing - 1);
}

}  // namespace halyard::inline v0::metal
